import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compileRule } from '#policy/compile-rule.ts'
import { explainTerm } from '#policy/explanation.ts'
import { nodeFacts, nodeVocabulary } from '#policy/node-vocabulary.ts'
import { judge } from './since.ts'

const NOW = Date.parse('2026-05-01T12:00:00Z')
const at = (minutesAgo: number) => new Date(NOW - minutesAgo * 60_000).toISOString()
const is = (type: string, value = 'True') => ({ fact: 'conditions', path: `/${type}/status`, operator: 'equal', value })

const facts = (conditions: Readonly<Record<string, readonly [status: string, minutesAgo: number]>>, labels = {}) =>
  nodeFacts({
    metadata: { labels },
    status: {
      conditions: Object.entries(conditions).map(([type, [status, ago]]) => ({
        type,
        status,
        lastTransitionTime: at(ago),
      })),
    },
  })

function judged(when: object, seen: ReturnType<typeof facts>) {
  const compiled = compileRule('r', when, nodeVocabulary())
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.problems))
  const { verdict, since, isDated } = judge(compiled.rule.root, seen, NOW)
  return [verdict, since === undefined ? undefined : (NOW - since) / 60_000, isDated] as const
}

describe('since when', () => {
  const AB = { A: ['True', 9], B: ['True', 4] } as const
  const rows = [
    ['one condition', { all: [is('A')] }, facts({ A: ['True', 9] }), ['true', 9, true]],
    ['all: since the last of them', { all: [is('A'), is('B')] }, facts(AB), ['true', 4, true]],
    ['any: since the first of them', { any: [is('A'), is('B')] }, facts(AB), ['true', 9, true]],
    [
      'any: only those that are true count',
      { any: [is('A'), is('B')] },
      facts({ A: ['False', 9], B: ['True', 4] }),
      ['true', 4, true],
    ],
    [
      'not all: since one of them went',
      { all: [is('A'), is('B')] },
      facts({ A: ['False', 9], B: ['False', 4] }),
      ['false', 9, true],
    ],
    [
      'not any: since the last of them went',
      { any: [is('A'), is('B')] },
      facts({ A: ['False', 9], B: ['False', 4] }),
      ['false', 4, true],
    ],
    ['not: what is inside', { not: is('A') }, facts({ A: ['False', 7] }), ['true', 7, true]],
    [
      'a label carries no time',
      { all: [is('A'), { fact: 'labels', path: '/x', operator: 'equal', value: 'y' }] },
      facts({ A: ['True', 9] }, { x: 'y' }),
      ['true', 9, false],
    ],
    ['a time in the future says nothing', { all: [is('A')] }, facts({ A: ['True', -3] }), ['true', undefined, false]],
    ['unknown has no time', { all: [is('A'), is('C')] }, facts({ A: ['True', 9] }), ['unknown', undefined, false]],
  ] as const
  test.each(rows)('%s', (_, when, seen, expected) => expect(judged(when, seen)).toEqual(expected))

  test('the verdict is always that of the rule engine', () => {
    const status = fc.tuple(fc.constantFrom('True', 'False', 'Unknown'), fc.integer({ min: -2, max: 30 }))
    const leaf = fc.constantFrom(is('A'), is('B'), is('A', 'False'), is('C'))
    const tree = fc.oneof(
      fc.array(leaf, { minLength: 1, maxLength: 3 }).map((all) => ({ all })),
      fc.array(leaf, { minLength: 1, maxLength: 3 }).map((any) => ({ any })),
      leaf.map((not) => ({ not })),
    )
    fc.assert(
      fc.property(tree, tree, fc.record({ A: status, B: status }), (one, two, conditions) => {
        const compiled = compileRule('r', { any: [one, { all: [two] }] }, nodeVocabulary())
        if (!compiled.ok) return
        const seen = facts(conditions)
        const { verdict, since } = judge(compiled.rule.root, seen, NOW)
        expect(verdict).toBe(explainTerm(compiled.rule.root, seen, NOW).verdict)
        expect(since ?? NOW).toBeLessThanOrEqual(NOW)
      }),
    )
  })
})
