// A Cluster whose flavor the hub no longer serves: its control plane keeps running, and its status claims nothing that the hub cannot observe.
import { expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import { FINALIZERS } from '#api/names.ts'
import { findCondition } from '#kube/conditions.ts'
import { timestamp } from '#lib/clock.ts'
import { QUIET } from '#test/doubles/quiet-cluster.ts'
import { plan } from './plan.ts'
import type { Seen } from './seen.ts'
import { statusOf } from './status.ts'

const NOW = Date.UTC(2030, 0, 1)

const seenOf = (metadata: object, spec: object = {}): Seen => ({
  ...QUIET,
  addons: 'v',
  cluster: {
    metadata: { namespace: 'fleet', name: 'one', uid: 'u-1', creationTimestamp: timestamp(NOW), ...metadata },
    spec: { version: '1.36.0', controlPlane: { flavor: 'kubernetes' }, deletionPolicy: 'Delete', ...spec },
    status: { phase: 'Ready' },
  } as unknown as Cluster,
  plane: undefined,
  host: { name: 'embedded', capabilities: { isHighlyAvailable: false, minors: ['1.36'], most: 9 } },
  kubeconfig: undefined,
})
const MADE = { finalizers: [FINALIZERS.cluster] }
const DELETED = { deletionTimestamp: timestamp(NOW) }

test('stays what it was, and its API server is neither well nor broken', () => {
  const seen = seenOf(MADE)
  const planned = plan(seen, NOW)
  expect(planned).toMatchObject({ actions: [], phase: 'Ready', wait: { predicate: 'FlavorNotServed' } })
  expect(planned.wait?.unblock).toBe(
    'a commit declares a new Cluster of flavor embedded; or the settings of an installed hub get controlPlanes.kubernetes',
  )
  const status = statusOf(seen, planned, [], NOW)
  expect(findCondition(status.conditions, 'Ready')).toMatchObject({ status: 'Unknown', reason: 'FlavorNotServed' })
})

test('that is to be deleted waits for its host: without it the control plane would be left behind', () => {
  const planned = plan(seenOf({ ...MADE, ...DELETED }), NOW)
  expect(planned).toMatchObject({ actions: [], phase: 'Deleting', wait: { predicate: 'FlavorNotServed' } })
})

test('that is to be kept may be deleted without its host', () => {
  const planned = plan(seenOf({ ...MADE, ...DELETED }, { deletionPolicy: 'Orphan' }), NOW)
  expect(planned.actions.map((a) => a.kind)).toEqual(['RemoveFinalizer'])
})

test('does not expire out of sight', () => {
  const planned = plan(seenOf(MADE, { ttl: '1h' }), NOW + 48 * 3_600_000)
  expect(planned).toMatchObject({ actions: [], wait: { predicate: 'FlavorNotServed' } })
})

test('of which nothing was made waits, and expires like any other', () => {
  expect(plan(seenOf({}), NOW)).toMatchObject({ actions: [], wait: { predicate: 'FlavorNotServed' } })
  const status = statusOf(seenOf({}), plan(seenOf({}), NOW), [], NOW)
  expect(findCondition(status.conditions, 'Ready')).toMatchObject({ status: 'False', reason: 'FlavorNotServed' })
  const late = plan(seenOf({}, { ttl: '1h' }), NOW + 48 * 3_600_000)
  expect(late.actions.map((a) => a.kind)).toEqual(['DeleteCluster'])
})
