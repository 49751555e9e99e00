// Runs the cases beside every rule of the library: each rule compiles, fires and does not fire, and each of its leaves decides in some case.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type NodeRemedierInput, nodeRemedier } from '#api/kinds/node-remedier.ts'
import type { RuleCase } from '#api/rule-case.ts'
import { createValidator } from '#api/validate.ts'
import { compileRule } from '#policy/compile-rule.ts'
import { evaluate } from '#policy/evaluate.ts'
import { type Explanation, type LeafExplanation, explainTerm } from '#policy/explanation.ts'
import { nodeFacts, nodeVocabulary } from '#policy/node-vocabulary.ts'
import type { CompiledRule } from '#policy/rule.ts'
import { createRuleset } from '#policy/ruleset.ts'
import { type Verdict, conjunction, disjunction, negate } from '#policy/verdict.ts'

const ROOT = join(import.meta.dirname, '../../rules')
const NOW = Date.parse('2026-01-31T12:00:00Z')
const VERDICTS = { fires: 'true', 'does not fire': 'false', unknown: 'unknown' } as const
/** Policies of the Defender are no rules over facts. */
const NO_RULES = 'defender/'

interface CaseFile {
  readonly rule: NodeRemedierInput['spec']
  readonly cases: readonly RuleCase[]
}

const files = readdirSync(ROOT, { recursive: true, encoding: 'utf8' }).filter((f) => f.endsWith('.ts'))
const caseFiles = files.filter((f) => f.endsWith('.cases.ts')).toSorted()
const loaded = await Promise.all(
  caseFiles.map(async (f) => [f.replace('.cases.ts', ''), (await import(join(ROOT, f))) as CaseFile] as const),
)

const nodeOf = ({ conditions, labels = {}, taints = [], unschedulable = false }: RuleCase) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'node', labels },
  spec: { unschedulable, taints: taints.map((key) => ({ key, effect: 'NoSchedule' })) },
  status: conditions === undefined ? {} : { conditions },
})

const leavesOf = (e: Explanation): readonly LeafExplanation[] =>
  e.kind === 'leaf' ? [e] : e.children.flatMap(leavesOf)

/** The verdict of the tree if this one leaf were the other way round. */
function verdictWithout(e: Explanation, pointer: string): Verdict {
  if (e.kind === 'leaf') return e.pointer === pointer ? negate(e.verdict) : e.verdict
  const verdicts = e.children.map((c) => verdictWithout(c, pointer))
  if (e.kind === 'not') return negate(verdicts[0] ?? 'unknown')
  return e.kind === 'all' ? conjunction(verdicts) : disjunction(verdicts)
}

function compiledOf(name: string, { rule }: CaseFile): CompiledRule {
  const compiled = compileRule(name, rule.when, nodeVocabulary())
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.problems))
  return compiled.rule
}

test('every rule has cases beside it', () => {
  const rules = files
    .filter((f) => !f.endsWith('.cases.ts') && !f.startsWith(NO_RULES))
    .map((f) => f.replace('.ts', ''))
  expect(loaded.map(([name]) => name)).toEqual(rules.toSorted())
})

describe.each(loaded)('%s', (name, file) => {
  const explained = () => file.cases.map((c) => explainTerm(compiledOf(name, file).root, nodeFacts(nodeOf(c)), NOW))

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
    const evaluation = await evaluate(createRuleset([compiledOf(name, file)]), nodeFacts(nodeOf(c)), NOW)
    expect(evaluation.verdict(name)).toBe(VERDICTS[c.verdict])
    expect(evaluation.fired).toEqual(c.verdict === 'fires' ? [name] : [])
  })

  test('has a case in which it fires and one in which it does not', () => {
    const verdicts = file.cases.map((c) => c.verdict)
    expect(verdicts).toContain('fires')
    expect(verdicts).toContain('does not fire')
  })

  test('each of its leaves decides alone in some case, and is both true and false in some', () => {
    const trees = explained()
    for (const { pointer } of trees.slice(0, 1).flatMap(leavesOf)) {
      const seen = trees.flatMap((t) => leavesOf(t).filter((l) => l.pointer === pointer)).map((l) => l.verdict)
      const decides = trees.some((t) => verdictWithout(t, pointer) !== t.verdict)
      expect({ pointer, isTrue: seen.includes('true'), isFalse: seen.includes('false'), decides }).toEqual({
        pointer,
        isTrue: true,
        isFalse: true,
        decides: true,
      })
    }
  })

  test('waits longer than nothing before it calls a repair good', () => {
    for (const rung of file.rule.ladder) expect(rung.verify?.stableFor).not.toBe('0s')
  })
})
