// What makes a change look better than it is: a rule that can never be true, a fault that is repaired no longer, and rules whose repairs are not counted. Pure.
import { canBeTrue } from '#declared/unset-conditions.ts'
import { didYouMean } from '#lib/did-you-mean.ts'
import type { ActiveRule } from '#nodes/faults/active-rule.ts'
import { readByRules } from './rule-set.ts'
import { SIDES, type Side, isSameRule } from './verdicts.ts'

export interface Doubts {
  /** Rules of which the other side has no same one, and that are true of no node of this history whatever happens: no node reported these conditions. */
  readonly unreported: readonly {
    readonly side: Side
    readonly rule: string
    readonly types: readonly { readonly type: string; readonly meant?: string }[]
  }[]
  /** Rules whose faults the base repairs and the change never does. */
  readonly dropped: readonly { readonly rule: string; readonly repairs: number }[]
  /** Rules that ask for no repair, or for none that counts. */
  readonly uncounted: readonly { readonly side: Side; readonly rule: string; readonly mode: 'DryRun' | 'Shadow' }[]
}

interface Repaired {
  readonly rule: string
  readonly base: { readonly jobs: number }
  readonly change: { readonly jobs: number }
}

export interface Doubtful {
  readonly active: Readonly<Record<Side, readonly ActiveRule[]>>
  readonly rules: readonly Repaired[]
  /** Conditions that nodes of the history reported. */
  readonly reported: ReadonlySet<string>
  readonly isSameFault: (a: string, b: string) => boolean
}

export function doubtsOf({ active, rules, reported, isSameFault }: Doubtful): Doubts {
  const has = (type: string) => reported.has(type)
  const repairedBy = (rule: string) => (other: Repaired) => other.rule === rule || isSameFault(other.rule, rule)
  return {
    unreported: SIDES.flatMap((side) => {
      const others = active[side === 'base' ? 'change' : 'base']
      return active[side]
        .filter((a) => !others.some((b) => isSameRule(a, b)) && !canBeTrue(a.rule.root, has))
        .map(({ name, rule }) => {
          const missing = [...(readByRules([rule]).types ?? [])].filter((type) => !has(type))
          return { side, rule: name, types: missing.map((type) => withMeant(type, reported)) }
        })
        .filter(({ types }) => types.length > 0)
    }),
    dropped: rules
      .filter(({ rule, base }) => base.jobs > 0 && rules.filter(repairedBy(rule)).every((r) => r.change.jobs === 0))
      .map(({ rule, base }) => ({ rule, repairs: base.jobs })),
    uncounted: SIDES.flatMap((side) =>
      active[side].flatMap(({ name, spec: { mode } }) => (mode === 'Enforce' ? [] : [{ side, rule: name, mode }])),
    ),
  }
}

function withMeant(type: string, reported: ReadonlySet<string>): { readonly type: string; readonly meant?: string } {
  const meant = didYouMean(type, reported)
  return meant === undefined ? { type } : { type, meant }
}
