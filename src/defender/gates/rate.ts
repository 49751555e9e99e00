// How many may be granted within a window, per domain.
import type { GateVerdict } from '../gate.ts'
import { domainOf } from '../levels.ts'
import type { GateContext, Question } from '../question.ts'
import { type Series, seriesName } from '../rates.ts'
import { timeOfDay } from '#lib/clock.ts'
import { GOES_BACK, pass, wait } from '../verdict-of.ts'
import { defined } from '#lib/defined.ts'

/** The series that count a grant. Each appears once, however many limits use it. */
export function seriesOf({ permit, unit, policies }: Question): readonly Series[] {
  const series = policies.flatMap(({ name, spec: { rates = [] } }) =>
    rates.flatMap(({ window, per }): readonly Series[] => {
      const domain = domainOf(per, unit, permit.spec.component?.name)
      return domain === undefined ? [] : [{ policy: seriesName(name, window, per), window, per, domain }]
    }),
  )
  return [...new Map(series.map((s) => [`${s.policy}\n${s.domain}`, s])).values()]
}

export function rateGate(
  { permit, unit, policies, isRecovery }: Question,
  { ledger, snapshot: { wall } }: GateContext,
): readonly GateVerdict[] {
  const verdicts = policies.flatMap((policy) =>
    (policy.spec.rates ?? []).flatMap(({ window, max, per }, at) => {
      const domain = domainOf(per, unit, permit.spec.component?.name)
      if (domain === undefined) return []
      const series: Series = { policy: seriesName(policy.name, window, per), window, per, domain }
      const used = ledger.rates.count(series)
      const parts = { policy, limit: `${max} in ${window} per ${per}` }
      if (used + 1 <= max)
        return [pass('Rate', { reason: 'PermitGranted', ...parts, seen: `${used} granted in ${window}` })]
      if (isRecovery)
        return [pass('Rate', { reason: 'RecoveryExempt', ...parts, seen: `${used} in ${window} used; ${GOES_BACK}` })]
      const retryAfterMs = ledger.rates.freesIn(series, max)
      const next =
        retryAfterMs === undefined
          ? 'the policy never grants any'
          : `next grant at ${timeOfDay(wall + retryAfterMs, wall)}`
      return [
        wait('Rate', {
          reason: 'RateExceeded',
          ...parts,
          field: `/rates/${at}`,
          count: used,
          seen: `${used} in ${window} used, ${next}`,
          ...defined({ retryAfterMs }),
        }),
      ]
    }),
  )
  // Report the one that frees last.
  return verdicts.toSorted((a, b) => freesAt(b) - freesAt(a))
}

const freesAt = ({ verdict, retryAfter = Infinity }: GateVerdict): number => (verdict === 'Waiting' ? retryAfter : -1)
