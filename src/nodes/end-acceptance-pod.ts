// Deletes a pod that accepted a node. No permit is needed: such a pod serves no requests. Pods of other namespaces are out of reach.
import { ACCEPTANCE_NAMESPACE } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import { type WriteOutcome, outcomeOf } from '#kube/outcome.ts'
import { podType } from './objects.ts'

export const endAcceptancePod = (
  client: KubeClient,
  { name, uid }: { readonly name: string; readonly uid: string },
  signal: AbortSignal,
): Promise<WriteOutcome<unknown>> =>
  outcomeOf(() => client.delete(podType, { namespace: ACCEPTANCE_NAMESPACE, name }, { preconditions: { uid }, signal }))
