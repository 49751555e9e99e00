// Lets a Job ask for time for its pods: annotations of the Job that controls a pod count as if the pod had them, where the pod has none of its own.
import { ANNOTATIONS } from '#api/names.ts'
import { defined } from '#lib/defined.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { outcomeOf } from '#kube/outcome.ts'
import type { Pod } from './objects.ts'

const jobType = coreKind('Job')

/** Jobs that are read in one pass. The pods of the others are left for the next, so that none is evicted unread. */
const MOST_JOBS = 16
/** No pod may ask for it, so it counts as the longest that the policy allows. */
const NOT_READ = 'not read'

type Wish = Readonly<Record<string, string>>

/** Reads nothing where no policy lets pods ask for time. */
export async function withJobWishes(
  client: KubeClient,
  pods: readonly Pod[],
  isAsked: boolean,
  signal?: AbortSignal,
): Promise<readonly Pod[]> {
  const owned = isAsked ? Map.groupBy(pods, jobOf) : new Map<string | undefined, Pod[]>()
  owned.delete(undefined)
  if (owned.size === 0) return pods
  const wishes = new Map<string, Wish>()
  let read = 0
  for (const [job, [first]] of owned) {
    if (job === undefined || first === undefined) continue
    wishes.set(job, read++ < MOST_JOBS ? await wishOf(client, first, signal) : UNKNOWN)
  }
  return pods.map((pod) => {
    const wish = wishes.get(jobOf(pod) ?? '')
    return wish === undefined ? pod : wishing(pod, wish)
  })
}

const UNKNOWN: Wish = { [ANNOTATIONS.drainWait]: NOT_READ }

const controllerOf = ({ metadata }: Pod) =>
  metadata.ownerReferences?.find((o) => o.controller === true && o.kind === 'Job' && o.apiVersion.startsWith('batch/'))

const jobOf = (pod: Pod): string | undefined => controllerOf(pod)?.uid

/** A Job that cannot be read may ask for anything: its pods wait, but never longer than the policy allows. */
async function wishOf(client: KubeClient, pod: Pod, signal: AbortSignal | undefined): Promise<Wish> {
  const { name = '', uid } = controllerOf(pod) ?? {}
  const { namespace = 'default' } = pod.metadata
  const read = await outcomeOf(() => client.get(jobType, { name, namespace }, defined({ signal })))
  if (read.kind !== 'Applied') return UNKNOWN
  const { metadata } = read.object ?? {}
  if (metadata?.uid !== uid) return {}
  const { drainWait, checkpointedAt } = ANNOTATIONS
  return defined({
    [drainWait]: metadata?.annotations?.[drainWait],
    [checkpointedAt]: metadata?.annotations?.[checkpointedAt],
  }) as Wish
}

/** What the pod says of itself counts; of two checkpoints, the newer one. */
function wishing(pod: Pod, wish: Wish): Pod {
  const { annotations: own = {} } = pod.metadata
  const { checkpointedAt } = ANNOTATIONS
  const saved = [own[checkpointedAt], wish[checkpointedAt]].filter((at) => !Number.isNaN(Date.parse(at ?? '')))
  const newest = saved.toSorted((a, b) => Date.parse(b ?? '') - Date.parse(a ?? ''))[0]
  const annotations = { ...wish, ...own, ...(newest !== undefined && { [checkpointedAt]: newest }) }
  return { ...pod, metadata: { ...pod.metadata, annotations } }
}
