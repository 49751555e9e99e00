// The single rule: what it allows, what it may allow later, and what it never will, in this order.
import { describe, expect, test } from 'vitest'
import fc from 'fast-check'
import type { OperationPermit } from '../kinds/operation-permit.ts'
import { PHASES } from '../phases.ts'
import { rulingOn, whyNotAllowed } from './permit-allows.ts'

const UID = 'u'
interface Facts {
  readonly phase: string | undefined
  readonly verdict: 'Granted' | 'Waiting' | 'Denied' | undefined
  readonly isDeleting: boolean
  readonly isTarget: boolean
  readonly result: string | undefined
  readonly isForOperation: boolean
}
const permitOf = ({ phase, verdict, isDeleting, isTarget, result, isForOperation }: Facts): OperationPermit =>
  ({
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'OperationPermit',
    metadata: { name: 'p', ...(isDeleting && { deletionTimestamp: '2030-01-01T00:00:00Z' }) },
    spec: {
      operations: [isForOperation ? 'Drain' : 'Reboot'],
      targets: [{ kind: 'Node', name: 'n', uid: isTarget ? UID : 'of-another' }],
      requester: { manager: 'm' },
      reason: 'r',
      ...(result !== undefined && { results: { [UID]: result } }),
    },
    status: { phase, ...(verdict !== undefined && { verdicts: [{ target: UID, gate: 'G', verdict }] }) },
  }) as unknown as OperationPermit

const facts = fc.record<Facts>({
  phase: fc.constantFrom(undefined, ...Object.keys(PHASES.Permit), 'OfALaterVersion'),
  verdict: fc.constantFrom('Granted', 'Waiting', 'Denied', undefined),
  isDeleting: fc.boolean(),
  isTarget: fc.boolean(),
  result: fc.constantFrom(undefined, 'Succeeded', 'Failed', 'Released'),
  isForOperation: fc.boolean(),
})
const act = { operations: ['Drain'] as const, targets: [UID] }

describe('whatever a permit says', () => {
  test('it allows an act if all of it does, and nothing else', () => {
    fc.assert(
      fc.property(facts, (f) => {
        const isAllowed =
          f.phase === 'Granted' &&
          f.verdict === 'Granted' &&
          !f.isDeleting &&
          f.isTarget &&
          f.result === undefined &&
          f.isForOperation
        expect(rulingOn(permitOf(f), act).kind === 'Granted').toBe(isAllowed)
        expect(whyNotAllowed(permitOf(f), act) === undefined).toBe(isAllowed)
      }),
    )
  })

  test('it is undecided only as long as the Defender alone can still grant it', () => {
    fc.assert(
      fc.property(facts, (f) => {
        if (rulingOn(permitOf(f), act).kind !== 'Undecided') return
        const granted = permitOf({ ...f, phase: 'Granted', verdict: 'Granted' })
        expect(rulingOn(granted, act).kind).toBe('Granted')
      }),
    )
  })
})

test('a permit that is not there allows nothing', () => expect(whyNotAllowed(undefined, act)).toBe('not found'))
