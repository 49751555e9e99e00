// Reads the pod of a machine's acceptance, and its template while one is about to be created. Machines without such an acceptance cost no request.
import { currentAcceptance } from '#api/protocol/acceptance.ts'
import { uidOf } from '#api/schema/object-meta.ts'
import type { KubeClient } from '#kube/client.ts'
import { type AcceptancePodSeen, podKey, podTemplateType, templateKey } from '#nodes/acceptance-pod.ts'
import { podType } from '#nodes/objects.ts'
import { type Seen, isClosed } from '../seen.ts'

export async function observeAcceptancePod(
  client: KubeClient,
  about: Pick<Seen, 'machine' | 'node'>,
  signal: AbortSignal,
): Promise<AcceptancePodSeen | undefined> {
  const { machine, node } = about
  const record = machine.status?.acceptance
  const wanted = machine.spec.acceptance?.pod
  const current = currentAcceptance(machine, node && uidOf(node))
  // Its pod may be there without being recorded yet.
  const isStarting = wanted !== undefined && current?.phase === 'Running' && current.pod === undefined
  const mayHavePod = isStarting || (record?.pod !== undefined && (isClosed(about) || record.phase === 'Running'))
  const pod = mayHavePod ? await client.get(podType, podKey(record?.run ?? ''), { signal }) : undefined
  const needsTemplate =
    wanted !== undefined && isClosed(about) && current?.phase !== 'Passed' && current?.phase !== 'Failed'
  const mayRetry = current?.phase === 'Failed' && current.attempt <= (machine.spec.acceptance?.retries ?? 0)
  const template =
    wanted !== undefined && (needsTemplate || mayRetry) && (current?.phase !== 'Running' || isStarting)
      ? await client.get(podTemplateType, templateKey(wanted.template), { signal })
      : undefined
  return mayHavePod || needsTemplate || mayRetry ? { pod, template } : undefined
}
