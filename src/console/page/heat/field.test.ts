import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LABEL_HEIGHT, cellAt, fieldOf, moved, placesOf } from './field.ts'

const groupsOf = (sizes: readonly number[]) => {
  let id = 0
  return sizes.map((size, i) => ({ title: `rack-${i}`, cells: Array.from({ length: size }, () => id++) }))
}

const sizes = fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 60 })
const widths = fc.integer({ min: 300, max: 1600 })

test('the middle of each cell leads back to its machine, and no two cells overlap', () => {
  fc.assert(
    fc.property(sizes, widths, (sizes, width) => {
      const field = fieldOf(groupsOf(sizes), width)
      const places = placesOf(field)
      expect(places.size).toBe(sizes.reduce((a, b) => a + b, 0))
      for (const [id, { x, y }] of places) {
        expect(cellAt(field, x + field.size / 2, y + field.size / 2)).toBe(id)
        expect(x + field.size).toBeLessThanOrEqual(width)
      }
    }),
    { numRuns: 30 },
  )
})

test('10,000 machines fit on one screen', () => {
  const field = fieldOf(groupsOf(Array.from({ length: 400 }, () => 25)), 1030)
  // Many small groups need titles: two screens.
  expect(field.height).toBeLessThanOrEqual(1800)
  expect(fieldOf(groupsOf([3400, 3300, 3300]), 1030).height).toBeLessThanOrEqual(560)
})

test('the arrow keys reach every machine, and stay at the edges', () => {
  const field = fieldOf(groupsOf([5, 1, 30]), 400)
  const seen = new Set<number>()
  for (let id = moved(field, undefined, 'first'); id !== undefined && !seen.has(id); id = moved(field, id, 'right'))
    seen.add(id)
  expect(seen.size).toBe(36)
  expect(moved(field, 0, 'left')).toBe(0)
  expect(moved(field, 0, 'nextGroup')).toBe(5)
  expect(moved(field, 5, 'previousGroup')).toBe(0)
  expect(moved(field, 6, 'last')).toBe(35)
})

test('the title of a group is no machine', () => {
  expect(cellAt(fieldOf(groupsOf([4, 4]), 400), 3, LABEL_HEIGHT - 2)).toBeUndefined()
})
