import { expect, test } from 'vitest'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { judgePermit, readPermit, type PermitUse } from './permits.ts'

const permit = (
  spec: Partial<OperationPermit['spec']> = {},
  status: OperationPermit['status'] = {},
): OperationPermit => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'OperationPermit',
  metadata: { name: 'p' },
  spec: {
    operations: ['SwitchComponent'],
    targets: [{ kind: 'Machine', name: 'm', uid: 'u1' }],
    requester: { manager: 'kubenode-componentset' },
    reason: 'r',
    recovery: false,
    leaseSeconds: 120,
    ...spec,
  },
  status: { phase: 'Granted', verdicts: [{ target: 'u1', gate: 'G', verdict: 'Granted' }], ...status },
})

const use: PermitUse = {
  operations: ['SwitchComponent'],
  targets: ['u1', 'n1'],
  target: { name: 'b', version: '1.0.0', config: 'b-1' },
}

const CASES: readonly [what: string, permit: OperationPermit | undefined, says: string][] = [
  ['granted', permit(), 'Granted'],
  ['for the component and version', permit({ component: { name: 'b', version: '1.0.0' } }), 'Granted'],
  ['for the configuration too', permit({ component: { name: 'b', version: '1.0.0', config: 'b-1' } }), 'Granted'],
  [
    'for another configuration',
    permit({ component: { name: 'b', version: '1.0.0', config: 'b-2' } }),
    'granted for b 1.0.0 with configuration b-2',
  ],
  ['that is not there', undefined, 'not found'],
  ['without a status', { ...permit(), status: {} }, 'the Defender has not decided yet'],
  ['that expired', permit({}, { phase: 'Expired' }), 'the permit is Expired'],
  [
    'that is being deleted',
    { ...permit(), metadata: { name: 'p', deletionTimestamp: 'x' } },
    'the permit is being deleted',
  ],
  ['for something else', permit({ operations: ['Reboot'] }), 'not for operation SwitchComponent'],
  ['that names no operation', permit({ operations: [] }), 'not for operation SwitchComponent'],
  [
    'written before permits named operations',
    { ...permit(), spec: { ...permit().spec, operations: undefined } } as unknown as OperationPermit,
    'not for operation SwitchComponent',
  ],
  ['for another component', permit({ component: { name: 'c', version: '1.0.0' } }), 'granted for c 1.0.0'],
  // A permit without a version grants the removal of the component.
  ['for the removal of the component', permit({ component: { name: 'b' } }), 'granted for the removal of b'],
  ['for the removal of another', permit({ component: { name: 'c' } }), 'granted for the removal of c'],
  ['for another version', permit({ component: { name: 'b', version: '2' } }), 'granted for b 2'],
  [
    'for another machine of the name',
    permit({ targets: [{ kind: 'Machine', name: 'm', uid: 'old' }] }),
    'the permit is not for this target',
  ],
  ['whose slot was given back', permit({ results: { u1: 'Succeeded' } }), 'the target already has result Succeeded'],
  [
    'that waits for this machine',
    permit({}, { verdicts: [{ target: 'u1', gate: 'G', verdict: 'Waiting' }] }),
    'gate G: Waiting',
  ],
  ['without a verdict for this machine', permit({}, { verdicts: [] }), 'the Defender has not decided yet'],
]

test.each(CASES)('a permit %s', (_what, given, says) => {
  const reading = judgePermit(given, 'p', use)
  expect(reading.kind === 'Granted' ? 'Granted' : reading.why).toBe(says)
})

test('a permit that cannot be read is unknown', async () => {
  const get = async () => {
    throw new Error('away')
  }
  expect(await readPermit({ get }, 'p', use)).toEqual({ kind: 'Unknown', permit: 'p', why: 'away' })
})
