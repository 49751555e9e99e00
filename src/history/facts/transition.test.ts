import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type NumberedFact, NOT_REPORTED, packed, transitions, unpacked } from './transition.ts'

const facts = fc.uniqueArray(
  fc.record({ topic: fc.nat(20), value: fc.nat(3), reported: fc.constantFrom(NOT_REPORTED, 1_000, 2_000) }),
  { selector: (f) => f.topic, maxLength: 15 },
)

function applied(before: readonly NumberedFact[], rows: ReturnType<typeof transitions>): readonly NumberedFact[] {
  const now = new Map(before.map((f) => [f.topic, f]))
  for (const { topic, value, reported } of rows)
    if (value === undefined) now.delete(topic)
    else now.set(topic, { topic, value, reported })
  return [...now.values()].toSorted((a, b) => a.topic - b.topic)
}

test('the rows between two states lead from the one to the other, and no row is without a change', () => {
  fc.assert(
    fc.property(facts, facts, (before, after) => {
      const rows = transitions(packed(before), packed(after))
      expect(applied(before, rows)).toEqual(unpacked(packed(after)))
      const old = new Map(before.map((f) => [f.topic, f]))
      for (const { topic, value, reported } of rows) {
        const was = old.get(topic)
        expect(was?.value === value && was?.reported === reported).toBe(false)
      }
    }),
  )
})

test('nothing changed: no rows', () => {
  fc.assert(
    fc.property(facts, (same) => {
      expect(transitions(packed(same), packed(same))).toEqual([])
    }),
  )
})

test('a condition that went and came back unseen shows by its time', () => {
  const [before, after] = [1_000, 2_000].map((reported) => packed([{ topic: 1, value: 7, reported }]))
  expect(before && after && transitions(before, after)).toEqual([{ topic: 1, value: 7, reported: 2_000 }])
})
