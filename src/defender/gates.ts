// The gates: each says, for one target, whether it may pass, what was seen and which limit it met. All are asked, also after one said no, so that a
// permit shows everything that stands in its way. What cannot be known lets nothing pass.
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { approvalNeed } from './approvals.ts'
import { REPAIRER } from './blame/failing.ts'
import { blameGate } from './blame/gate.ts'
import { breakerAt, halfOpensIn, newBreaker } from './breaker.ts'
import { builtinPolicy, type CompiledPolicy } from './compile-policy.ts'
import type { Found, Unit } from './fleet.ts'
import { type GateVerdict, hardest } from './gate.ts'
import { holdsOver } from './holds.ts'
import { budgetLimit, domainOf, floorLimit } from './levels.ts'
import { type Series, seriesName } from './rates.ts'
import type { Ground, Question } from './question.ts'
import { deny, pass, wait } from './say.ts'
import type { Snapshot } from './snapshot.ts'

/** Enforced policies that decide it; where there is none, the built-in one. */
export function policiesFor(
  all: readonly CompiledPolicy[],
  permit: OperationPermit,
  unit: Unit,
): readonly CompiledPolicy[] {
  const { operations } = permit.spec
  const found = all.filter((p) => p.spec.mode !== 'Audit' && p.decides(operations) && p.selects(unit))
  return found.length === 0 ? [builtinPolicy] : found
}

/** Those that only watch it. */
export const auditorsOf = (
  all: readonly CompiledPolicy[],
  { permit, unit }: Pick<Question, 'permit' | 'unit'>,
): readonly CompiledPolicy[] =>
  all.filter((p) => p.spec.mode === 'Audit' && p.decides(permit.spec.operations) && p.selects(unit))

/** Whether the target can be told at all. Without this no other gate has anything to look at. */
export function targetGate(found: Found, uid: string, { unknown, goneTargets }: Snapshot): GateVerdict {
  if (unknown !== undefined)
    return wait('Target', { reason: 'SafetyReadingUnknown', seen: unknown, retryAfterMs: 5_000 })
  if (found.kind !== 'Found' && goneTargets.has(uid))
    return deny('Target', { reason: 'UnknownTarget', seen: 'the target is gone' })
  if (found.kind !== 'Found') {
    const seen = found.kind === 'Absent' ? 'there is no such object' : 'the name belongs to another object'
    return wait('Target', { reason: 'UnknownTarget', seen, retryAfterMs: 10_000 })
  }
  const { health, name, why } = found.unit
  const seen = `${name} ${why}`
  return health === 'Unknown'
    ? wait('Target', { reason: 'SafetyReadingUnknown', seen, retryAfterMs: 10_000 })
    : pass('Target', { reason: 'PermitGranted', seen })
}

export function holdGate(
  { permit, unit }: Pick<Question, 'permit' | 'unit'>,
  { snapshot }: Pick<Ground, 'snapshot'>,
): GateVerdict | undefined {
  const { holds, cluster, wall } = snapshot
  const over = holdsOver(holds, ['Freeze', 'Pause', 'Abort'], { permit, unit }, { cluster, now: wall })
  const hold = over.find((h) => h.spec.effect === 'Freeze') ?? over[0]
  if (hold === undefined) return undefined
  const reason = ({ Freeze: 'HoldFreeze', Pause: 'HoldPause', Abort: 'HoldAbort' } as const)[
    hold.spec.effect as 'Freeze' | 'Pause' | 'Abort'
  ]
  const seen = `${hold.metadata.name}: ${hold.spec.reason} (${hold.spec.author})`
  return wait('Hold', { reason, seen, limit: `until ${hold.spec.until}` })
}

function protectGate({ permit, unit, policies }: Question, { snapshot }: Ground): readonly GateVerdict[] {
  const { holds, cluster, wall } = snapshot
  const isLifted = holdsOver(holds, ['Unprotect'], { permit, unit }, { cluster, now: wall }).length > 0
  return policies.flatMap((policy) => {
    const protection = policy.protections.find((p) => p.matches(unit))
    if (protection === undefined) return []
    if (isLifted) return [pass('Protect', { reason: 'Protected', policy, seen: 'a hold lifts the protection' })]
    return [deny('Protect', { reason: 'Protected', policy, seen: protection.reason })]
  })
}

function windowGate({ policies }: Question, { snapshot: { wall } }: Ground): readonly GateVerdict[] {
  return policies.flatMap((policy) => {
    const { windows, blackouts } = policy
    if (windows.length === 0 && blackouts.length === 0) return []
    const dark = blackouts.map((b) => b(wall)).find((until) => until !== undefined)
    if (dark !== undefined) {
      const limit = `until ${new Date(dark).toISOString()}`
      return [wait('Window', { reason: 'BlackoutActive', policy, limit, retryAfterMs: dark - wall })]
    }
    if (windows.length > 0 && windows.every((w) => w(wall) === undefined))
      return [wait('Window', { reason: 'OutsideWindow', policy, seen: 'no window is open', retryAfterMs: 60_000 })]
    return [pass('Window', { reason: 'PermitGranted', policy })]
  })
}

