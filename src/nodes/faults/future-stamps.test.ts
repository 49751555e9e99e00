import { expect, test } from 'vitest'
import { timestamp } from '#lib/clock.ts'
import { FutureStamps } from './future-stamps.ts'

const NOON = Date.parse('2026-05-01T12:00:00Z')
const at = (seconds: number): string => timestamp(NOON + seconds * 1_000)
const facts = (stamp: string) => ({
  name: 'n',
  conditions: {
    Bad: { status: 'True', lastTransitionTime: stamp },
    Ready: { status: 'True', lastTransitionTime: at(-60) },
  },
  components: { kubelet: { state: 'Degraded', since: stamp } },
  machine: { agentReachable: 'False', agentReachableSince: stamp },
})

test('F16 what is of the future counts from when it was first seen, and goes on doing so', () => {
  const stamps = new FutureStamps()
  const settled = { ...facts(at(0)) }
  // The clock was set back by an hour: the fault is an hour ahead.
  expect(stamps.settle('u', facts(at(3_600)), NOON)).toEqual(settled)
  expect(stamps.settle('u', facts(at(3_600)), NOON + 30_000)).toEqual(settled)
  expect(stamps.settle('u', facts(at(3_600)), NOON + 7_200_000)).toEqual(settled)
  // Set back again.
  expect(stamps.settle('u', facts(at(3_600)), NOON - 10_000)).toEqual(facts(at(-10)))
})

test('F16 a change that is recorded again is another one', () => {
  const stamps = new FutureStamps()
  stamps.settle('u', facts(at(3_600)), NOON)
  expect(stamps.settle('u', facts(at(3_700)), NOON + 100_000)).toEqual(facts(at(100)))
  const past = facts(at(-5))
  expect(stamps.settle('u', past, NOON)).toBe(past)
})

test.each(['2026-05-01T12:00:00Z', '2026-05-01T14:00:00+02:00', 'soon', '', undefined])(
  'a time that is not of the future, or none, stays as it is: %s',
  (stamp) => {
    const past = facts(stamp as string)
    expect(new FutureStamps().settle('u', past, NOON)).toBe(past)
  },
)

test('a node without conditions has nothing to settle', () => {
  const none = { name: 'n', conditions: undefined, machine: undefined }
  expect(new FutureStamps().settle('u', none, NOON)).toBe(none)
})
