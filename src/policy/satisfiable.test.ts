import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compileRule } from './compile-rule.ts'
import { explainTerm } from './explanation.ts'
import { nodeVocabulary } from './node-vocabulary.ts'
import { neverTrue } from './satisfiable.ts'

const vocabulary = nodeVocabulary()
const NOW = Date.parse('2026-01-31T12:00:00Z')

function rootOf(when: unknown) {
  const compiled = compileRule('r', when, vocabulary)
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.problems))
  return compiled.rule.root
}
const status = (operator: string, value: unknown, type = 'X') => ({
  fact: 'conditions',
  path: `/${type}/status`,
  operator,
  value,
})
const phase = (operator: string, value: unknown) => ({ fact: 'machine', path: '/phase', operator, value })
const nodes = (operator: string, value: number) => ({ fact: 'cluster', path: '/nodes', operator, value })

test.each([
  ['two values at once', { all: [status('equal', 'True'), status('equal', 'False')] }],
  ['two values at once, deeper', { all: [status('equal', 'True'), { any: [status('in', ['False', 'Unknown'])] }] }],
  ['a value and not that value', { all: [status('equal', 'True'), { not: status('equal', 'True') }] }],
  ['a free text with two values', { all: [phase('equal', 'Ready'), phase('equal', 'Lost')] }],
  ['a text and a pattern that does not match it', { all: [phase('equal', 'Ready'), phase('startsWith', 'Lo')] }],
  ['none of all values', { all: [status('notEqual', 'True'), status('notEqual', 'False')] }],
  ['above and below', { all: [nodes('greaterThan', 5), nodes('lessThan', 5)] }],
  ['there and not there', { all: [status('equal', 'True'), { ...status('absent', true), value: undefined }] }],
  [
    'every way of an any',
    { all: [status('equal', 'True'), { any: [status('equal', 'False'), { not: status('in', ['True', 'Unknown']) }] }] },
  ],
  ['a negated tautology', { not: { any: [status('equal', 'True'), status('notEqual', 'True')] } }],
])('can never be true: %s', (_, when) => {
  const plain = JSON.parse(JSON.stringify(when)) as unknown
  expect(neverTrue(rootOf(plain), vocabulary)?.message).toMatch(/^can never be true: (conditions|machine|cluster)\//)
})

test('the message names the place and what is asked of it', () => {
  const root = rootOf({ all: [status('equal', 'True'), status('equal', 'False')] })
  expect(neverTrue(root, vocabulary)).toEqual({
    pointers: ['/all/0', '/all/1'],
    message: 'can never be true: conditions/X/status cannot be equal "True" and equal "False"',
  })
})

test.each([
  ['two conditions', { all: [status('equal', 'True'), status('equal', 'False', 'Y')] }],
  ['either of two', { any: [status('equal', 'True'), status('equal', 'False')] }],
  ['one way is left', { any: [{ all: [status('equal', 'True'), status('equal', 'False')] }, phase('equal', 'Lost')] }],
  ['a pattern and another', { all: [phase('startsWith', 'R'), phase('endsWith', 'y')] }],
  ['between', { all: [nodes('greaterThan', 5), nodes('lessThan', 6)] }],
  ['not this and not that', { all: [phase('notEqual', 'Ready'), phase('notEqual', 'Lost')] }],
  ['a status for a time', { all: [{ ...status('equal', 'True'), for: '5m' }, status('notEqual', 'False')] }],
  [
    'unknown, by its name',
    { all: [status('equal', 'Unknown'), status('notIn', ['True', 'Unknown', 'False'].slice(0, 1))] },
  ],
])('can be true, or is undecidable: %s', (name, when) => {
  const result = neverTrue(rootOf(when), vocabulary)
  // A status of Unknown is unknown to the second leaf, which does not mention it.
  if (name.startsWith('unknown')) expect(result).toBeDefined()
  else expect(result).toBeUndefined()
})

test('property: what is said never to be true is not true for any facts', () => {
  const leaf = fc.oneof(
    fc
      .record({ op: fc.constantFrom('equal', 'notEqual'), v: fc.constantFrom('True', 'False', 'Unknown') })
      .map(({ op, v }) => status(op, v)),
    fc
      .record({ op: fc.constantFrom('lessThan', 'greaterThan', 'equal'), v: fc.integer({ min: 0, max: 3 }) })
      .map(({ op, v }) => nodes(op, v)),
  )
  const tree = fc.letrec((tie) => ({
    term: fc.oneof(
      { depthSize: 'small' },
      leaf,
      fc.array(tie('term'), { minLength: 1, maxLength: 3 }).map((all) => ({ all })),
      fc.array(tie('term'), { minLength: 1, maxLength: 3 }).map((any) => ({ any })),
      tie('term').map((not) => ({ not })),
    ),
  })).term
  const facts = fc.record({
    conditions: fc.constantFrom(...['True', 'False', 'Unknown'].map((s) => ({ X: { status: s } })), {}),
    cluster: fc.integer({ min: -1, max: 4 }).map((n) => ({ nodes: n })),
  })
  let impossible = 0
  fc.assert(
    fc.property(tree, fc.array(facts, { minLength: 5, maxLength: 15 }), (when, all) => {
      const compiled = compileRule('r', { all: [when] }, vocabulary)
      if (!compiled.ok || neverTrue(compiled.rule.root, vocabulary) === undefined) return
      impossible++
      for (const f of all) expect(explainTerm(compiled.rule.root, f, NOW).verdict).not.toBe('true')
    }),
    { numRuns: 2_000 },
  )
  expect(impossible).toBeGreaterThan(20)
})
