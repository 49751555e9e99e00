// Decides the next steps of one machine that stays: made, joined, installed, kept as declared, switched. Pure. How it leaves is in plan-delete.ts.
import { cordonOwners, isCordonedBy } from '#nodeops/cordon.ts'
import { drainPlan } from '#nodeops/drain.ts'
import { jsonEqual } from '#lib/json.ts'
import {
  DELETE_OWNER,
  DRAIN_LOOK_MS,
  SWITCH_OWNER,
  type MachineAction,
  type MachinePlan,
  isDrained,
  noticeOf,
  podsSeen,
} from './actions.ts'
import { desiredComponents } from './desired-components.ts'
import { LOST_AFTER_MS, SILENT_AFTER_MS, untilSilentMs } from './heartbeats.ts'
import { syncedNode } from './node-sync.ts'
import type { Secret } from './objects.ts'
import { type Orders, planOrders } from './orders.ts'
import { planDelete } from './plan-delete.ts'
import {
  type Seen,
  hasFinalizer,
  hasJoined,
  isDeleting,
  isFirstInstall,
  isProvided,
  missingComponents,
  nameOf,
  uidOf,
} from './seen.ts'
import { tokenExpiresAt } from './token.ts'

const PROVISION_LOOK_MS = 2_000

export function plan(seen: Seen, now: number): MachinePlan {
  const { machine } = seen
  if (isDeleting(machine)) return planDelete(seen, now)
  if (!isProvided(machine)) return { actions: [], notices: [] }
  if (!hasFinalizer(machine))
    return onlyThen({ kind: 'AddFinalizer', reason: 'what is made for the machine has to be taken back' })
  const provision = provisionReason(seen, now)
  if (provision !== undefined) return onlyThen({ kind: 'Provision', reason: provision })
  const { components, orders } = componentsOf(seen)
  const actions: MachineAction[] = [
    ...(hasJoined(seen) ? seen.tokens.map((t): MachineAction => deleteToken(t, 'the agent has joined')) : []),
    ...componentActions(seen, components, orders),
    ...cordonActions(seen, components, orders),
    ...drainActions(seen, orders),
    ...nodeActions(seen, components),
  ]
  const looks = [
    ...[SILENT_AFTER_MS, LOST_AFTER_MS].flatMap((bound) => [
      untilSilentMs(seen.agentBeat, bound),
      untilSilentMs(seen.nodeBeat, bound),
    ]),
    ...(orders.draining.length > 0 ? [DRAIN_LOOK_MS] : []),
    ...(hasJoined(seen) ? [] : seen.tokens.map((t) => Math.max(1_000, tokenExpiresAt(t) - now))),
    ...(seen.host.kind === 'Unknown' ? [PROVISION_LOOK_MS] : []),
  ].filter((ms) => ms !== undefined)
  const [drain] = orders.draining
  return {
    actions,
    notices: actions.flatMap(noticeOf),
    ...(looks.length > 0 && { requeueAfter: Math.min(...looks) }),
    ...(drain !== undefined && {
      doing: 'Draining' as const,
      waiting: { predicate: 'Drained', seen: podsSeen(seen), unblock: 'pods leaving the node' },
    }),
  }
}

const onlyThen = (action: MachineAction): MachinePlan => ({ actions: [action], notices: noticeOf(action) })

const deleteToken = (token: Secret, reason: string): MachineAction => ({ kind: 'DeleteToken', token, reason })

/** Why something is to be made; undefined when nothing is. */
function provisionReason(seen: Seen, now: number): string | undefined {
  const { machine, host, tokens } = seen
  if (host.kind === 'NoProvider' || hasJoined(seen)) return undefined
  if (machine.spec.providerID === undefined) return 'the machine has no host'
  if (host.kind === 'Gone' && machine.status?.nodeRef === undefined) return 'the host is gone before it joined'
  if (machine.status?.nodeRef !== undefined) return undefined
  return tokens.some((t) => tokenExpiresAt(t) > now) ? undefined : 'the machine has no valid join token'
}

