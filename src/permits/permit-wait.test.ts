import { describe, expect, test } from 'vitest'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { permitWait } from './permit-wait.ts'
import { defined } from '#lib/defined.ts'

/** Gates of the Defender. */
const GATES = [
  'Hold',
  'Protect',
  'OwnPods',
  'Window',
  'HealthFloor',
  'Blame',
  'Budget',
  'Rate',
  'Breaker',
  'Approval',
  'Rule',
]

const verdict = (target: string, gate: string, more: object = {}) => ({
  target,
  gate,
  verdict: 'Waiting' as const,
  ...more,
})

const permit = (status: OperationPermit['status'], results?: object): OperationPermit =>
  ({
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'OperationPermit',
    metadata: { name: 'p' },
    spec: {
      operations: ['SwitchComponent'],
      targets: ['a', 'b'].map((uid) => ({ kind: 'Machine', name: uid, uid })),
      requester: { manager: 'kubenode-componentset' },
      reason: '',
      recovery: false,
      leaseSeconds: 120,
      ...defined({ results }),
    },
    ...defined({ status }),
  }) as OperationPermit

describe('what is waited for whose permit is not granted', () => {
  test('is the Defender, as long as it has said nothing', () => {
    expect(permitWait(permit(undefined))).toMatchObject({
      predicate: 'PermitRequested',
      seen: 'the Defender has not decided yet',
    })
  })

  test('is what its gate says, in the words of the permit', () => {
    const open = { reason: 'BreakerOpen', seen: 'open since 10:00', limit: 'tries again after 10m' }
    expect(permitWait(permit({ verdicts: [verdict('a', 'Breaker', open)] }))).toEqual({
      predicate: 'BreakerOpen',
      seen: 'gate Breaker: open since 10:00 (tries again after 10m)',
      unblock:
        'its pause is over and the operations that it tries succeed; for details run kubenode why operationpermit/p',
    })
  })

  test('names for each gate what opens it, never the gate itself', () => {
    const unblocks = GATES.map((gate) => permitWait(permit({ verdicts: [verdict('a', gate)] })).unblock)
    expect(unblocks.filter((text) => text.startsWith('gate '))).toEqual([])
  })

  test('is a person where the gate is an approval, and the command is named', () => {
    const missing = verdict('a', 'Approval', { seen: '0 approvals', limit: '1 of ada' })
    expect(permitWait(permit({ verdicts: [missing] }))).toEqual({
      predicate: 'ApprovalMissing',
      seen: 'gate Approval: 0 approvals (1 of ada)',
      unblock: 'run kubenode approve operationpermit/p --reason WHY',
    })
  })

  test.each([
    ['Breaker', 'BreakerHalfOpen', 'BreakerHalfOpen'],
    ['Window', 'OutsideWindow', 'OutsideWindow'],
    ['Window', 'BlackoutActive', 'BlackoutActive'],
    // A Defender of an earlier version gives no reason, and a later version may give a new one.
    ['Budget', undefined, 'BudgetExhausted'],
    ['Breaker', 'SomethingNew', 'BreakerOpen'],
    ['Tides', 'TideIsHigh', 'PermitRequested'],
  ])('gate %s, with the reason %s, gives %s', (gate, reason, predicate) => {
    const binding = verdict('b', gate, reason === undefined ? {} : { reason })
    expect(permitWait(permit({ verdicts: [binding] })).predicate).toBe(predicate)
  })

  test('is not what was given up already', () => {
    const status = { verdicts: [verdict('a', 'Target', { seen: 'given up' }), verdict('b', 'Rate')] }
    expect(permitWait(permit(status, { a: 'Released' })).predicate).toBe('RateExceeded')
  })
})
