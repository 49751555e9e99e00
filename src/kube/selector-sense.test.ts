import fc from 'fast-check'
import { expect, test } from 'vitest'
import { matchesSelector, selectorOf, type Selector } from './selector.ts'
import { neverMatches } from './selector-sense.ts'

test.each([
  ['two values', { matchLabels: { a: 'x' }, matchExpressions: [{ key: 'a', operator: 'In', values: ['y'] }] }],
  [
    'a value that is refused',
    { matchLabels: { a: 'x' }, matchExpressions: [{ key: 'a', operator: 'NotIn', values: ['x'] }] },
  ],
  ['there and not there', { matchLabels: { a: 'x' }, matchExpressions: [{ key: 'a', operator: 'DoesNotExist' }] }],
])('no labels can match: %s', (_, selector) => {
  expect(neverMatches(selectorOf(selector))).toContain('label a')
})

test('property: what is said never to match matches no labels', () => {
  const values = fc.subarray(['x', 'y', 'z'], { minLength: 1 })
  const requirement = fc.oneof(
    fc.record({ key: fc.constantFrom('a', 'b'), operator: fc.constantFrom('In' as const, 'NotIn' as const), values }),
    fc.record({
      key: fc.constantFrom('a', 'b'),
      operator: fc.constantFrom('Exists' as const, 'DoesNotExist' as const),
      values: fc.constant([]),
    }),
  )
  const some = [undefined, 'x', 'y', 'z', 'other']
  const labels = some.flatMap((a) => some.map((b) => ({ ...(a && { a }), ...(b && { b }) })))
  fc.assert(
    fc.property(fc.array(requirement, { maxLength: 5 }), (selector: Selector) => {
      const isMatched = labels.some((l) => matchesSelector(selector, l))
      expect(neverMatches(selector) === undefined).toBe(isMatched)
    }),
  )
})