function componentsOf(seen: Seen): { readonly components: Orders['components']; readonly orders: Orders } {
  const { machine, claims, marks, permits, definitions, pods } = seen
  const { components: current = [] } = machine.spec
  const reports = machine.status?.components ?? []
  const desired = desiredComponents({
    machine: nameOf(machine),
    isFirstInstall: isFirstInstall(seen),
    current,
    reports,
    claims,
    marks,
  })
  const orders = planOrders({
    machine: nameOf(machine),
    machineUid: uidOf(machine),
    components: desired,
    reports,
    claims,
    marks,
    permits,
    definitions,
    isDrained: isDrained(seen, pods),
  })
  return { components: orders.components, orders }
}

function componentActions({ machine }: Seen, components: Orders['components'], { given }: Orders): MachineAction[] {
  if (jsonEqual(machine.spec.components ?? [], components)) return []
  const names = given.map((o) => `${o.entry.name} ${o.entry.version}`)
  const reason = names.length > 0 ? `orders to switch ${names.join(', ')}` : 'what the machine shall have changed'
  return [{ kind: 'WriteComponents', components, given, reason }]
}

/** Owners come before a drain and go when the switch they were for is over. */
function cordonActions(
  { machine, node }: Seen,
  components: Orders['components'],
  { draining, given }: Orders,
): MachineAction[] {
  if (node === undefined) return []
  const read = cordonOwners(node)
  const owners = read.kind === 'Owners' ? Object.keys(read.owners) : []
  const needed = new Set([...draining, ...given].filter((o) => o.needsDrain).map((o) => SWITCH_OWNER + o.entry.name))
  const isBusy = (name: string) => {
    const report = machine.status?.components?.find((c) => c.name === name)
    return components.some((c) => c.name === name && c.switch !== undefined) || BUSY.has(report?.state ?? '')
  }
  const add = [...needed]
    .filter((owner) => !isCordonedBy(node, owner))
    .map((owner): MachineAction => ({
      kind: 'Cordon',
      owner,
      claim: { reason: `machine ${nameOf(machine)} switches ${owner.slice(SWITCH_OWNER.length)}` },
      reason: 'the switch asks for a drain',
    }))
  const drop = owners
    .filter(
      (o) =>
        o === DELETE_OWNER || (o.startsWith(SWITCH_OWNER) && !needed.has(o) && !isBusy(o.slice(SWITCH_OWNER.length))),
    )
    .map((owner): MachineAction => ({ kind: 'Uncordon', owner, reason: 'what it was for is over' }))
  return [...add, ...drop]
}

/** Between the order and its end nobody may come back to the node; and one on which nothing runs is no place for pods. */
const BUSY: ReadonlySet<string> = new Set(['Switching', 'Probing', 'Failed'])

function drainActions({ node, pods }: Seen, { draining }: Orders): MachineAction[] {
  const [order] = draining
  if (order === undefined || node === undefined || pods === undefined) return []
  if (!isCordonedBy(node, SWITCH_OWNER + order.entry.name) || drainPlan(pods).evict.length === 0) return []
  return [{ kind: 'Drain', permit: order.permit, reason: `${order.entry.name} asks for an empty node` }]
}

function nodeActions(seen: Seen, components: Orders['components']): MachineAction[] {
  const { machine, node } = seen
  if (node === undefined) return []
  const areComponentsIn =
    isFirstInstall(seen) && components.length > 0 && missingComponents(machine, components).length === 0
  const mayOpen = areComponentsIn || (isFirstInstall(seen) && components.length === 0 && seen.claims.length === 0)
  if (syncedNode(node, { machine, areComponentsIn: mayOpen }).kind === 'Keep') return []
  const reason =
    mayOpen && isFirstInstall(seen) ? 'the required components are in' : 'the node is not as the machine declares'
  return [{ kind: 'SyncNode', areComponentsIn: mayOpen, reason }]
}
