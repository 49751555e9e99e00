import { describe, expect, it } from 'vitest'
import { compileRule } from './compile-rule.ts'
import { nodeVocabulary } from './node-vocabulary.ts'
import { indexRules } from './rule-index.ts'

const status = (type: string, value = 'True') => ({
  fact: 'conditions',
  path: `/${type}/status`,
  operator: 'equal',
  value,
})
const cordoned = { fact: 'unschedulable', operator: 'equal', value: true }
const X = { conditions: { X: { status: 'True' } } }
const Y = { conditions: { Y: { status: 'True' } } }
const none = { conditions: { X: { status: 'False' }, Y: { status: 'False' } } }

const indexOf = (...definitions: readonly unknown[]) =>
  indexRules(
    definitions.map((definition, i) => {
      const result = compileRule(`r${i}`, definition, nodeVocabulary())
      if (!result.ok) throw new Error(JSON.stringify(result.problems))
      return result.rule
    }),
  )

describe('the index asks a rule only where it could be true', () => {
  const cases: readonly (readonly [
    string,
    unknown,
    { readonly x: boolean; readonly y: boolean; readonly none: boolean },
  ])[] = [
    ['an equality', { all: [status('X')] }, { x: true, y: false, none: false }],
    [
      'one of several values',
      { all: [{ ...status('X'), operator: 'in', value: ['True', 'Unknown'] }] },
      { x: true, y: false, none: false },
    ],
    [
      'an equality that must hold for a while',
      { all: [{ ...status('X'), for: '1h' }] },
      { x: true, y: false, none: false },
    ],
    ['any of two equalities', { any: [status('X'), status('Y')] }, { x: true, y: true, none: false }],
    [
      'an equality and something that no index knows',
      { all: [status('X'), { fact: 'name', operator: 'exists' }] },
      { x: true, y: false, none: false },
    ],
    ['not of an inequality', { not: { ...status('X'), operator: 'notEqual' } }, { x: true, y: false, none: false }],
    [
      'the not: decorator over an inequality',
      { all: [{ ...status('X'), operator: 'not:notEqual' }] },
      { x: true, y: false, none: false },
    ],
    ['not of not', { not: { not: status('X') } }, { x: true, y: false, none: false }],
    [
      'not of any of inequalities',
      { not: { any: [{ ...status('X'), operator: 'notIn', value: ['True'] }, cordoned] } },
      { x: true, y: false, none: false },
    ],
    ['an inequality', { all: [{ ...status('X'), operator: 'notEqual' }] }, { x: true, y: true, none: true }],
    [
      'any of an equality and an inequality',
      { any: [status('X'), { ...status('Y'), operator: 'notEqual' }] },
      { x: true, y: true, none: true },
    ],
    ['not of an equality', { not: status('X') }, { x: true, y: true, none: true }],
  ]
  it.each(cases)('%s', (_name, definition, expected) => {
    const index = indexOf(definition)
    const asked = (facts: object) => index.candidates(facts as Record<string, unknown>).length === 1
    expect({ x: asked(X), y: asked(Y), none: asked(none) }).toEqual(expected)
  })

  it('by the value that the fewest rules share', () => {
    const rules = ['X', 'Y', 'Z'].map((type) => ({ all: [cordoned, status(type)] }))
    expect(indexOf(...rules).candidates({ ...X, unschedulable: true })).toEqual([0])
  })

  it('and always those without a necessary value, in the order of the set', () => {
    const index = indexOf({ not: status('X') }, { all: [status('X')] }, { not: cordoned })
    expect([index.always, index.candidates(X), index.candidates(none)]).toEqual([2, [0, 1, 2], [0, 2]])
  })
})
