import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { factSets, RULE_NOW, ruleDefinitions, SMALL_VOCABULARY } from '#test/support/fuzzing/arbitrary-rules.ts'
import { compileRule } from './compile-rule.ts'
import { evaluate } from './evaluate.ts'
import type { Explanation } from './explanation.ts'
import { createRuleset } from './ruleset.ts'
import type { CompiledRule } from './rule.ts'

const compile = (definition: unknown, i = 0): CompiledRule => {
  const result = compileRule(`r${i}`, definition, SMALL_VOCABULARY)
  if (!result.ok) throw new Error(JSON.stringify(result.problems))
  return result.rule
}

const ruleLists = fc.array(ruleDefinitions, { minLength: 1, maxLength: 8 })

describe('asking the rules', () => {
  it('through the index gives what asking every rule gives', async () => {
    let [narrowed, fired] = [0, 0]
    await fc.assert(
      fc.asyncProperty(ruleLists, fc.array(factSets, { minLength: 1, maxLength: 4 }), async (definitions, worlds) => {
        const rules = definitions.map(compile)
        const [indexed, plain] = [createRuleset(rules), createRuleset(rules, { indexed: false })]
        for (const facts of worlds) {
          const [a, b] = [await evaluate(indexed, facts, RULE_NOW), await evaluate(plain, facts, RULE_NOW)]
          expect(a.fired).toEqual(b.fired)
          if (a.asked < b.asked) narrowed++
          fired += b.fired.length
        }
      }),
      { numRuns: 300 },
    )
    // The property proves nothing if no rule fires or the index excludes none.
    expect([narrowed > 50, fired > 50]).toEqual([true, true])
  })

  it('fires exactly the rules whose explanation is true', async () => {
    await fc.assert(
      fc.asyncProperty(ruleLists, factSets, async (definitions, facts) => {
        const rules = definitions.map(compile)
        const evaluation = await evaluate(createRuleset(rules), facts, RULE_NOW)
        const explained = rules.filter((r) => evaluation.explain(r.name)?.verdict === 'true').map((r) => r.name)
        expect(evaluation.fired).toEqual(explained)
      }),
      { numRuns: 300 },
    )
  })

  it('never fires a rule and its negation, and neither when nothing was observed', async () => {
    await fc.assert(
      fc.asyncProperty(ruleDefinitions, factSets, async (definition, facts) => {
        const set = createRuleset([compile(definition, 0), compile({ not: definition }, 1)])
        expect((await evaluate(set, facts, RULE_NOW)).fired.length).toBeLessThan(2)
        expect((await evaluate(set, {}, RULE_NOW)).fired).toEqual([])
      }),
      { numRuns: 200 },
    )
  })

  it('never changes its mind about a rule when more is observed', async () => {
    const names = Object.keys(SMALL_VOCABULARY.facts)
    let decided = 0
    await fc.assert(
      fc.asyncProperty(
        ruleDefinitions,
        factSets,
        fc.subarray(names, { minLength: 1 }),
        async (definition, facts, hidden) => {
          const set = createRuleset([compile(definition)])
          const less = Object.fromEntries(Object.entries(facts).filter(([k]) => !hidden.includes(k)))
          const [before, after] = [await evaluate(set, less, RULE_NOW), await evaluate(set, facts, RULE_NOW)]
          const verdict = before.verdict('r0')
          if (verdict === 'unknown') return
          decided++
          expect(after.verdict('r0')).toBe(verdict)
        },
      ),
      { numRuns: 300 },
    )
    expect(decided).toBeGreaterThan(20)
  })

  it('gives each leaf of the tree a verdict, and the tree the one that follows from them', async () => {
    await fc.assert(
      fc.asyncProperty(ruleDefinitions, factSets, async (definition, facts) => {
        const rule = compile(definition)
        const explanation = (await evaluate(createRuleset([rule]), facts, RULE_NOW)).explain('r0')
        expect(explanation && leavesOf(explanation)).toBe(rule.leafCount)
        expect(explanation && possible(explanation)).toContain(explanation?.verdict === 'true')
        if (explanation?.verdict !== 'unknown') expect(explanation && possible(explanation).length).toBe(1)
      }),
      { numRuns: 200 },
    )
  })
})

const leavesOf = (e: Explanation): number =>
  e.kind === 'leaf' ? 1 : e.children.reduce((n, child) => n + leavesOf(child), 0)

/** Results of two-valued logic for the tree, with each unknown leaf being either: Kleene's result is exact, or unknown. */
function possible(e: Explanation): readonly boolean[] {
  if (e.kind === 'leaf') return e.verdict === 'unknown' ? [true, false] : [e.verdict === 'true']
  const each = e.children.map(possible)
  const [canAll, canAny] = [each.every((p) => p.includes(true)), each.some((p) => p.includes(true))]
  const [mustAll, mustAny] = [each.every((p) => !p.includes(false)), each.some((p) => !p.includes(false))]
  const outcomes = (can: boolean, must: boolean) => [...(can ? [true] : []), ...(must ? [] : [false])]
  if (e.kind === 'all') return outcomes(canAll, mustAll)
  if (e.kind === 'any') return outcomes(canAny, mustAny)
  return (each[0] ?? []).map((b) => !b)
}
