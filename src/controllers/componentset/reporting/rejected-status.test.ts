import { expect, test } from 'vitest'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { createValidator } from '#api/validate.ts'
import { START, componentSet } from '#test/support/fleets/rollout-fleet.ts'
import type { SetAction } from '../actions.ts'
import { rejectedStatus } from './rejected-status.ts'

const action = { kind: 'RequestPermit', reason: '' } as SetAction
const before = componentSet({ beacon: '1.0.0' })
const slices = [{ component: 'beacon', step: 0, number: 0, phase: 'Planned' as const, machines: ['m-0'] }]
const set = { ...before, status: { observedGeneration: 1, slices } }

test('what the server will not have is said on the status, whose slices stay as they are', () => {
  const status = rejectedStatus(set, { action, message: 'admission webhook says no' }, START)
  expect(status).toMatchObject({
    observedGeneration: 1,
    slices,
    waitingFor: { predicate: 'ActionRefused', seen: 'cannot request a permit: admission webhook says no' },
    conditions: [
      { type: 'Ready', status: 'False', reason: 'ActionRefused' },
      { type: 'Reconciling', status: 'True', reason: 'ActionRefused' },
    ],
  })
  expect(createValidator().problems(machineComponentSet, JSON.parse(JSON.stringify({ ...set, status })))).toEqual([])
})

test('the same refusal again is the same status', () => {
  const refusal = { action, message: 'no' }
  const once = rejectedStatus(set, refusal, START)
  expect(rejectedStatus({ ...set, status: once }, refusal, START + 60_000)).toEqual(once)
})

test('a set that was Complete is in progress, also for readers that go by the phase', () => {
  const complete = { ...set, status: { observedGeneration: 1, phase: 'Complete' as const } }
  expect(rejectedStatus(complete, { action, message: 'no' }, START)).toMatchObject({
    observedGeneration: 1,
    phase: 'Progressing',
  })
})
