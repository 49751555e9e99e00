import { expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import { defined } from '#lib/defined.ts'
import { type Risk, riskGate, riskOf } from './risk.ts'
import type { Stage } from './gates.ts'

const hosted = (version: string, rotation?: object) =>
  ({ version, controlPlane: { flavor: 'embedded', ...defined({ rotation }) } }) as Cluster['spec']
const registered = { kubeconfigSecretRef: { name: 's', key: 'k' } } as Cluster['spec']
const UP: Risk = { change: 'Versions', text: 'cluster prod from 1.35.1 to 1.36.0' }
const KEYS: Risk = { change: 'Rotations', text: 'cluster prod, the certificate authority' }

test.each<[string, Cluster['spec'], Cluster['spec'], number | undefined, Risk | undefined]>([
  ['another version', hosted('1.36.0'), hosted('1.35.1'), 5, UP],
  ['another version, of machines that nobody counted', hosted('1.36.0'), hosted('1.35.1'), undefined, UP],
  ['another version of a cluster without machines', hosted('1.36.0'), hosted('1.35.1'), 0, undefined],
  ['the same', hosted('1.35.1'), hosted('1.35.1'), 5, undefined],
  ['new keys', hosted('1.35.1', { certificateAuthority: 2 }), hosted('1.35.1'), 5, KEYS],
  ['the number of the first keys', hosted('1.35.1', { certificateAuthority: 1 }), hosted('1.35.1'), 5, undefined],
  ['a lower number', hosted('1.35.1'), hosted('1.35.1', { certificateAuthority: 2 }), 5, undefined],
  ['a registered cluster', registered, registered, 5, undefined],
])('of %s', (_, declared, spec, machines, risk) => {
  expect(riskOf('prod', declared, { spec, machines })).toEqual(risk)
})

const stage = (more: object = {}) => ({ name: 'prod', clusters: { names: ['prod'] }, ...more }) as unknown as Stage

test.each<[string, object, readonly Risk[], string | undefined]>([
  ['asks', {}, [UP], 'high-risk'],
  ['allows one and asks for the other', { withoutApproval: ['Versions'] }, [UP, KEYS], 'high-risk'],
  ['allows it', { withoutApproval: ['Versions'] }, [UP], undefined],
  [
    'asks certain people already',
    { before: [{ name: 'board', approval: { from: ['ada'], count: 1 } }] },
    [UP],
    undefined,
  ],
  [
    'has a gate of that name',
    { before: [{ name: 'high-risk', machinesReady: { minPercent: 9 } }] },
    [UP],
    'high-risk-changes',
  ],
  ['has nothing risky', {}, [], undefined],
])('a stage that %s', (_, more, risks, gate) => {
  expect(riskGate(stage(more), risks)?.name).toBe(gate)
})
