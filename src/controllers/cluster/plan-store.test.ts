// A control plane whose etcd is full, or mostly free space: only helpful steps start, each rewrite needs a permit, and the message has what a person
// must do.
import { describe, expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import { FINALIZERS } from '#api/names.ts'
import type { ControlPlane, StoreState } from '#controlplanes/port.ts'
import { MIB } from '#lib/bytes.ts'
import { timestamp } from '#lib/clock.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { QUIET } from '#test/doubles/quiet-cluster.ts'
import { runningPlane } from '#test/doubles/running-plane.ts'
import { clusterFigures } from './metrics.ts'
import { plan } from './plan.ts'
import type { Seen } from './seen.ts'
import { statusOf } from './status.ts'

const NOW = Date.UTC(2030, 0, 1)
const SINCE = '2029-12-31T23:50:00Z'
const FULL: StoreState = {
  bytes: 100 * MIB,
  inUseBytes: 95 * MIB,
  quotaBytes: 100 * MIB,
  fullSince: SINCE,
  isWorthDefragmenting: false,
  defragmented: 0,
}

const seenOf = (store: StoreState, version = '1.36.0', spec: object = {}, plane: Partial<ControlPlane> = {}): Seen => ({
  ...QUIET,
  addons: 'v',
  cluster: {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Cluster',
    metadata: { namespace: 'fleet', name: 'one', uid: 'u-1', finalizers: [FINALIZERS.cluster] },
    spec: { version, controlPlane: { flavor: 'kubernetes', ...spec }, deletionPolicy: 'Delete' },
    status: { phase: 'Ready', addons: [{ name: 'kubenode', version: 'v', healthy: 'True' }] },
  } as unknown as Cluster,
  plane: { ...runningPlane('fleet.one'), owner: 'u-1', store, ...plane },
  host: {
    name: 'kubernetes',
    capabilities: { isHighlyAvailable: true, keepsCredentials: true, minors: ['1.36', '1.37'], most: 9 },
  },
  kubeconfig: undefined,
})

/** The Defender grants what is requested. */
function granted(seen: Seen) {
  const ask = plan(seen, NOW).actions.find((a) => a.kind === 'RequestPermit')
  if (ask?.kind !== 'RequestPermit') throw new Error('no permit is requested')
  const permit = {
    metadata: { name: ask.permit, uid: 'p-1', creationTimestamp: timestamp(NOW) },
    spec: ask.request,
    status: {
      phase: 'Granted',
      verdicts: [{ target: 'u-1', verdict: 'Granted' }],
      expiresAt: timestamp(NOW + 3_600_000),
    },
  } as unknown as Seen['permits'][number]
  return { name: ask.permit, permit, ...plan({ ...seen, permits: [permit] }, NOW) }
}
const kindsOf = (seen: Seen) => plan(seen, NOW).actions.map((a) => a.kind)

describe('a full store', () => {
  test('is named with its sizes and what a person does, and the Cluster is not Ready', async () => {
    const seen = seenOf(FULL)
    const planned = plan(seen, NOW)
    expect([planned.phase, planned.wait]).toEqual([
      'Failed',
      {
        predicate: 'EtcdFull',
        seen: `etcd takes no writes since ${SINCE}: its largest member has 100 MiB (quota 100 MiB), 95 MiB of them in use`,
        unblock:
          'objects that nothing needs are deleted (deletions still work), or a commit raises controlPlane.extraArgs etcd.quota-backend-bytes above 116508445 for volumes with room; the rest is done by itself',
      },
    ])
    expect(planned.actions.map((a) => a.kind)).toEqual(['Put'])
    const status = statusOf(seen, planned, [], NOW)
    expect(status.conditions?.find((c) => c.type === 'Ready')).toMatchObject({ status: 'False', reason: 'EtcdFull' })
    const { registry } = createMetrics()
    const figures = clusterFigures(registry, () => [{ ...seen.cluster, status }, seen.cluster])
    await figures.start(new AbortController().signal)
    expect(await registry.metrics()).toContain('kubenode_control_planes_with_full_store 1')
  })

  test('begins no version: the one that runs is kept', () => {
    const { actions, wait } = plan(seenOf(FULL, '1.37.0'), NOW)
    expect(actions).toMatchObject([{ kind: 'Put', request: { version: '1.36.0' } }])
    expect(wait?.predicate).toBe('EtcdFull')
  })

  test('does not turn a change that was begun into another one', () => {
    const change = { from: '1.36.0', to: '1.37.0', message: 'x', wayBack: 'Programs' } as const
    expect(plan(seenOf(FULL, '1.37.0', {}, { change }), NOW).actions).toMatchObject([
      { kind: 'Put', request: { version: '1.37.0' } },
    ])
  })

  test.each([
    ['of a store with room begins', 40 * MIB, 'RequestPermit'],
    ['of one that was as full does not', 95 * MIB, 'Put'],
  ])('a restore %s', (_, bytes, kind) => {
    const snapshots = [{ name: 'before', takenAt: SINCE, version: '1.36.0', bytes, objects: 1 }]
    const restore = { snapshot: 'before', attempt: 1 }
    expect(kindsOf(seenOf(FULL, '1.36.0', { restore }, { snapshots }))).toEqual([kind])
  })

  test('is defragmented with a permit alone, and waits for it by name', () => {
    const seen = seenOf({ ...FULL, inUseBytes: 10 * MIB, isWorthDefragmenting: true, defragmented: 4 })
    expect(kindsOf(seen)).toEqual(['Put', 'RequestPermit'])
    expect(plan(seen, NOW).wait?.predicate).toBe('PermitRequested')
    const { name, actions, wait } = granted(seen)
    expect(name).toContain('-defragment-5-b0')
    expect(actions).toMatchObject([
      { kind: 'RenewPermit' },
      { kind: 'Defragment', number: 5 },
      { kind: 'ReportResult' },
    ])
    expect(wait?.predicate).toBe('EtcdFull')
  })
})

describe('a store with much free space in its files', () => {
  const { fullSince: _, ...roomy } = { ...FULL, bytes: 60 * MIB, inUseBytes: 10 * MIB, isWorthDefragmenting: true }
  const good = {
    owner: 'u-1',
    endpoint: 'https://127.0.0.1:7000',
    ca: 'ca',
    authorities: [],
    signedBy: undefined,
    from: NOW - 1,
    until: NOW + 86_400_000,
  }

  test('is defragmented with a permit, and the Cluster stays Ready', () => {
    const seen = { ...seenOf(roomy), kubeconfig: good }
    expect(plan(seen, NOW)).toMatchObject({ phase: 'Ready', wait: undefined })
    expect(kindsOf(seen)).toEqual(['Put', 'RequestPermit'])
    expect(granted(seen).actions.map((a) => a.kind)).toEqual(['Put', 'RenewPermit', 'Defragment', 'ReportResult'])
  })

  test('a permit whose work another pass finished is reported, and no other one is requested', () => {
    const { permit } = granted({ ...seenOf(roomy), kubeconfig: good })
    const after = { ...seenOf({ ...roomy, isWorthDefragmenting: false, defragmented: 1 }), kubeconfig: good }
    expect(kindsOf({ ...after, permits: [permit] })).toEqual(['ReportResult', 'Put'])
  })

  test('is left alone while a version changes', () => {
    expect(kindsOf({ ...seenOf(roomy, '1.37.0'), kubeconfig: good })).toEqual(['RequestPermit'])
  })
})
