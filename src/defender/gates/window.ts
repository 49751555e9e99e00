// Times when a policy allows disruption, and times when it never does.
import { timestamp } from '#lib/clock.ts'
import { parseDuration } from '#lib/duration.ts'
import type { Disruption } from '#api/kinds/operation-permit.ts'
import { maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { isOver } from '#nodes/faults/maintenance.ts'
import { REPAIRER } from '../blame/failing.ts'
import type { CompiledPolicy } from '../compile-policy.ts'
import type { GateVerdict } from '../gate.ts'
import type { GateContext, Question } from '../question.ts'
import { pass, wait } from '../verdict-of.ts'

/** The clock may be set, or a policy edited, during the wait for a window. */
const ASK_AGAIN_MS = 60_000

export function windowGate(question: Question, { snapshot }: GateContext): readonly GateVerdict[] {
  const { wall } = snapshot
  const isReclaimed = isDrainOfReclaimed(question, snapshot)
  return question.policies.flatMap((policy) => {
    const { windows, blackouts } = policy
    if (windows.length === 0 && blackouts.length === 0) return []
    if (isReclaimed)
      return [pass('Window', { reason: 'MaintenanceUnderWay', policy, seen: 'the host is reclaimed within minutes' })]
    const dark = blackouts.map((b) => b(wall)).find((until) => until !== undefined)
    if (dark !== undefined)
      return [
        wait('Window', {
          reason: 'BlackoutActive',
          policy,
          field: '/blackouts',
          seen: `a blackout of ${titleOf(policy)} is in force`,
          limit: `until ${timestamp(dark)}`,
          retryAfterMs: dark - wall,
        }),
      ]
    if (windows.length > 0 && windows.every((w) => w(wall) === undefined)) {
      const next = policy.nextWindow(wall)
      const overdueAt = rebootOverdueAt(question, policy)
      if (overdueAt !== undefined && wall >= overdueAt)
        return [pass('Window', { reason: 'PermitGranted', policy, seen: overdueText(question, policy) })]
      return [
        wait('Window', {
          reason: 'OutsideWindow',
          policy,
          field: '/windows',
          seen: `no maintenance window of ${titleOf(policy)} is open`,
          limit: `${next === undefined ? 'none opens again' : `the next one opens at ${timestamp(next)}`}${overdueAt === undefined ? '' : `, and none is needed from ${timestamp(overdueAt)}`}`,
          retryAfterMs: Math.min(ASK_AGAIN_MS, (next ?? Infinity) - wall, (overdueAt ?? Infinity) - wall),
        }),
      ]
    }
    return [pass('Window', { reason: 'PermitGranted', policy })]
  })
}

/** Looked up on the Node: a requester may not say how long it has waited. Undefined: windows hold it. */
function rebootOverdueAt({ permit, unit }: Question, { spec }: CompiledPolicy): number | undefined {
  const { requester, operations } = permit.spec
  if (spec.rebootDeadline === undefined || requester.kind !== REPAIRER) return undefined
  if (!operations.includes('Reboot') || !operations.every((o) => REBOOTING.has(o))) return undefined
  return unit.rebootAskedAt === undefined ? undefined : unit.rebootAskedAt + parseDuration(spec.rebootDeadline)
}

const REBOOTING: ReadonlySet<Disruption> = new Set<Disruption>(['NoDisruption', 'Cordon', 'Drain', 'Reboot'])

const overdueText = ({ unit }: Question, policy: CompiledPolicy): string =>
  `${unit.name} asks for a reboot since ${timestamp(unit.rebootAskedAt ?? 0)}, longer than ${policy.spec.rebootDeadline ?? ''} (rebootDeadline of ${titleOf(policy)})`

/** People who wait for it want to know whom to ask. */
const titleOf = ({ name, spec: { owner } }: CompiledPolicy): string =>
  `policy ${name}${owner === undefined ? '' : ` (owner: ${owner})`}`

/**
 * The provider takes the host whatever the policies require, so its drain is the one disruption that waits for no window. Looked up here, never trusted from
 * the permit.
 */
const isDrainOfReclaimed = ({ permit, unit }: Question, { maintenance = [] }: GateContext['snapshot']): boolean =>
  permit.spec.requester.kind === maintenanceEvent.kind &&
  permit.spec.operations.every((o) => o === 'Drain') &&
  maintenance.some((e) => e.spec.machine === unit.name && e.spec.kind === 'Reclaim' && !isOver(e))
