import { describe, expect, test } from 'vitest'
import { Refusal } from '../status/refusal.ts'
import { parseLabelSelector, selectorMatcher, selectorText } from './label-selector.ts'

const SETS = { x: { t: 'x', e: 'dev' }, y: { t: 'y' }, empty: { t: '' }, none: undefined, number: { n: '5' } } as const
const matched = (text: string) => {
  const matcher = parseLabelSelector(text)
  return Object.entries(SETS)
    .filter(([, labels]) => matcher === undefined || matcher(labels))
    .map(([name]) => name)
}

describe('label selectors of queries', () => {
  test.each([
    ['', ['x', 'y', 'empty', 'none', 'number']],
    ['t=x', ['x']],
    ['t==x', ['x']],
    ['t!=x', ['y', 'empty', 'none', 'number']],
    ['t=', ['empty']],
    ['t', ['x', 'y', 'empty']],
    ['!t', ['none', 'number']],
    ['t in (x, y)', ['x', 'y']],
    ['t notin (x,y)', ['empty', 'none', 'number']],
    ['t in (x,)', ['x', 'empty']],
    ['t=x,e=dev', ['x']],
    ['t=x , e!=dev', []],
    ['n>4', ['number']],
    ['n<5', []],
  ])('%j', (text, want) => expect(matched(text)).toEqual(want))

  test.each(['t=x,', '=x', 't in x', 't in (x', 't=a b', '!', 't>x', 'a/b/c=d', 't=-'])('%j is refused', (text) =>
    expect(() => parseLabelSelector(text)).toThrow(Refusal),
  )
})

describe('label selectors of specs', () => {
  const selector = {
    matchLabels: { t: 'x' },
    matchExpressions: [
      { key: 'e', operator: 'In', values: ['dev', 'prod'] },
      { key: 'gone', operator: 'DoesNotExist' },
    ],
  }

  test('all parts must hold', () => {
    expect(selectorMatcher(selector)({ t: 'x', e: 'dev' })).toBe(true)
    expect(selectorMatcher(selector)({ t: 'x', e: 'dev', gone: '' })).toBe(false)
  })
  test('none selects nothing, an empty one everything', () => {
    expect(selectorMatcher(undefined)({})).toBe(false)
    expect(selectorMatcher({})(undefined)).toBe(true)
  })
  test('the text form is what queries take', () => expect(selectorText(selector)).toBe('e in (dev,prod),!gone,t=x'))
})
