import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DeadlineHeap } from './deadlines.ts'

test('whatever is pushed comes out by time, and what is due at once in the order of its coming', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(20), { maxLength: 60 }), (times) => {
      const heap = new DeadlineHeap<number>()
      for (const [i, at] of times.entries()) heap.push(i, at)
      const popped: [number, number][] = []
      for (let top = heap.pop(); top !== undefined; top = heap.pop()) popped.push([top.dueAt, top.key])
      expect(popped).toEqual(times.map((at, i) => [at, i]).toSorted(([a = 0, i = 0], [b = 0, j = 0]) => a - b || i - j))
    }),
  )
})
