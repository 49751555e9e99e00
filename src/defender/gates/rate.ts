// How many may be granted within a window, per domain.
import type { GateVerdict } from '../gate.ts'
import { domainOf } from '../levels.ts'
import type { Ground, Question } from '../question.ts'
import { type Series, seriesName } from '../rates.ts'
import { pass, wait } from '../say.ts'

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

export function rateGate({ permit, unit, policies }: Question, { ledger }: Ground): readonly GateVerdict[] {
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
