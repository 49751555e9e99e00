// Decides how the agent of a kept host is released: ordered to leave, waited for, and recorded as abandoned after a deadline. Pure. plan.ts covers
// the steps before: the permit, and a drain if something restarts.
import { isSwitchOpen } from '#api/protocol/component-order.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { nameOf } from '#api/schema/object-meta.ts'
import { recordedKey } from '#identity/agent-key.ts'
import { counted } from '#lib/counted.ts'
import type { Authority } from '#permits/under-permit.ts'
import type { MachinePlan, Waiting } from '../actions.ts'
import { isBeating } from '../heartbeats/heartbeats.ts'
import { noticeOf } from '../actions.ts'
import { type Seen } from '../seen.ts'

/** A host that is silent this long after the order is abandoned. Longer than a reboot with disk checks. */
const ABANDON_SILENT_AFTER_MS = 15 * 60_000
/** For an agent that answers and still does not finish: an older version, or a file that it cannot restore. */
const ABANDON_AFTER_MS = 60 * 60_000

/** After this, a switch that does not end is no longer waited for, for example if its permit expired. */
const SWITCH_ENDS_WITHIN_MS = 5 * 60_000

const REQUEUE_MS = 2_000
const PREDICATE = 'HandedBack'

/** It has an agent that has not reported that it left, or one that received its certificate and has not reported yet. */
export const hasAgent = (machine: Machine): boolean => {
  const agent = machine.status?.agent
  return agent === undefined ? recordedKey(machine) !== undefined : agent.phase !== 'Left'
}

export const hasLeft = ({ status }: Machine): boolean => status?.agent?.phase === 'Left'

/** Something on the host stops or restarts when its agent leaves. An agent that does not report this does not do it. */
export const isDisturbed = ({ spec, status }: Machine): boolean =>
  spec.channel !== 'Observe' && (status?.components ?? []).some((c) => c.removal?.restarts === true)

const SWITCHING = 'SwitchEnded'
const IN_PROGRESS: ReadonlySet<string> = new Set(['Switching', 'Probing'])

/** Whether the way back restarts something is known only when an open switch has ended. The hand-back waits until then. Undefined: no wait. */
export function switchWait({ machine, agentHeartbeat }: Seen, now: number): Waiting | undefined {
  const open = openSwitch(machine)
  if (open === undefined || isBeating(agentHeartbeat) !== true) return undefined
  const { predicate, since } = machine.status?.waitingFor ?? {}
  const isOverdue = predicate === SWITCHING && now - Date.parse(since ?? '') >= SWITCH_ENDS_WITHIN_MS
  if (isOverdue) return undefined
  return { predicate: SWITCHING, seen: `${open} is being switched`, unblock: 'the switch succeeds or is rolled back' }
}

/** An order that has not started counts too: the agent may read it a moment later. */
function openSwitch({ spec, status }: Machine): string | undefined {
  const reports = status?.components ?? []
  const ordered = (spec.components ?? []).find((c) => {
    const report = reports.find((r) => r.name === c.name)
    return c.workload !== true && isSwitchOpen(c, report)
  })
  return (reports.find((r) => IN_PROGRESS.has(r.state)) ?? ordered)?.name
}

/** Undefined if its agent has left or was given up. */
export function planLeaving(
  { machine, agentHeartbeat }: Seen,
  by: Authority,
  now: number,
): MachinePlan | 'Left' | 'Abandoned' {
  if (!hasAgent(machine)) return 'Left'
  if (machine.spec.leaving !== true) {
    const action = { kind: 'OrderToLeave', by, reason: 'the host is handed back' } as const
    return { actions: [action], notices: noticeOf(action), doing: 'Deleting', requeueAfter: REQUEUE_MS }
  }
  const { predicate, since } = machine.status?.waitingFor ?? {}
  const waitedMs = predicate === PREDICATE ? now - Date.parse(since ?? '') : 0
  const isSilent = agentHeartbeat.kind === 'None' || isBeating(agentHeartbeat) === false
  if (waitedMs >= (isSilent ? ABANDON_SILENT_AFTER_MS : ABANDON_AFTER_MS)) return 'Abandoned'
  return {
    actions: [],
    notices: [],
    doing: 'Deleting',
    waiting: { predicate: PREDICATE, seen: leavingSeen(machine, isSilent), unblock: 'its agent has left the host' },
    requeueAfter: REQUEUE_MS,
  }
}

/** What a hand-back waits for before the agent is ordered to leave. */
const BEFORE_ORDER: ReadonlySet<string | undefined> = new Set(['PermitGranted', 'PermitDenied', 'Drained'])

/**
 * Silent so long that it is abandoned without an order: the Defender grants nothing for a machine in unknown state, and the host may never answer.
 * Without an order nothing on the host is disrupted, even if its agent comes back.
 */
export function isGivenUp({ machine: { metadata, spec, status }, agentHeartbeat }: Seen, now: number): boolean {
  const { predicate, since } = status?.waitingFor ?? {}
  if (spec.leaving === true || !BEFORE_ORDER.has(predicate)) return false
  const isSilent = agentHeartbeat.kind === 'None' || isBeating(agentHeartbeat, ABANDON_SILENT_AFTER_MS) === false
  return isSilent && now - Date.parse(metadata.deletionTimestamp ?? since ?? '') >= ABANDON_SILENT_AFTER_MS
}

function leavingSeen(machine: Machine, isSilent: boolean): string {
  if (isSilent)
    return `no heartbeat from the agent; given up after ${ABANDON_SILENT_AFTER_MS / 60_000}m, and listed in ConfigMap kubenode-abandoned`
  const left = machine.status?.components ?? []
  const first = left.find((c) => c.message !== undefined) ?? left[0]
  if (machine.status?.agent?.phase !== 'Leaving') return `the agent of ${nameOf(machine)} was ordered to leave`
  return first === undefined
    ? 'the agent removes itself'
    : `${counted(left.length, 'component', 'components')} left to hand back, such as ${first.name}${first.message === undefined ? '' : `: ${first.message}`}`
}
