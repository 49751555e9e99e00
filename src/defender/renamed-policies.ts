// What a policy has permitted outlives its name: one that is declared again under another name begins with the rates and the breaker of the one before.
// Otherwise a commit that renames a policy would open its whole allowance again, and close its breaker.
import { builtinPolicy, type CompiledPolicy } from './compile-policy.ts'
import type { BreakerEntry } from './breaker.ts'
import type { WorkingLedger } from './ledger.ts'
import { isPolicyName, policyOf, seriesName } from './rates.ts'

type Counts = Pick<WorkingLedger, 'rates' | 'breaker' | 'inheritBreaker' | 'breakers' | 'inheritRate'>

/**
 * From policies that decide the same operations on the same targets: they count the same grants, and differ only where one is younger. And, for a policy that has
 * counted nothing yet, from deleted ones: nothing says any more what they selected, so their counts are taken for its own until they leave their windows.
 */
export function inheritCounts(ledger: Counts, policies: readonly CompiledPolicy[]): void {
  const all = [...policies, builtinPolicy]
  const names = new Set(all.map((p) => p.name))
  const counted = new Set(ledger.rates.policies().map(policyOf))
  const known = new Set([...counted, ...ledger.breakers().map((b) => b.policy)])
  const gone = new Set([...known].filter((name) => !names.has(name) && isPolicyName(name)))
  for (const policy of all) {
    const isNew = !counted.has(policy.name) && ledger.breaker(policy.name) === undefined
    const alike = policies.filter((p) => p !== policy && isAlike(p, policy)).map((p) => p.name)
    const sources = isNew ? [...alike, ...gone] : alike
    for (const { window, per } of policy.spec.rates ?? [])
      for (const source of sources)
        ledger.inheritRate(seriesName(source, window, per), seriesName(policy.name, window, per), gone.has(source))
    const worst = isNew ? worstOf(sources.flatMap((name) => ledger.breaker(name) ?? [])) : undefined
    if (worst !== undefined && policy.spec.breaker !== undefined) ledger.inheritBreaker(worst, policy.name)
  }
}

/** The built-in policy decides what others do not, so that it is like none. */
function isAlike(a: CompiledPolicy, b: CompiledPolicy): boolean {
  if (b === builtinPolicy || a.broken !== undefined || b.broken !== undefined) return false
  return selectionOf(a) === selectionOf(b)
}

const selectionOf = ({ spec: { operations, selector = {} } }: CompiledPolicy): string =>
  JSON.stringify([
    operations?.toSorted(),
    Object.entries(selector.matchLabels ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1)),
    selector.matchExpressions ?? [],
  ])

const ORDER: Readonly<Record<BreakerEntry['state'], number>> = { Closed: 0, HalfOpen: 1, Open: 2 }

const worstOf = (entries: readonly BreakerEntry[]): BreakerEntry | undefined =>
  entries.toSorted((a, b) => ORDER[b.state] - ORDER[a.state] || b.failures - a.failures)[0]
