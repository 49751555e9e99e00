// A lost etcd member is replaced only with a permit, after a while, and nothing else of the Cluster waits for that permit.
import { expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import { FINALIZERS } from '#api/names.ts'
import type { ControlPlane } from '#controlplanes/port.ts'
import { timestamp } from '#lib/clock.ts'
import { QUIET } from '#test/doubles/quiet-cluster.ts'
import { runningPlane } from '#test/doubles/running-plane.ts'
import { plan } from './plan.ts'
import type { Seen } from './seen.ts'

const NOW = Date.UTC(2030, 0, 1)
const MINUTE = 60_000
const GOOD = { owner: 'u-1', endpoint: 'https://127.0.0.1:7000', ca: 'ca', authorities: [], signedBy: undefined }

const seenOf = (lostForMs: number, plane: Partial<ControlPlane> = {}, version = '1.36.0'): Seen => ({
  ...QUIET,
  addons: 'v',
  cluster: {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Cluster',
    metadata: { namespace: 'fleet', name: 'one', uid: 'u-1', finalizers: [FINALIZERS.cluster] },
    spec: { version, controlPlane: { flavor: 'kubernetes' }, deletionPolicy: 'Delete' },
    status: { phase: 'Ready', addons: [{ name: 'kubenode', version: 'v', healthy: 'True' }] },
  } as unknown as Cluster,
  plane: {
    ...runningPlane('fleet.one'),
    owner: 'u-1',
    members: { replaced: 0, lost: { name: 'etcd-2', since: timestamp(NOW - lostForMs), why: 'its volume is empty' } },
    ...plane,
  },
  host: {
    name: 'kubernetes',
    capabilities: { isHighlyAvailable: true, keepsCredentials: true, minors: ['1.36', '1.37'], most: 9 },
  },
  kubeconfig: { ...GOOD, from: NOW - 1, until: NOW + 86_400_000 },
})

function permitOf(seen: Seen): Seen['permits'][number] {
  const ask = plan(seen, NOW).actions.find((a) => a.kind === 'RequestPermit')
  if (ask?.kind !== 'RequestPermit') throw new Error('no permit is requested')
  return {
    metadata: { name: ask.permit, uid: 'p-1', creationTimestamp: timestamp(NOW) },
    spec: ask.request,
    status: {
      phase: 'Granted',
      verdicts: [{ target: 'u-1', verdict: 'Granted' }],
      expiresAt: timestamp(NOW + 60 * MINUTE),
    },
  } as unknown as Seen['permits'][number]
}
const kindsOf = (seen: Seen) => plan(seen, NOW).actions.map((a) => a.kind)

test('one that is away for less than five minutes has its time', () => {
  expect(kindsOf(seenOf(5 * MINUTE - 1_000))).toEqual(['Put'])
})

test('after five minutes a permit is requested, named with what was seen, and everything else goes on', () => {
  const seen = seenOf(5 * MINUTE)
  const { actions, wait, phase } = plan(seen, NOW)
  expect([phase, actions.map((a) => a.kind), wait?.predicate]).toEqual([
    'Ready',
    ['Put', 'RequestPermit'],
    'PermitRequested',
  ])
  expect(wait?.seen).toContain('member etcd-2 of etcd is lost since 2029-12-31T23:55:00Z: its volume is empty')
  expect(actions[1]).toMatchObject({
    permit: expect.stringContaining('-replace-member-1-b0'),
    request: { reason: 'replace member etcd-2 of etcd: its volume is empty' },
  })
})

test('with the permit it is replaced before anything else, also in the middle of a change of the version', () => {
  const seen = seenOf(5 * MINUTE)
  const permits = [permitOf(seen)]
  const change = { from: '1.36.0', to: '1.37.0', message: 'x', wayBack: 'Programs' } as const
  for (const one of [seen, seenOf(5 * MINUTE, { change }, '1.37.0')]) {
    const { actions, wait } = plan({ ...one, permits }, NOW)
    expect(actions).toMatchObject([
      { kind: 'RenewPermit' },
      { kind: 'ReplaceMember', number: 1 },
      { kind: 'ReportResult' },
    ])
    expect(wait?.predicate).toBe('MemberLost')
  }
})

test('without a majority none is replaced: that is for a restore', () => {
  const quorumLost = { since: timestamp(NOW - 20 * MINUTE), serving: 1, members: 3 }
  expect(kindsOf(seenOf(20 * MINUTE, { quorumLost }))).toEqual(['Put'])
})

test('a permit whose work another pass finished is reported, and no other one is requested', () => {
  const permits = [permitOf(seenOf(5 * MINUTE))]
  expect(kindsOf({ ...seenOf(0, { members: { replaced: 1 } }), permits })).toEqual(['ReportResult', 'Put'])
})

test('a host that keeps credentials itself is told what is declared of rotations, and what clients report', () => {
  const own = { declared: { ca: 1 }, rotations: [], signer: 'print' }
  const { cluster, ...rest } = seenOf(0, { own, members: { replaced: 0 } })
  const spec = { ...cluster.spec, controlPlane: { flavor: 'kubernetes', rotation: { certificateAuthority: 2 } } }
  const agents = [{ machine: 'm-1', authorities: ['print'] }]
  const kubeconfig = { ...GOOD, signedBy: 'print', from: NOW - 1, until: NOW + 86_400_000 }
  const seen = { ...rest, cluster: { ...cluster, spec } as Cluster, agents, kubeconfig }
  const put = plan(seen, NOW).actions.find((a) => a.kind === 'Put')
  expect(put?.kind === 'Put' && put.request.rotation).toEqual({
    declared: { ca: 2 },
    agents: [...agents, { machine: 'the kubeconfig of sync', authorities: [], signedBy: 'print' }],
  })
})
