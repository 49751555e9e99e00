import fc from 'fast-check'
import { expect, test } from 'vitest'
import { wantedBytes } from './byte-range.ts'

test.each([
  ['bytes=0-4', { kind: 'Part', from: 0, to: 4 }],
  ['bytes=5-', { kind: 'Part', from: 5, to: 9 }],
  ['bytes=-3', { kind: 'Part', from: 7, to: 9 }],
  ['bytes=-30', { kind: 'Part', from: 0, to: 9 }],
  ['bytes=8-100', { kind: 'Part', from: 8, to: 9 }],
  ['bytes=10-', { kind: 'Unsatisfiable' }],
  ['bytes=-0', { kind: 'Unsatisfiable' }],
  ['bytes=5-2', { kind: 'Whole' }],
  ['bytes=0-1,4-5', { kind: 'Whole' }],
  ['bytes=-', { kind: 'Whole' }],
  ['lines=0-1', { kind: 'Whole' }],
  ['bytes=0x1-2', { kind: 'Whole' }],
  [undefined, { kind: 'Whole' }],
])('range %s of ten bytes', (range, wanted) => {
  expect(wantedBytes(range, 10)).toEqual(wanted)
})

test('a part lies in the file, whatever is asked', () => {
  const number = fc.oneof(fc.constant(''), fc.nat().map(String))
  fc.assert(
    fc.property(number, number, fc.nat(1_000), (a, b, size) => {
      const wanted = wantedBytes(`bytes=${a}-${b}`, size)
      if (wanted.kind !== 'Part') return
      expect(wanted.from).toBeGreaterThanOrEqual(0)
      expect(wanted.from).toBeLessThanOrEqual(wanted.to)
      expect(wanted.to).toBeLessThan(size)
    }),
  )
})
