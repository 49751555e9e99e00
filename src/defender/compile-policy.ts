// A DefenderPolicy as the gates use it: selectors parsed, windows and rules compiled. A policy that cannot be parsed blocks everything it applies to.
import type { DefenderPolicy, DefenderPolicySpec } from '#api/kinds/defender-policy.ts'
import type { Disruption } from '#api/kinds/operation-permit.ts'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import { matchesSelector, selectorOf } from '#kube/selector.ts'
import type { Edit } from '#declared/committed.ts'
import { clusterVocabulary } from '#policy/cluster-vocabulary.ts'
import { compileRule } from '#policy/compile-rule.ts'
import { describeProblem } from '#policy/problem.ts'
import { createRuleset, type Ruleset } from '#policy/ruleset.ts'
import { BUILTIN_POLICY, BUILTIN_POLICY_NAME } from './builtin-policy.ts'

import type { Unit } from './unit.ts'
import { compileBlackout, compileWindow, openingOf, type OpenUntil } from '#permits/windows.ts'

interface Protection {
  readonly reason: string
  matches(unit: Unit): boolean
}

export interface CompiledPolicy {
  readonly name: string
  readonly spec: DefenderPolicySpec
  /** The generation of the object with this spec. Undefined if its spec has changed since. */
  readonly generation?: number
  /** Why it cannot be parsed. The gates refuse in that case. */
  readonly broken?: string
  /** Its spec was edited. This is git's version, unless a hold allows the edit. */
  readonly edit?: Edit
  readonly protections: readonly Protection[]
  readonly windows: readonly OpenUntil[]
  /** When the next window opens. Undefined if none ever does. */
  readonly nextWindow: (now: number) => number | undefined
  readonly blackouts: readonly OpenUntil[]
  readonly rules: Ruleset | undefined
  decides(operations: readonly Disruption[]): boolean
  selects(unit: Unit): boolean
}

export const builtinPolicy: CompiledPolicy = understood(BUILTIN_POLICY_NAME, BUILTIN_POLICY)

export function compilePolicy({ metadata, spec }: DefenderPolicy): CompiledPolicy {
  const { name = '', generation } = metadata
  try {
    return { ...understood(name, spec), ...defined({ generation }) }
  } catch (e) {
    return brokenPolicy(name, spec, messageOf(e))
  }
}

/** An invalid policy might protect any machine, so it blocks everything. */
export function brokenPolicy(name: string, spec: DefenderPolicySpec, broken: string): CompiledPolicy {
  const none = { protections: [], windows: [], nextWindow: () => undefined, blackouts: [], rules: undefined }
  return { name, spec, broken, ...none, decides: () => true, selects: () => true }
}

function understood(name: string, spec: DefenderPolicySpec): CompiledPolicy {
  const { operations, selector, protect = [], windows = [], blackouts = [], rules = [] } = spec
  const requirements = selector === undefined ? undefined : selectorOf(selector)
  return {
    name,
    spec,
    protections: protect.map(compileProtection),
    windows: windows.map(compileWindow),
    nextWindow: (now) => openingOf(windows, now).nextAt,
    blackouts: blackouts.map(compileBlackout),
    rules: rules.length === 0 ? undefined : compileRules(rules),
    decides: (asked) => operations === undefined || asked.some((o) => operations.includes(o)),
    selects: (unit) => requirements === undefined || matchesSelector(requirements, unit.labels),
  }
}

function compileProtection({ name, selector, reason }: NonNullable<DefenderPolicySpec['protect']>[number]): Protection {
  const requirements = selector === undefined ? undefined : selectorOf(selector)
  return {
    reason: reason ?? (name === undefined ? 'protected by its labels' : `${name} is protected`),
    matches: (unit) =>
      (name !== undefined && (unit.name === name || unit.nodeName === name)) ||
      (requirements !== undefined && matchesSelector(requirements, unit.labels)),
  }
}

function compileRules(rules: NonNullable<DefenderPolicySpec['rules']>): Ruleset {
  return createRuleset(
    rules.map(({ name, when }) => {
      const compiled = compileRule(name, when, clusterVocabulary)
      if (compiled.ok) return compiled.rule
      const first = compiled.problems.slice(0, 1).map(describeProblem).join('')
      throw new Error(`rule ${name}: ${first}`)
    }),
  )
}
