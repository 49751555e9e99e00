// Runs the cases beside every rule of the library: each rule compiles, fires and does not fire, and each of its leaves decides in some case.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type NodeRemedierInput, nodeRemedier } from '#api/kinds/node-remedier.ts'
import type { RuleCase } from '#api/rule-case.ts'
import { createValidator } from '#api/validate.ts'
import { compileRule } from '#policy/compile-rule.ts'
import { evaluate } from '#policy/evaluate.ts'
import { nodeVocabulary } from '#policy/node-vocabulary.ts'
import { CASES_NOW, CASE_VERDICTS, caseFacts, caseProblems } from '#policy/rule-cases.ts'
import type { CompiledRule } from '#policy/rule.ts'
import { createRuleset } from '#policy/ruleset.ts'

const ROOT = join(import.meta.dirname, '../../rules')
/** Policies of the Defender and monitors of agents are no rules over facts. */
const NO_RULES = ['defender/', 'monitors/']

interface CaseFile {
  readonly rule: NodeRemedierInput['spec']
  readonly cases: readonly RuleCase[]
}

const files = readdirSync(ROOT, { recursive: true, encoding: 'utf8' }).filter((f) => f.endsWith('.ts'))
const caseFiles = files.filter((f) => f.endsWith('.cases.ts')).toSorted()
const loaded = await Promise.all(
  caseFiles.map(async (f) => [f.replace('.cases.ts', ''), (await import(join(ROOT, f))) as CaseFile] as const),
)

function compiledOf(name: string, { rule }: CaseFile): CompiledRule {
  const compiled = compileRule(name, rule.when, nodeVocabulary())
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.problems))
  return compiled.rule
}

test('every rule has cases beside it', () => {
  const rules = files
    .filter((f) => !f.endsWith('.cases.ts') && !NO_RULES.some((folder) => f.startsWith(folder)))
    .map((f) => f.replace('.ts', ''))
  expect(loaded.map(([name]) => name)).toEqual(rules.toSorted())
})

describe.each(loaded)('%s', (name, file) => {
  test('is a valid NodeRemedier that compiles', () => {
    const object = {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'NodeRemedier',
      metadata: { name: 'rule' },
      spec: file.rule,
    }
    expect(createValidator().problems(nodeRemedier, object)).toEqual([])
    expect(compiledOf(name, file).leafCount).toBeGreaterThan(0)
  })

  test.each(file.cases.map((c) => [c.name, c.verdict, c] as const))('%s: %s', async (_, __, c) => {
    const evaluation = await evaluate(createRuleset([compiledOf(name, file)]), caseFacts(c), CASES_NOW)
    expect(evaluation.verdict(name)).toBe(CASE_VERDICTS[c.verdict])
    expect(evaluation.fired).toEqual(c.verdict === 'fires' ? [name] : [])
  })

  test('fires in some case and not in another, and each of its leaves decides alone in some', () => {
    expect(caseProblems(compiledOf(name, file), file.cases)).toEqual([])
  })

  test('waits longer than nothing before it calls a repair good', () => {
    for (const rung of file.rule.ladder) expect(rung.verify?.stableFor).not.toBe('0s')
  })
})
