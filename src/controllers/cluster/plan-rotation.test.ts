// When the host is asked to continue a rotation, how often machines are read for it, and what a person sees of it.
import { expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { Count, Rotation } from '#controlplanes/credentials/rotation.ts'
import { runningPlane } from '#test/doubles/running-plane.ts'
import {
  needsAgentReports,
  rotationRequeueMs,
  rotationDue,
  rotationRequest,
  trustOf,
  waitOfRotation,
} from './plan-rotation.ts'
import type { Seen } from './seen.ts'

const NOW = Date.UTC(2030, 0, 1)
const HOUR = 3_600_000

const of = (name: 'ca' | 'service-account' | 'etcd-ca', more: Partial<Rotation> = {}): Rotation => ({
  name,
  phase: 'Distributing',
  since: NOW,
  ...more,
})
const agents = (seen: number, all: number, missing: readonly string[]): Count => ({
  what: 'agents',
  seen,
  of: all,
  missing,
})

function seenOf(rotations: readonly Rotation[], rotation: object = {}, more: Partial<Seen> = {}): Seen {
  const cluster = {
    metadata: { name: 'a', namespace: 'fleet', uid: 'u-1' },
    spec: { controlPlane: { flavor: 'embedded', rotation } },
  } as unknown as Cluster
  const own = {
    declared: { ca: 1, 'service-account': 1, 'etcd-ca': 1 },
    rotations,
    signer: 'x',
    renewAt: NOW + 100 * HOUR,
  }
  const plane = { ...runningPlane('fleet.a'), own }
  return { cluster, plane, kubeconfig: undefined, agents: undefined, ...more } as Seen
}

test.each([
  ['nothing was asked for', seenOf([]), undefined],
  ['the number is that of the newest', seenOf([], { certificateAuthority: 1 }), undefined],
  ['a higher number was committed', seenOf([], { certificateAuthority: 2 }), 'a rotation was asked for'],
  ['a higher number was committed for etcd', seenOf([], { etcdAuthority: 2 }), 'a rotation was asked for'],
  ['it is of what this control plane does not have', seenOf([], { frontProxyAuthority: 2 }), undefined],
  ['agents are waited for', seenOf([of('ca', { waitsFor: agents(1, 2, ['m']) })]), 'a rotation is under way'],
  ['only time is waited for', seenOf([of('ca', { until: NOW + HOUR })]), undefined],
  ['the time is over', seenOf([of('ca', { until: NOW })]), 'a phase of a rotation is over'],
  [
    'a further number is committed during a rotation that waits for a date',
    seenOf([of('service-account', { phase: 'Reissuing', until: NOW + HOUR })], { serviceAccountKeys: 3 }),
    undefined,
  ],
])('when %s, the host is asked to continue: %#', (_, seen, want) => expect(rotationDue(seen, NOW)).toBe(want))

test('a certificate that is due is renewed without a commit', () => {
  expect(rotationDue(seenOf([]), NOW + 100 * HOUR)).toBe('a certificate is due')
})

test('machines are read for an authority alone, and the more there are the more rarely', () => {
  const waiting = of('ca', { waitsFor: agents(0, 1, ['m']) })
  const isRead = ({ cluster, plane }: Seen): boolean => needsAgentReports(cluster, plane)
  const others = [of('service-account'), of('etcd-ca')]
  expect([seenOf([]), seenOf(others), seenOf([waiting])].map(isRead)).toEqual([false, false, true])
  const asked = [seenOf([], { etcdAuthority: 2, serviceAccountKeys: 2 }), seenOf([], { certificateAuthority: 2 })]
  expect(asked.map(isRead)).toEqual([false, true])
  const many = Array.from({ length: 10_000 }, (_, n) => ({ machine: `m-${n}` }))
  expect(rotationRequeueMs(seenOf([waiting]), NOW)).toBe(5_000)
  expect(rotationRequeueMs(seenOf([waiting], {}, { agents: many }), NOW)).toBe(50_000)
})

test('machines that could not be read are left out of the request, and not taken for none', () => {
  expect(rotationRequest(seenOf([], { certificateAuthority: 2 }))).toEqual({ declared: { ca: 2 } })
  expect(rotationRequest(seenOf([], { serviceAccountKeys: 3 }, { agents: [] }))).toEqual({
    declared: { 'service-account': 3 },
    agents: [],
  })
})

test.each([
  ['never had an agent', {}, []],
  [
    'has an agent with a token',
    { agent: { authorities: ['x'] } },
    [{ machine: 'm', authorities: ['x'], signedBy: 'None' }],
  ],
  [
    'has an agent with a certificate',
    { agent: { authorities: ['x'], certificate: { authority: 'x' } } },
    [{ machine: 'm', authorities: ['x'], signedBy: 'x' }],
  ],
  [
    'has an agent with a token and a kubelet with a certificate',
    { agent: { authorities: ['x'], kubelet: { authorities: ['y'], certificate: { authority: 'y' } } } },
    [{ machine: 'm', authorities: ['x'], signedBy: 'None', kubelet: { authorities: ['y'], signedBy: 'y' } }],
  ],
  [
    'has a kubelet of which nothing is known',
    { agent: { authorities: ['x'], kubelet: { certificate: {} } } },
    [{ machine: 'm', authorities: ['x'], signedBy: 'None', kubelet: {} }],
  ],
  ['has an agent of before, which reports neither', { agent: { certificate: {} } }, [{ machine: 'm' }]],
])('what a machine that %s counts for', (_, status, want) =>
  expect(trustOf({ metadata: { name: 'm' }, status } as unknown as Machine)).toEqual(want),
)

test.each([
  [
    'agents that are missing are named, and the others counted',
    of('ca', { waitsFor: agents(7, 12, ['m-1', 'm-2', 'm-3']) }),
    '7 of 12 clients (agents with their kubelets, and sync) trust it, not m-1, m-2, m-3 and 2 more',
    'start them, or delete their Machines',
  ],
  [
    'kubelets are counted, and what a person does for them is said',
    of('ca', { waitsFor: { ...agents(11, 12, ['the kubelet of m-1']), kubelets: 1 } }),
    '11 of 12 clients (agents with their kubelets, and sync) trust it, not the kubelet of m-1; 1 kubelet of those',
    'write it into the kubeconfig of those kubelets too, and restart them',
  ],
  [
    'machines that cannot be read are no number',
    of('ca', { waitsFor: { ...agents(0, 0, []), isUnknown: true } }),
    'the machines of the cluster cannot be read',
    'the API server of the cluster answers the hub',
  ],
  [
    'programs that are counted are a number, with the name of what they follow',
    of('etcd-ca', { waitsFor: { what: 'servers', seen: 3, of: 4, missing: [] } }),
    'the authority of etcd: the new one is trusted and signs nothing yet; 3 of 4 programs of the control plane run with it',
    'the host gives it to them',
  ],
  [
    'programs that change for another reason are no number',
    of('etcd-ca', { waitsFor: { what: 'servers', seen: 0, of: 0, missing: [], isUnknown: true } }),
    'the programs of the control plane change for another reason, and are not counted',
    'the upgrade, the restore or the stop that is under way ends',
  ],
  [
    'an authority that waits for time alone has its end',
    of('ca', { phase: 'Reissuing', until: NOW + HOUR }),
    'the new one signs, and the old one is still trusted until 2030-01-01T01:00:00Z',
    'it continues by itself',
  ],
])('%s', (_, rotation, seen, unblock) => {
  const wait = waitOfRotation(seenOf([rotation]).plane)
  expect(wait?.predicate).toBe('RotationUnderWay')
  expect(wait?.seen).toContain(seen)
  expect(wait?.unblock).toContain(unblock)
})

test('keys of service accounts that wait for a date block nothing, so the Cluster waits for nothing', () => {
  const rotation = of('service-account', { phase: 'Reissuing', until: NOW + HOUR })
  expect(waitOfRotation(seenOf([rotation]).plane)).toBeUndefined()
})
