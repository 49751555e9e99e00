// Whether a Node of a machine's name belongs to an earlier Machine: an agent whose Machine was deleted may have made it, and keeps its key for days. Pure.
import { ANNOTATIONS } from '#api/names.ts'
import type { Pod } from '#nodes/objects.ts'
import { type Seen, hadJoined, isDeleting, isProvided, uidOf } from './seen.ts'

/** The uid of the earlier Machine; undefined when there is nothing to ask. A Node that was ours once stays ours, and a kept host's says nothing anyway. */
export function earlierMachineOf(
  seen: Pick<Seen, 'machine' | 'node' | 'agentBeat' | 'isHostKept'>,
): string | undefined {
  const { machine, node, agentBeat, isHostKept } = seen
  const uid = node?.metadata.annotations?.[ANNOTATIONS.machineUid] ?? ''
  if (uid === '' || uid === uidOf(machine)) return undefined
  const mayBeOurs = isHostKept || agentBeat.kind !== 'None' || hadJoined(seen)
  return mayBeOurs || isDeleting(machine) || !isProvided(machine) ? undefined : uid
}

export interface NodeEvidence {
  readonly earlier: string
  /** The uids for which the provider has a host; undefined when the provider cannot be asked. */
  readonly hostsFor: ReadonlySet<string> | undefined
  readonly pods: readonly Pod[]
}

/** No host is behind it. What an agent may write proves nothing: only the provider knows about hosts, and only a kubelet can report that a pod runs. */
export const isAbandoned = ({ earlier, hostsFor, pods }: NodeEvidence): boolean =>
  hostsFor !== undefined && !hostsFor.has(earlier) && !pods.some(({ status }) => status?.phase === 'Running')
