// Plans changes to a machine's Node: cordons, drains, the ownership mark, and the fields declared in Machine.spec. Pure.
import { ANNOTATIONS } from '#api/names.ts'
import { isAccepted } from '#api/protocol/acceptance.ts'
import { nameOf, uidOf } from '#api/schema/object-meta.ts'
import { cordonOwners, isCordonedBy } from '#nodes/cordon.ts'
import { drainPlan } from '#nodes/drain.ts'
import { isNodeReady } from '#nodes/objects.ts'
import type { PodWaits } from '#nodes/pod-waits.ts'
import { DELETE_OWNER, SWITCH_OWNER, type MachineAction } from '../actions.ts'
import { isBeating } from '../heartbeats/heartbeats.ts'
import { defined } from '#lib/defined.ts'
import { syncedNode } from './sync.ts'
import type { Orders } from '../components/orders.ts'
import {
  type Seen,
  hadJoined,
  hasJoined,
  isClosed,
  isFirstInstall,
  missingComponents,
  stoppedComponents,
} from '../seen.ts'

/** Cordon owners are added before a drain and removed once their switch is over. */
export function cordonActions(
  { machine, node, agentHeartbeat }: Seen,
  components: Orders['components'],
  { draining, given }: Orders,
): MachineAction[] {
  if (node === undefined) return []
  const read = cordonOwners(node)
  const owners = read.kind === 'Owners' ? Object.keys(read.owners) : []
  const needed = new Map(
    [...draining, ...given].filter((o) => o.needsDrain).map((o) => [SWITCH_OWNER + o.order.name, o.permit]),
  )
  const isBusy = (name: string) => {
    const report = machine.status?.components?.find((c) => c.name === name)
    const order = components.find((c) => c.name === name)
    // Without an order the agent removes it, until it no longer reports it.
    if (order === undefined) return report !== undefined
    return order.switch !== undefined || BUSY.has(report?.state ?? '')
  }
  // After a restart nothing is drained until the agent is heard. A node that was emptied must not fill up meanwhile.
  const isUnsure = agentHeartbeat.kind === 'Unsure' && isBeating(agentHeartbeat) === undefined
  const add = [...needed]
    .filter(([owner]) => !isCordonedBy(node, owner))
    .map(([owner, permit]): MachineAction => ({
      kind: 'Cordon',
      owner,
      claim: { reason: `machine ${nameOf(machine)} switches ${owner.slice(SWITCH_OWNER.length)}` },
      by: { permit },
      reason: 'the switch needs a drain',
    }))
  const drop = owners
    .filter(
      (o) =>
        o === DELETE_OWNER ||
        (o.startsWith(SWITCH_OWNER) && !isUnsure && !needed.has(o) && !isBusy(o.slice(SWITCH_OWNER.length))),
    )
    .map((owner): MachineAction => ({
      kind: 'Uncordon',
      owner,
      reason: 'the operation that cordoned the node has finished',
    }))
  return [...add, ...drop]
}

/** From order to end, no pod may return to the node. And a node with a failed component should not get pods. */
const BUSY: ReadonlySet<string> = new Set(['Switching', 'Probing', 'Failed'])

export function drainActions({ node, pods }: Seen, { draining }: Orders, waits: PodWaits | undefined): MachineAction[] {
  const [move] = draining
  if (move === undefined || node === undefined || pods === undefined) return []
  if (!isCordonedBy(node, SWITCH_OWNER + move.order.name)) return []
  const { evict, waiting } = drainPlan(pods, defined({ waits }))
  // Pods on other nodes may have saved the work that it waits for.
  if (evict.length === 0 && waiting.length === 0) return []
  const reason = `${move.order.name} asks for an empty node`
  return [{ kind: 'Drain', by: { permit: move.permit }, reason, ...defined({ waits }) }]
}

/** Also while the node is not healthy yet: leftovers of an earlier Machine's agent would block the new agent from writing. */
export function claimActions(seen: Seen): MachineAction[] {
  const { machine, node } = seen
  if (node === undefined || (seen.isHostKept && !hasJoined(seen) && !hadJoined(seen))) return []
  if (node.metadata.annotations?.[ANNOTATIONS.machineUid] === uidOf(machine)) return []
  return [{ kind: 'ClaimNode', reason: 'the node is marked with the machine that it belongs to' }]
}

export function nodeActions(seen: Seen, components: Orders['components']): MachineAction[] {
  const { machine, node } = seen
  // A Node that was never healthy may still be created by others. A machine in service keeps its Node in sync in any state.
  if (node === undefined || (isClosed(seen) && !isNodeReady(node))) return []
  // The agent has not joined yet.
  if (seen.isHostKept && !hasJoined(seen) && !hadJoined(seen)) return []
  // A pass counts once it is recorded.
  const mayOpen = isClosed(seen) && areComponentsIn(seen, components) && isAccepted(machine, uidOf(node))
  if (syncedNode(node, { machine, areComponentsIn: mayOpen }).kind === 'Keep') return []
  const opened =
    machine.spec.acceptance === undefined
      ? 'the required components are installed'
      : 'the required components are installed, and the node was accepted'
  const reason = mayOpen ? opened : 'the node differs from Machine.spec'
  return [{ kind: 'SyncNode', areComponentsIn: mayOpen, reason }]
}

export function areComponentsIn(seen: Seen, components: Orders['components']): boolean {
  if (components.length === 0) return seen.claims.length === 0
  const left = isFirstInstall(seen) ? missingComponents : stoppedComponents
  return left(seen.machine, components).length === 0
}
