import { describe, expect, test } from 'vitest'
import { ApiError, ConnectionError, failure } from '#kube/errors.ts'
import { kubeErrors } from '#kube/kube-errors.ts'
import type { ActionOutcome } from './reconcile-with.ts'
import { LASTING_TRIES, refusedStatus, refusedText, refusedWaitIn } from './refused-write.ts'

const NOW = Date.parse('2026-12-01T06:00:00Z')

const refused = (status: number, message: string): ApiError =>
  new ApiError(failure(status, message), { action: 'create', target: 'machines/m' })

const denied = (status: number, retryAfterMs?: number): ActionOutcome => ({
  kind: 'Denied',
  error: refused(status, 'exceeded quota'),
  retryAfterMs,
})

const webhookDown: ActionOutcome = {
  kind: 'Unknown',
  error: refused(500, 'failed calling webhook "policy.example.com": connection refused'),
}

describe('what is told at once, and what only when it lasts', () => {
  test.each([
    ['a rule that refuses', denied(403), true],
    ['an invalid object', denied(422), true],
    ['a limit that refuses for now', denied(429), false],
    ['a server that names a time', denied(403, 5_000), false],
    ['a webhook that does not answer', webhookDown, false],
    ['a lost race', { kind: 'Conflict', error: refused(409, 'changed') }, false],
    ['a reason that no longer holds', { kind: 'Outdated', reason: 'the machine was replaced' }, false],
  ] as const)('%s', (_, outcome, isAtOnce) => {
    expect(refusedText(outcome, 0) !== undefined).toBe(isAtOnce)
    expect(refusedText(outcome, LASTING_TRIES)).toBeDefined()
  })

  test('a lost connection is told only when it lasts', () => {
    const lost = {
      kind: 'Unknown',
      error: new ConnectionError(kubeErrors.KN2001({ action: 'create machines', why: 'reset' }), 'unknown'),
    } as const
    expect(refusedText(lost, 1)).toBeUndefined()
  })

  test('what succeeded, and what was not tried, is no refusal however often the key failed', () => {
    for (const outcome of [{ kind: 'Applied', object: undefined }, { kind: 'NotTried' }] as const)
      expect(refusedText(outcome, 100)).toBeUndefined()
  })
})

test('a machine waits for what is refused for longer, with the words of the server', () => {
  const results = [
    { action: { kind: 'Cordon', reason: '' }, outcome: webhookDown },
    { action: { kind: 'Drain', reason: '' }, outcome: { kind: 'NotTried' } },
  ] as const
  expect(refusedWaitIn(results, LASTING_TRIES - 1)).toBeUndefined()
  expect(refusedWaitIn(results, LASTING_TRIES)).toMatchObject({
    predicate: 'ActionRefused',
    seen: expect.stringContaining('Cordon: ') as string,
  })
  expect(refusedWaitIn(results, LASTING_TRIES)?.seen).toContain('failed calling webhook')
})

test('a status keeps everything but why it does not continue, and the same refusal again is the same status', () => {
  const before = { observedGeneration: 2, counts: { total: 3 } }
  const once = refusedStatus(before, 'cannot request a permit: no', NOW)
  expect(once).toMatchObject({
    ...before,
    waitingFor: { predicate: 'ActionRefused', seen: 'cannot request a permit: no' },
    conditions: [
      { type: 'Ready', status: 'False', reason: 'ActionRefused', observedGeneration: 2 },
      { type: 'Reconciling', status: 'True', reason: 'ActionRefused', observedGeneration: 2 },
    ],
  })
  expect(refusedStatus(once, 'cannot request a permit: no', NOW + 60_000)).toEqual(once)
})
