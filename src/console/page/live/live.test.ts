import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isKnown, lowest } from './revision.ts'
import { eventReader } from './sse.ts'

const STREAM =
  ': hello\n\nid: a-1\nevent: delta\ndata: {"x":1}\n\n: beat\n\nevent: session\ndata: {}\n\nid: a-2\nevent: delta\ndata: one\ndata: two\n\n'

test('events are the same however the stream is cut into chunks', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: STREAM.length })), (cuts) => {
      const read = eventReader()
      const at = [0, ...cuts.toSorted((a, b) => a - b), STREAM.length]
      const events = at.slice(1).flatMap((end, i) => read(STREAM.slice(at[i], end)))
      expect(events).toEqual([
        { name: 'delta', id: 'a-1', data: '{"x":1}' },
        { name: 'session', data: '{}' },
        { name: 'delta', id: 'a-2', data: 'one\ntwo' },
      ])
    }),
  )
})

test('an event without an end is refused before it fills the memory', () => {
  const read = eventReader()
  expect(() => Array.from({ length: 100 }, () => read('x'.repeat(100_000)))).toThrow('too large')
})

test('revisions of two starts of the server are never compared', () => {
  expect(isKnown('a-5', 'a-5')).toBe(true)
  expect(isKnown('a-5', 'a-6')).toBe(false)
  expect(isKnown('a-5', 'b-1')).toBe(false)
  expect(lowest(['a-10', 'a-9'])).toBe('a-9')
  expect(lowest(['a-10', 'b-9'])).toBeUndefined()
})
