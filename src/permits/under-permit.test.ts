import { describe, expect, test } from 'vitest'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { ConnectionError } from '#kube/errors.ts'
import type { ActionOutcome } from '#runtime/reconcile-with.ts'
import { type Disruption, EXEMPTIONS, type Exemption, type ReadPermit, underPermit } from './under-permit.ts'

const permit = (phase: string, spec: object = {}): OperationPermit =>
  ({
    metadata: { name: 'p' },
    spec: { operations: ['Drain'], targets: [{ kind: 'Machine', name: 'm', uid: 'u' }], ...spec },
    status: {
      phase,
      verdicts: [{ target: 'u', gate: 'Ledger', verdict: phase === 'Granted' ? 'Granted' : 'Waiting' }],
    },
  }) as unknown as OperationPermit

const reading =
  (object: OperationPermit | undefined): ReadPermit =>
  async () => ({ kind: 'Applied', object })

async function disrupted(read: ReadPermit): Promise<readonly [ActionOutcome['kind'], number, string | undefined]> {
  let done = 0
  const act: Disruption = { by: { permit: 'p' }, operations: ['Drain', 'ScaleIn'], target: 'u' }
  const outcome = await underPermit<ActionOutcome>(read, act, async () => {
    done++
    return { kind: 'Applied', object: undefined }
  })
  return [outcome.kind, done, outcome.kind === 'Outdated' ? outcome.reason : undefined]
}

describe('a disruption', () => {
  test('is done under a permit that is Granted now', async () => {
    expect(await disrupted(reading(permit('Granted')))).toEqual(['Applied', 1, undefined])
  })

  test.each([
    ['that still waits', permit('Requested'), 'gate Ledger: Waiting'],
    ['that has expired', permit('Expired'), 'the permit is Expired'],
    ['that was revoked', permit('Revoked'), 'the permit is Revoked'],
    ['that was deleted', undefined, 'not found'],
    ['with a result', permit('Granted', { results: { u: 'Released' } }), 'the target already has result Released'],
    [
      'for what had the name before',
      permit('Granted', { targets: [{ kind: 'Machine', name: 'm', uid: 'earlier' }] }),
      'the permit is not for this target',
    ],
    [
      'for something else',
      permit('Granted', { operations: ['RestartComponent'] }),
      'not for operation Drain or ScaleIn',
    ],
    ['that names no operation', permit('Granted', { operations: undefined }), 'not for operation Drain or ScaleIn'],
    [
      'that is being deleted',
      { ...permit('Granted'), metadata: { name: 'p', deletionTimestamp: 'x' } },
      'the permit is being deleted',
    ],
  ])('is not done under one %s', async (_, read, why) => {
    expect(await disrupted(reading(read))).toEqual(['Outdated', 0, `permit p allows no Drain or ScaleIn: ${why}`])
  })

  test('is not done when the permit cannot be read', async () => {
    const error = new ConnectionError({ code: 'KN0', message: 'no answer' } as never, 'unknown')
    expect(await disrupted(async () => ({ kind: 'Unknown', error }))).toEqual(['Unknown', 0, undefined])
  })

  test('that needs no permit says why, and reads none', async () => {
    const never: ReadPermit = async () => expect.fail('a permit was read')
    for (const why of Object.keys(EXEMPTIONS) as Exemption[])
      expect(
        await underPermit(never, { by: { exempt: why }, operations: ['Drain'], target: 'u' }, async () => why),
      ).toBe(why)
  })
})
