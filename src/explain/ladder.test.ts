// The ladder of a rollout: machines reached by each step, the state of each step, and the remaining minutes by measured durations.
import { expect, test } from 'vitest'
import type { MachineComponentSet, Slice } from '#api/kinds/machine-component-set.ts'
import { componentSet } from '#test/support/fleets/rollout-fleet.ts'
import { ladderOf } from './ladder.ts'

const slice = (step: number, phase: Slice['phase'], more: Partial<Slice> = {}): Slice => ({
  component: 'beacon',
  version: '1.1.0',
  step,
  number: 0,
  phase,
  machines: [],
  ...more,
})

function setWith(slices: readonly Slice[], { total = 20, seconds = [] as number[], steps = [1, 5, '50%'] } = {}) {
  const set = componentSet({ beacon: '1.1.0' }, { steps: steps as never, maxUnavailable: '10%', soak: '1m' })
  return {
    ...set,
    status: {
      counts: { total },
      slices,
      ...(seconds.length > 0 && { durations: [{ component: 'beacon', seconds }] }),
    },
  } as unknown as MachineComponentSet
}

const one = (set: MachineComponentSet) => ladderOf(set, [set])[0]

test('each rung is the sum of all steps up to it, and the last step repeats until all machines are reached', () =>
  expect(one(setWith([slice(0, 'Switching')]))?.rungs).toEqual([
    { step: 0, machines: 1, state: 'Open' },
    { step: 1, machines: 6, state: 'Waiting' },
    { step: 2, machines: 16, state: 'Waiting' },
    { step: 3, machines: 20, state: 'Waiting' },
  ]))

const STATES: readonly (readonly [string, readonly Slice[], string])[] = [
  ['is open while one of its slices waits for a permit', [slice(0, 'Passed'), slice(0, 'AwaitingPermit')], 'Open'],
  ['is soaking when its slices are switched', [slice(0, 'Passed'), slice(0, 'Soaking')], 'Soaking'],
  ['is failed as soon as one slice is, whatever the others do', [slice(0, 'Switching'), slice(0, 'Failed')], 'Failed'],
  ['is passed when its slices have passed', [slice(0, 'Passed')], 'Passed'],
  ['is passed when its slices have left the status and a later step has begun', [slice(1, 'Planned')], 'Passed'],
]
test.each(STATES)('a step %s', (_, slices, state) => expect(one(setWith(slices))?.rungs[0]?.state).toBe(state))

test('slices of another version do not count, and a component without slices has no ladder', () => {
  expect(ladderOf(setWith([slice(0, 'Failed', { version: '1.0.0' })]), [])).toEqual([])
  const both = setWith([slice(0, 'Soaking'), slice(0, 'Failed', { version: '1.0.0' })])
  expect(one(both)?.rungs[0]?.state).toBe('Soaking')
})

test('minutes left are those of the switches that are still to come and of every soak; without a measured switch there are none', () => {
  expect(one(setWith([slice(0, 'Switching')]))).not.toHaveProperty('minutesLeft')
  // Two at once, one minute each: 1, 3, 5 and 2 turns, and four soaks.
  expect(one(setWith([slice(0, 'Switching')], { seconds: [60] }))?.minutesLeft).toBe(1 + 3 + 5 + 2 + 4)
  expect(one(setWith([slice(0, 'Soaking')], { seconds: [60] }))?.minutesLeft).toBe(3 + 5 + 2 + 4)
  expect(one(setWith([slice(3, 'Soaking')], { seconds: [60] }))?.minutesLeft).toBe(1)
})

test('a set without machines has the steps that its slices have, and steps of one machine are bounded', () => {
  expect(one(setWith([slice(1, 'Planned')], { total: 0 }))?.rungs.map((r) => r.machines)).toEqual([0, 0])
  expect(one(setWith([slice(0, 'Planned')], { total: 10_000, steps: [1] }))?.rungs).toHaveLength(40)
})
