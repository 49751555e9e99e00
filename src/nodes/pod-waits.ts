// Decides how long a drain leaves pods that name how long they want: until they have finished or saved a checkpoint, and never longer than the policy
// allows. Pods of one gang are waited for together, since one that goes ends the work of all. Pure.
import { ANNOTATIONS } from '#api/names.ts'
import { counted } from '#lib/counted.ts'
import { formatDuration, parseDuration } from '#lib/duration.ts'
import type { Pod } from './objects.ts'

export interface PodWaits {
  /** When the drain began. */
  readonly since: number
  readonly now: number
  /** The longest wait, whatever a pod asks for. */
  readonly mostMs: number
  /** The last checkpoints of gangs that also have pods on other nodes. */
  readonly checkpoints?: ReadonlyMap<string, number>
}

/** Pods that the drain leaves for now. */
export interface PodWait {
  readonly gang: Gang
  readonly pods: readonly Pod[]
  readonly leftMs: number
}

interface Gang {
  readonly key: string
  readonly name: string
  readonly namespace: string
  /** Finds the pods of the gang on all nodes. Undefined: the pod is alone. */
  readonly label: { readonly name: string; readonly value: string } | undefined
}

/** The first one that a pod has names its gang: ours, then schedulers and controllers of gangs, then its Job. */
const GANG_LABELS = [
  'kubenode.io/gang',
  'scheduling.x-k8s.io/pod-group',
  'leaderworkerset.sigs.k8s.io/group-key',
  'jobset.sigs.k8s.io/jobset-name',
  'training.kubeflow.org/job-name',
  'batch.kubernetes.io/job-name',
] as const

function gangOf({ metadata: { namespace = 'default', name = '', labels = {} } }: Pod): Gang {
  const label = GANG_LABELS.find((l) => labels[l] !== undefined && labels[l] !== '')
  const value = label === undefined ? name : (labels[label] ?? '')
  return {
    key: `${namespace}\n${label ?? ''}\n${value}`,
    name: `${namespace}/${value}`,
    namespace,
    label: label === undefined ? undefined : { name: label, value },
  }
}

/** Undefined: it names none. A value that cannot be read counts as the longest. */
function wantedMs({ metadata: { annotations = {} } }: Pod): number | undefined {
  const text = annotations[ANNOTATIONS.drainWait]
  if (text === undefined) return undefined
  try {
    return parseDuration(text)
  } catch {
    return Infinity
  }
}

/** When the pod, or what runs in it, last saved its work. */
export function checkpointAt({ metadata: { annotations = {} } }: Pod): number | undefined {
  const at = Date.parse(annotations[ANNOTATIONS.checkpointedAt] ?? '')
  return Number.isNaN(at) ? undefined : at
}

/** Pods may still ask for time. */
export const mayWait = (waits: PodWaits | undefined): boolean =>
  waits !== undefined && waits.now - waits.since < waits.mostMs

/** Of the pods that a drain would evict. */
export function podWaits(pods: readonly Pod[], waits: PodWaits | undefined): readonly PodWait[] {
  if (waits === undefined || waits.mostMs <= 0) return []
  const { since, now, mostMs, checkpoints } = waits
  const gangs = Map.groupBy(pods, (pod) => gangOf(pod).key)
  return [...gangs.values()].flatMap((members): readonly PodWait[] => {
    const [first] = members
    const wanted = members.flatMap((pod) => wantedMs(pod) ?? [])
    if (first === undefined || wanted.length === 0) return []
    const gang = gangOf(first)
    const saved = [...members.flatMap((pod) => checkpointAt(pod) ?? []), checkpoints?.get(gang.key) ?? -Infinity]
    const leftMs = since + Math.min(mostMs, Math.max(...wanted)) - now
    return saved.some((at) => at >= since) || leftMs <= 0 ? [] : [{ gang, pods: members, leftMs }]
  })
}

export const podWaitText = ({ gang, pods, leftMs }: PodWait): string =>
  `waiting for the next checkpoint of ${gang.name} (${counted(pods.length, 'pod')} here), at most ${formatDuration(leftMs)} more`
