// Decides whether a Node with a machine's name belongs to an earlier Machine. The agent of a deleted Machine may have created it, and keeps its key
// for days. Pure.
import { ANNOTATIONS } from '#api/names.ts'
import { isBeingDeleted, uidOf } from '#api/schema/object-meta.ts'
import type { Node, Pod } from '#nodes/objects.ts'
import { type Seen, hadJoined, isProvided } from '../seen.ts'

/**
 * The uid of the earlier Machine. Undefined if there is nothing to check. A Node that was ours once stays ours, and a kept host's Node proves
 * nothing.
 */
export function earlierMachineOf(
  seen: Pick<Seen, 'machine' | 'node' | 'agentHeartbeat' | 'isHostKept'>,
): string | undefined {
  const { machine, node, agentHeartbeat, isHostKept } = seen
  const uid = node?.metadata.annotations?.[ANNOTATIONS.machineUid] ?? ''
  if (uid === '' || uid === uidOf(machine)) return undefined
  const mayBeOurs = isHostKept || agentHeartbeat.kind !== 'None' || hadJoined(seen)
  return mayBeOurs || isBeingDeleted(machine) || !isProvided(machine) ? undefined : uid
}

export interface NodeEvidence {
  /** The provider could be asked. */
  readonly isListed: boolean
  /** The host of the earlier Machine. */
  readonly host: string | undefined
  readonly pods: readonly Pod[]
}

const runsPods = (pods: readonly Pod[]): boolean => pods.some(({ status }) => status?.phase === 'Running')

/**
 * No host is behind it. Anything an agent may write proves nothing: only the provider knows about hosts, and only a kubelet can report that a pod
 * runs.
 */
export const isAbandoned = ({ isListed, host, pods }: NodeEvidence): boolean =>
  isListed && host === undefined && !runsPods(pods)

/** A second list follows soon. What people or a provider must end is checked less often, since each check lists all hosts. */
const SOON_MS = 5_000
const LATER_MS = 30_000

/** Why it is neither deleted nor taken over. A Node that serves for another host must not count as this machine. */
export function whyLeft(node: Node, { isListed, host, pods }: NodeEvidence): NonNullable<Seen['earlierNode']> {
  const name = node.metadata.name ?? ''
  const which = `node ${name} is of an earlier machine of this name`
  if (!isListed)
    return {
      seen: `${which}, and the provider does not say whether its host is there`,
      unblock: 'the provider lists its hosts',
      requeueMs: LATER_MS,
    }
  if (host !== undefined)
    return {
      seen: `${which}, whose host ${host} is there`,
      unblock: 'a person deletes that host: kubenode provider orphans',
      requeueMs: LATER_MS,
    }
  if (runsPods(pods))
    return {
      seen: `${which}; it has no host, and pods count as running on it`,
      unblock: `a person deletes the Node, if that host was deleted: kubectl delete node ${name}`,
      requeueMs: LATER_MS,
    }
  return {
    seen: `${which}, whose host is gone by one list`,
    unblock: 'a second list lacks it too',
    requeueMs: SOON_MS,
  }
}
