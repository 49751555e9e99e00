// Runs the cases beside every rule: each rule of this folder must fire in one and not fire in another.
import { readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { RuleCase } from '#api/rule-case.ts'
import { compileRule } from '#policy/compile-rule.ts'
import { evaluate } from '#policy/evaluate.ts'
import { nodeFacts, nodeVocabulary } from '#policy/node-vocabulary.ts'
import { createRuleset } from '#policy/ruleset.ts'
import { cases as kernelDeadlockCases } from './kernel-deadlock.cases.ts'
import { kernelDeadlock } from './kernel-deadlock.ts'
import { cases as unwellComponentCases } from './unwell-component.cases.ts'
import { unwellComponent } from './unwell-component.ts'

const RULES = [
  ['kernel-deadlock', kernelDeadlock.when, kernelDeadlockCases],
  ['unwell-component', unwellComponent('beacon').when, unwellComponentCases],
] as const

const NOW = Date.parse('2026-01-31T12:00:00Z')
const VERDICTS = { fires: 'true', 'does not fire': 'false', unknown: 'unknown' } as const

const nodeOf = ({ conditions, labels = {}, taints = [], unschedulable = false }: RuleCase) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'node', labels },
  spec: { unschedulable, taints: taints.map((key) => ({ key, effect: 'NoSchedule' })) },
  status: conditions === undefined ? {} : { conditions },
})

describe.each(RULES)('%s', (name, when, cases) => {
  const compiled = compileRule(name, when, nodeVocabulary())

  test('compiles', () => expect(compiled).toMatchObject({ ok: true }))

  test.each(cases.map((c) => [c.name, c.verdict, c] as const))('%s: %s', async (_, __, c) => {
    if (!compiled.ok) throw new Error('the rule does not compile')
    const evaluation = await evaluate(createRuleset([compiled.rule]), nodeFacts(nodeOf(c)), NOW)
    expect(evaluation.verdict(name)).toBe(VERDICTS[c.verdict])
  })

  test('has a case that fires and one that does not', () => {
    expect(new Set(cases.map((c) => c.verdict))).toEqual(
      new Set([...cases.map((c) => c.verdict), 'fires', 'does not fire']),
    )
  })
})

test('every file of cases is run', () => {
  const files = readdirSync(import.meta.dirname).filter((f) => f.endsWith('.cases.ts'))
  expect(files).toEqual(RULES.map(([name]) => `${name}.cases.ts`))
})
