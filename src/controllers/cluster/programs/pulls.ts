// Reads why the pods of one program in a cluster cannot pull their image: the kubelet's answer, and the Secrets for pulling that its administrator has not created.
import type { KubeObject } from '#api/schema/object.ts'
import { unpulledIn } from '#delivery/unpulled.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { fieldAt, fieldsOf, objectsIn, textOf } from '#lib/fields.ts'
import { printableLine } from '#lib/printable.ts'
import { SECRET } from '../control-planes/kubeconfig.ts'
import type { PullTrouble } from '../seen.ts'

const POD = coreKind('Pod')
/** One pod with the trouble is enough, and old ones may be listed first. */
const MOST_PODS = 20
/** The hub names a few; an administrator of the cluster may have written more. */
const MOST_SECRETS = 8

/** Undefined while no pod is known to wait for its image. */
export async function pullTrouble(
  client: KubeClient,
  deployment: KubeObject,
  signal: AbortSignal,
): Promise<PullTrouble | undefined> {
  const { namespace = '' } = deployment.metadata
  const labels = Object.entries(fieldsOf(fieldAt(deployment, 'spec', 'selector', 'matchLabels')))
  const labelSelector = labels.map(([key, value]) => `${key}=${String(value)}`).join(',')
  const { items } = await client.list<KubeObject>(POD, { namespace, labelSelector, limit: MOST_PODS, signal })
  const unpulled = items.map(unpulledIn).find((found) => found !== undefined)
  if (unpulled === undefined) return undefined
  const named = objectsIn(fieldAt(deployment, 'spec', 'template', 'spec', 'imagePullSecrets'))
  const missingSecrets: string[] = []
  for (const name of named.slice(0, MOST_SECRETS).map((s) => textOf(s['name'])))
    if ((await client.get(SECRET, { namespace, name }, { signal })) === undefined) missingSecrets.push(name)
  const without = missingSecrets.length === 0 ? '' : `; there is no Secret ${missingSecrets.join(', ')} in ${namespace}`
  return { why: printableLine(`image ${unpulled.image} cannot be pulled: ${unpulled.why}${without}`), missingSecrets }
}
