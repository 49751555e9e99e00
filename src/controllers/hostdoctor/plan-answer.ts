// Decides the answer to the source. None without a policy that asks for it, only within the windows, once, and only for a drained node. Pure.
import { PEOPLE } from '#api/kinds/maintenance-event.ts'
import { isOverrun, plannerOf } from '#nodes/faults/maintenance.ts'
import { timestamp } from '#lib/clock.ts'
import { byPermit } from '#permits/under-permit.ts'
import { openingOf } from '#permits/windows.ts'
import type { DoctorPlan } from './actions.ts'
import { isHeldPermit, renewalOf } from './plan-permit.ts'
import { nextStart } from './plan-schedule.ts'
import type { Answered, Seen } from './seen.ts'

/** These are answered with a restart through the provider. */
const REBOOTED: ReadonlySet<string> = new Set(['Reboot', 'Stop'])

export function planAnswer(seen: Seen, now: number, requeueMs: number): DoctorPlan {
  const { event, permit } = seen
  const { spec, status } = event
  const renewal = renewalOf(seen, now)
  const isLate = isOverrun(event, now)
  const waits: DoctorPlan = {
    actions: renewal,
    notices: [],
    waiting: {
      predicate: isLate ? 'MaintenanceOverrun' : 'WaitingForOther',
      seen: dueText(spec),
      unblock:
        spec.source === PEOPLE
          ? 'that time comes'
          : isLate
            ? `a person asks ${spec.source} to begin or cancel it: kubenode maintenance list`
            : 'its source begins',
    },
    requeueAfter: requeueMs,
  }
  const kind = wantedAnswer(seen)
  if (kind === undefined || permit === undefined || !isHeldPermit(seen) || !seen.isConfirmed) return waits
  const given = status?.answer?.kind === kind ? status.answer : undefined
  if (given !== undefined && given.outcome !== 'Pending') return waits
  if (!seen.policy.windows.every((w) => openingOf(w, now).isOpen)) return waits
  // Recorded before it is sent: after a crash, it is known that the answer may have been sent.
  if (given === undefined)
    return { ...waits, change: { answer: { kind, at: timestamp(now), outcome: 'Pending' } }, requeueAfter: 0 }
  const by = byPermit(permit)
  const reason = `the node is drained and the policy allows ${kind}`
  return {
    ...waits,
    actions: [...renewal, kind === 'Reboot' ? { kind, reason, by } : { kind: 'Respond', reason, answer: { kind }, by }],
  }
}

/** Users plan a time, sources report one. */
const dueText = (spec: Seen['event']['spec']): string =>
  `${spec.source === PEOPLE ? `planned by ${plannerOf(spec)}` : `${spec.source} says ${spec.state}`}${spec.notBefore === undefined ? '' : `, not before ${spec.notBefore}`}`

/** The answer that the policy gives. Undefined: wait for the source. */
export function wantedAnswer({ event: { spec }, policy }: Seen): Exclude<Answered['kind'], 'Postpone'> | undefined {
  const { answer } = policy
  // An answer or a restart does not pay a bill.
  if (spec.source === PEOPLE || spec.bill === true || answer === 'Wait') return undefined
  if (answer === 'Reboot') return REBOOTED.has(spec.kind) && !spec.dataLoss ? answer : undefined
  return spec.answers?.includes(answer) === true ? answer : undefined
}

/** Once per event: a source that is asked too often ends up going ahead without notice. */
export function planPostponement(seen: Seen, now: number, leadMs: number): DoctorPlan | undefined {
  const { event, policy } = seen
  if (!policy.postpone || event.spec.answers?.includes('Postpone') !== true) return undefined
  const given = event.status?.answer
  if (given !== undefined && (given.kind !== 'Postpone' || given.outcome !== 'Pending')) return undefined
  const start = nextStart(policy.windows, now)
  if (start === undefined) return undefined
  if (given === undefined)
    return {
      actions: [],
      notices: [],
      change: { answer: { kind: 'Postpone', at: timestamp(now), outcome: 'Pending' } },
      requeueAfter: 0,
    }
  const until = timestamp(start + leadMs)
  return {
    actions: [
      {
        kind: 'Respond',
        reason: 'no window opens before it',
        answer: { kind: 'Postpone', until },
        by: { exempt: 'Postponed' },
      },
    ],
    notices: [],
  }
}