/** So many silent at once are a network that is down, until proven otherwise: a share, and a number that chance does not reach in a small fleet. */
const SILENT_SHARE = 0.3
const SILENT_LEAST = 3

function silenceGate({ unit }: Question, { levels }: Ground): readonly GateVerdict[] {
  const all = levels.members(builtinPolicy, unit.space)
  const silent = all.filter((u) => u.isSilent).length
  if (silent < SILENT_LEAST || silent < all.length * SILENT_SHARE) return []
  const seen = `${silent} of ${all.length} are silent: looks like the network`
  return [
    wait('HealthFloor', {
      reason: 'SafetyReadingUnknown',
      seen,
      limit: `${SILENT_SHARE * 100} %`,
      retryAfterMs: 30_000,
    }),
  ]
}

function floorGate(question: Question, ground: Ground): readonly GateVerdict[] {
  const { unit, policies } = question
  const { levels } = ground
  const floors = policies.flatMap((policy) => {
    const floor = policy.spec.healthFloor
    if (floor === undefined) return []
    const total = levels.members(policy, unit.space).length
    const down = levels.set(policy, 'unavailable', 'cluster', unit.space, '')
    if (unit.health === 'Unavailable')
      return [pass('HealthFloor', { reason: 'RecoveryExempt', policy, seen: 'it is down already' })]
    const left = total - down.size - (down.has(unit.id) ? 0 : 1)
    const limit = floorLimit(floor, total)
    const saying = { policy, seen: `${left} of ${total} would be left healthy`, limit: `at least ${limit}` }
    return [
      left >= limit
        ? pass('HealthFloor', { reason: 'PermitGranted', ...saying })
        : wait('HealthFloor', { reason: 'HealthFloor', ...saying }),
    ]
  })
  return [...silenceGate(question, ground), ...floors]
}

function budgetGate({ permit, unit, policies }: Question, { levels }: Ground): readonly GateVerdict[] {
  const component = permit.spec.component?.name
  return policies.flatMap((policy) =>
    (policy.spec.budgets ?? []).flatMap(({ max, of, per }) => {
      const domain = domainOf(per, unit, component)
      if (domain === undefined) return []
      if (of === 'unavailable' && unit.health === 'Unavailable')
        return [pass('Budget', { reason: 'RecoveryExempt', policy, seen: 'it is down already' })]
      const set = levels.set(policy, of, per, unit.space, domain)
      const after = set.size + (set.has(unit.id) ? 0 : 1)
      const limit = budgetLimit(max, levels.total(policy, per, unit.space, domain))
      const where = per === 'cluster' ? '' : ` in ${per} ${domain === '' ? '(none)' : domain}`
      const saying = { policy, seen: `${set.size} ${of}${where}`, limit: `${limit} (${max}) per ${per}` }
      return [
        after <= limit
          ? pass('Budget', { reason: 'PermitGranted', ...saying })
          : wait('Budget', { reason: 'BudgetExhausted', ...saying }),
      ]
    }),
  )
}

/** What a grant would be counted in; each series once, however many limits look at it. */
export function seriesOf({ permit, unit, policies }: Question): readonly Series[] {
  const series = policies.flatMap(({ name, spec: { rates = [] } }) =>
    rates.flatMap(({ window, per }): readonly Series[] => {
      const domain = domainOf(per, unit, permit.spec.component?.name)
      return domain === undefined ? [] : [{ policy: seriesName(name, window, per), window, per, domain }]
    }),
  )
  return [...new Map(series.map((s) => [`${s.policy}\n${s.domain}`, s])).values()]
}

function rateGate({ permit, unit, policies }: Question, { ledger }: Ground): readonly GateVerdict[] {
  return policies.flatMap((policy) =>
    (policy.spec.rates ?? []).flatMap(({ window, max, per }) => {
      const domain = domainOf(per, unit, permit.spec.component?.name)
      if (domain === undefined) return []
      const series: Series = { policy: seriesName(policy.name, window, per), window, per, domain }
      const seen = ledger.rates.count(series)
      const saying = { policy, seen: `${seen} granted in ${window}`, limit: `${max} in ${window} per ${per}` }
      if (seen + 1 <= max) return [pass('Rate', { reason: 'PermitGranted', ...saying })]
      return [wait('Rate', { reason: 'RateExceeded', ...saying, retryAfterMs: ledger.rates.fallsIn(series) ?? 60_000 })]
    }),
  )
}

