// Snapshots that a Cluster declares to be taken again and again, of both flavors, through the whole controller: taken, opened, kept as many as declared, and a user's
// own in between. Pods are played.
import { afterEach, expect, test } from 'vitest'
import { onlyInFull } from '#test/support/tools/full.ts'
import type { Cluster } from '#api/kinds/cluster.ts'
import { programUser, SYSTEM_NAMESPACE } from '#api/names.ts'
import { PlaneRecords } from '#controlplanes/kubernetes/plane-record.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { timestamp } from '#lib/clock.ts'
import {
  PLAYED_NAMESPACE as namespace,
  playedClusters,
  type PlayedClusters,
} from '#test/support/worlds/played-clusters.ts'
import { clusterWorld, type ClusterWorld } from '#test/support/worlds/cluster-world.ts'

const HOUR = 3_600_000
const JOBS = coreKind('Job')

let world: (PlayedClusters | ClusterWorld) | undefined
afterEach(async () => {
  await world?.close()
  world = undefined
})

const namesOf = ({ status }: Cluster): readonly string[] => (status?.snapshots ?? []).map((s) => s.name)
const scheduled = (cluster: Cluster): readonly string[] => namesOf(cluster).filter((n) => n.startsWith('scheduled-'))
const toldOf = ({ status }: Cluster): string => status?.snapshotSchedule?.message ?? ''

test('of flavor embedded one is taken at once, opened, and the next one is due after the interval', async () => {
  const w = (world = await clusterWorld())
  await w.declare('one', { controlPlane: { flavor: 'embedded', snapshots: { every: '2h', keep: 2 } } })
  let seen: Cluster | undefined
  await w.until(
    'there is a snapshot',
    async () => (seen = await w.get('one'))?.status?.snapshotSchedule?.last !== undefined,
  )
  const { snapshots = [], snapshotSchedule, conditions = [] } = seen?.status ?? {}
  expect(snapshots).toHaveLength(1)
  expect(snapshotSchedule).toMatchObject({ last: snapshots[0]?.name, lastAt: snapshots[0]?.takenAt })
  expect(Date.parse(snapshotSchedule?.nextAt ?? '') - Date.parse(snapshots[0]?.takenAt ?? '')).toBe(2 * HOUR)
  expect(conditions.find((c) => c.type === 'SnapshotsCurrent')?.status).toBe('True')
})

test('of flavor kubernetes the oldest is dropped once the newer one was opened, and what it waits for is in the status', async (context) => {
  onlyInFull(context)
  const wild = { isHeld: true, isFull: false }
  const w = (world = await playedClusters({ holdsJobs: () => wild.isHeld, failsJobs: () => wild.isFull }))
  await w.startController(w.newHost())
  await w.declareKubernetes('1.35.9')
  await w.untilSeen('it is Ready', ({ status }) => status?.phase === 'Ready')
  await w.stopController()
  const records = new PlaneRecords(w.admin, programUser('cluster'))
  const kept = await records.read(`${SYSTEM_NAMESPACE}.one`)
  if (kept === undefined || kept === 'Taken') throw new Error('there is no record')
  const old = (hours: number, slot: number) => ({
    name: `scheduled-${hours}`,
    slot,
    takenAt: timestamp(Date.now() - hours * HOUR),
    version: '1.35.9',
    bytes: 1,
    objects: 1,
  })
  await records.write(kept, { ...kept.record, snapshots: [old(9, 0), old(7, 1)] })
  await w.startController(w.newHost())
  const snapshots = { every: '6h', keep: 2 }
  await w.declareKubernetes('1.35.9', { snapshots })
  const waits = await w.untilSeen('it waits for its Job', (c) => /Job snapshot-\w+ takes the snapshot/.test(toldOf(c)))
  expect(waits.status).toMatchObject({ phase: 'Ready', snapshotSchedule: { last: 'scheduled-7' } })
  expect(waits.status?.waitingFor).toBeUndefined()
  expect(scheduled(waits)).toEqual(['scheduled-9', 'scheduled-7'])

  // A user's own takes its turn: the Job that wrote the same file has ended before.
  await w.declareKubernetes('1.35.9', { snapshots, snapshot: 'mine' })
  const before = (await w.admin.list(JOBS, { namespace })).items.map((j) => j.metadata.name)
  await w.until('the other Job is there', async () => {
    const now = (await w.admin.list(JOBS, { namespace })).items.map((j) => j.metadata.name)
    return now.length === 1 && now[0] !== before[0]
  })
  wild.isHeld = false
  const done = await w.untilSeen(
    'both are there',
    (c) => namesOf(c).includes('mine') && scheduled(c).length === 2 && !scheduled(c).includes('scheduled-9'),
  )
  const [, newest = ''] = scheduled(done)
  expect(scheduled(done)).toEqual(['scheduled-7', newest])
  expect(newest).toMatch(/^scheduled-\d{8}t\d{6}z$/)
  await w.untilSeen(
    'the next one is due later',
    (c) => c.status?.snapshotSchedule?.last !== 'scheduled-7' && toldOf(c) === '',
  )
})

test('a snapshot that fails drops none, has the reason, and is tried again after a while', async () => {
  const w = (world = await playedClusters({ failsJobs: () => true }))
  await w.startController(w.newHost())
  await w.declareKubernetes('1.35.9', { snapshots: { every: '6h', keep: 1 } })
  const failed = await w.untilSeen('it failed', (c) =>
    /save: Error: .*no space left on device; tried again at /.test(toldOf(c)),
  )
  expect([failed.status?.phase, failed.status?.snapshots]).toEqual(['Ready', []])
  // No Job after Job meanwhile.
  expect((await w.admin.list(JOBS, { namespace })).items).toEqual([])
})
