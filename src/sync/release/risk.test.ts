import { expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import { defined } from '#lib/defined.ts'
import { moveRisk, type Risk, riskGate, risksOf } from './risk.ts'
import type { Stage } from './gates.ts'

const hosted = (version: string, rotation?: object) =>
  ({ version, controlPlane: { flavor: 'embedded', ...defined({ rotation }) } }) as Cluster['spec']
const registered = { kubeconfigSecretRef: { name: 's', key: 'k' } } as Cluster['spec']
const UP: Risk = { change: 'Versions', text: 'cluster prod from 1.35.1 to 1.36.0' }
const KEYS: Risk = { change: 'Rotations', text: 'cluster prod, the certificate authority' }

test.each<[string, Cluster['spec'], Cluster['spec'], number | undefined, readonly Risk[]]>([
  ['another version', hosted('1.36.0'), hosted('1.35.1'), 5, [UP]],
  ['another version, of machines that nobody counted', hosted('1.36.0'), hosted('1.35.1'), undefined, [UP]],
  ['another version of a cluster without machines', hosted('1.36.0'), hosted('1.35.1'), 0, []],
  ['the same', hosted('1.35.1'), hosted('1.35.1'), 5, []],
  ['new keys', hosted('1.35.1', { certificateAuthority: 2 }), hosted('1.35.1'), 5, [KEYS]],
  ['both', hosted('1.36.0', { certificateAuthority: 2 }), hosted('1.35.1'), 5, [UP, KEYS]],
  ['the number of the first keys', hosted('1.35.1', { certificateAuthority: 1 }), hosted('1.35.1'), 5, []],
  ['a lower number', hosted('1.35.1'), hosted('1.35.1', { certificateAuthority: 2 }), 5, []],
  ['a registered cluster', registered, registered, 5, []],
])('of %s', (_, declared, spec, machines, risks) => {
  expect(risksOf('prod', declared, { spec, machines })).toEqual(risks)
})

const stages = [
  { name: 'test', clusters: { selector: { matchLabels: { s: 'test' } } } },
  { name: 'prod', clusters: { selector: { matchLabels: { s: 'prod' } } } },
] as unknown as readonly Stage[]
const out: Risk = { change: 'Moves', text: 'cluster c out of all stages' }

test.each<[string, string, string, number | undefined, Risk | undefined]>([
  ['to an earlier stage', 'prod', 'test', 5, { change: 'Moves', text: 'cluster c to stage test' }],
  ['out of all stages', 'test', 'none', undefined, out],
  ['to a later stage', 'test', 'prod', 5, undefined],
  ['within its stage', 'prod', 'prod', 5, undefined],
  ['into a stage', 'none', 'test', 5, undefined],
  ['without machines', 'prod', 'none', 0, undefined],
])('of a move %s', (_, from, to, machines, risk) => {
  const at = (s: string) => ({ name: 'c', labels: { s } })
  expect(moveRisk('c', { stages, from: at(from), to: at(to), machines })).toEqual(risk)
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
