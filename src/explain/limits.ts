// What is left of each budget, rate and health floor of the Defender, counted by the Defender's own code. Pure.
import type { DefenderLedger } from '#api/kinds/defender-ledger.ts'
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import { builtinPolicy, type CompiledPolicy, compilePolicy } from '#defender/compile-policy.ts'
import type { FleetView } from '#defender/fleet.ts'
import { isBuiltinInForce } from '#defender/gates.ts'
import { asOfMs, grantsOf } from '#defender/ledger.ts'
import { budgetLimit, domainOf, floorLimit, Levels } from '#defender/levels.ts'
import { RateCounter, seriesName } from '#defender/rates.ts'
import { Tallies } from '#defender/tally.ts'
import type { Unit } from '#defender/unit.ts'
import { defined } from '#lib/defined.ts'

export interface Limit {
  readonly what: 'Budget' | 'Rate' | 'HealthFloor'
  readonly policy: string
  readonly mode: 'Enforce' | 'Audit'
  readonly per: string
  readonly domain: string
  readonly of: string
  readonly limit: number
  readonly used: number
  readonly declared: number | string
  /** Milliseconds until one more is allowed; absent when one is allowed now, or never will be. */
  readonly freesInMs?: number
}

export interface LimitsSeen {
  readonly policies: readonly DefenderPolicy[]
  readonly ledger: DefenderLedger | undefined
  readonly units: readonly Unit[]
  /** Finds the unit that a grant is for. */
  readonly find: FleetView['find']
  readonly now: number
}

/** The policies that decide now, and the built-in one where it decides what no other does. */
export function decidingPolicies(policies: readonly DefenderPolicy[]): readonly CompiledPolicy[] {
  const compiled = policies.map(compilePolicy)
  return isBuiltinInForce(compiled) ? [builtinPolicy, ...compiled] : compiled
}

/** A fleet with these units, only for counting. */
function fleetOf({ units, find }: Pick<LimitsSeen, 'units' | 'find'>): FleetView {
  const tallies = new Tallies()
  return {
    units,
    version: 0,
    find,
    tally: (selecting, space) => tallies.of(selecting, space, () => units),
  }
}

export function limitsOf({ policies, ledger, units, find, now }: LimitsSeen): readonly Limit[] {
  const { spec } = ledger ?? {}
  const fleet = fleetOf({ units, find })
  const levels = Levels.booked(fleet, grantsOf(spec), spec?.reservations ?? [])
  const rates = new RateCounter(spec?.rates ?? [], asOfMs(spec) ?? now)
  return decidingPolicies(policies).flatMap((policy) => {
    const { name, spec: declared } = policy
    const common = { policy: name, mode: declared.mode }
    const budgets = (declared.budgets ?? []).flatMap(({ max, of, per }) =>
      domainsOf(per, policy, units, spec).map((domain): Limit => {
        const space = units[0]?.space ?? 'machines'
        const used = levels.set(policy, of, per, space, domain).size
        const limit = budgetLimit(max, levels.total(policy, per, space, domain))
        return { what: 'Budget', ...common, per, domain, of, limit, used, declared: max }
      }),
    )
    const windows = (declared.rates ?? []).flatMap(({ window, max, per }) =>
      domainsOf(per, policy, units, spec).map((domain): Limit => {
        const series = { policy: seriesName(name, window, per), window, per, domain }
        const used = rates.count(series)
        const freesInMs = used < max ? undefined : rates.freesIn(series, max)
        return {
          what: 'Rate',
          ...common,
          per,
          domain,
          of: window,
          limit: max,
          used,
          declared: max,
          ...defined({ freesInMs }),
        }
      }),
    )
    return [...budgets, ...windows, ...floorsOf(policy, levels)]
  })
}

/** The limit is the number of machines that the floor allows to be unavailable. */
function floorsOf(policy: CompiledPolicy, levels: Levels): readonly Limit[] {
  const { healthFloor, mode } = policy.spec
  if (healthFloor === undefined) return []
  const members = levels.members(policy, 'machines')
  const used = levels.set(policy, 'unavailable', 'cluster', 'machines', '').size
  return [
    {
      what: 'HealthFloor',
      policy: policy.name,
      mode,
      per: 'cluster',
      domain: '',
      of: 'unavailable',
      limit: Math.max(0, members.total - floorLimit(healthFloor, members)),
      used,
      declared: healthFloor,
    },
  ]
}

/** Domains of one budget; more are counted but not listed. */
const MOST_DOMAINS = 200

function domainsOf(
  per: Parameters<typeof domainOf>[0],
  policy: CompiledPolicy,
  units: readonly Unit[],
  spec: DefenderLedger['spec'] | undefined,
): readonly string[] {
  if (per === 'cluster') return ['']
  const components = per === 'component' ? (spec?.grants ?? []).flatMap((g) => g.component ?? []) : [undefined]
  const found = new Set<string>()
  for (const unit of units)
    if (policy.selects(unit))
      for (const component of components) {
        const domain = domainOf(per, unit, component)
        if (domain !== undefined) found.add(domain)
        if (found.size >= MOST_DOMAINS) return [...found].toSorted()
      }
  return [...found].toSorted()
}