function breakerGate(question: Question, ground: Ground): readonly GateVerdict[] {
  const { policies, isRecovery } = question
  const { now } = ground.ledger
  return policies.flatMap((policy) => {
    const rule = policy.spec.breaker
    if (rule === undefined) return []
    const entry = breakerAt(ground.ledger.breaker(policy.name) ?? newBreaker(policy.name, now), rule, now)
    if (entry.state === 'Closed') return [pass('Breaker', { reason: 'BreakerClosed', policy })]
    if (isRecovery)
      return [pass('Breaker', { reason: 'RecoveryExempt', policy, seen: 'goes back to the last healthy revision' })]
    if (entry.state === 'Open') {
      const retryAfterMs = halfOpensIn(entry, rule, now)
      const seen = `open since ${entry.since}, ${entry.failures} failures`
      return [
        wait('Breaker', {
          reason: 'BreakerOpen',
          policy,
          seen,
          limit: `tries again after ${rule.halfOpenAfter}`,
          retryAfterMs,
        }),
      ]
    }
    // What was asked while it was open was asked about a fleet of that time: whoever still wants it looks again and asks anew.
    if (isStaleRepair(question.permit)) {
      const seen = 'asked while the breaker was open; ask again if it is still wanted'
      return [deny('Breaker', { reason: 'BreakerHalfOpen', policy, seen })]
    }
    const tried = trialsInFlight(policy, entry.since, ground)
    const saying = { policy, seen: `${tried} being tried`, limit: `${entry.trial} at once` }
    return [
      tried < entry.trial
        ? pass('Breaker', { reason: 'BreakerHalfOpen', ...saying })
        : wait('Breaker', { reason: 'BreakerHalfOpen', ...saying }),
    ]
  })
}

/** Told by its own status, not by times: those are of two clocks. */
const isStaleRepair = ({ spec, status }: OperationPermit): boolean =>
  spec.requester.kind === REPAIRER &&
  status?.conditions?.some((c) => c.type === 'PermitGranted' && c.reason === 'BreakerOpen') === true

/** Operations granted since it is half open that are still at work. Those from before say nothing about the present. */
function trialsInFlight(policy: CompiledPolicy, since: string, { ledger, levels }: Ground): number {
  return ledger.grants().filter((g) => {
    if (g.exempt !== undefined || g.state !== 'Held' || g.grantedAt < since || !policy.decides(g.operations))
      return false
    const unit = levels.unitOf(g)
    return unit === undefined || policy.selects(unit)
  }).length
}

function approvalGate(
  { permit, policies }: Question,
  { snapshot: { approvals, wall } }: Ground,
): readonly GateVerdict[] {
  return policies.flatMap((policy) => {
    const need = approvalNeed(policy.spec.approvals ?? [], permit.spec, approvals, wall)
    if (need === undefined) return []
    const saying = {
      policy,
      seen: `${need.counted.length} approvals`,
      limit: `${need.needed} of ${need.from.join(', ')}`,
    }
    const isMet = need.counted.length >= need.needed
    return [
      isMet
        ? pass('Approval', { reason: 'PermitGranted', ...saying })
        : wait('Approval', { reason: 'ApprovalMissing', ...saying }),
    ]
  })
}

function ruleGate({ policies }: Question, { snapshot }: Ground): readonly GateVerdict[] {
  return policies.flatMap((policy) => {
    if (policy.broken !== undefined)
      return [
        wait('Rule', {
          reason: 'SafetyReadingUnknown',
          policy,
          seen: `the policy is not understood: ${policy.broken}`,
        }),
      ]
    const { rules = [] } = policy.spec
    if (rules.length === 0) return []
    const verdicts = snapshot.rules.get(policy.name)
    const said = rules.flatMap(({ name, effect, message }) => {
      const verdict = verdicts?.get(name) ?? 'unknown'
      if (verdict === 'false') return []
      const seen = `${name}: ${message ?? (verdict === 'unknown' ? 'cannot be told' : 'holds')}`
      return [
        (effect === 'Deny' && verdict === 'true' ? deny : wait)('Rule', { reason: 'PolicyRuleDenied', policy, seen }),
      ]
    })
    return said.length > 0 ? said : [pass('Rule', { reason: 'PermitGranted', policy })]
  })
}

const GATES_IN_ORDER = [
  protectGate,
  windowGate,
  floorGate,
  (question: Question, { ledger }: Ground) => blameGate(question, ledger.blames),
  budgetGate,
  rateGate,
  breakerGate,
  approvalGate,
  ruleGate,
] as const

/** One verdict a gate that has something to say, in the order in which they bind. */
export function askGates(question: Question, ground: Ground): readonly GateVerdict[] {
  const held = holdGate(question, ground)
  const rest = GATES_IN_ORDER.flatMap((gate) => hardest(gate(question, ground)) ?? [])
  return held === undefined ? rest : [held, ...rest]
}
