import { expect, onTestFinished, test } from 'vitest'
import { remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { CLUSTER, HistoryWorld } from '#test/support/worlds/history-world.ts'
import type { ClusterState } from './cluster-cache.ts'
import { OwnCounts } from './own-counts.ts'
import { atOnce } from '#lib/steps.ts'
import { Recorded } from './recorded.ts'
import { reportAnswer } from './report-answer.ts'
import { type Readable, topicsOf } from './rights.ts'
import { WATCHED_KINDS, type WatchedKind } from './watched-kinds.ts'

const asked = {
  client: {} as never,
  cluster: 'prod',
  now: Date.parse('2026-11-28T00:00:00Z'),
  hubs: [],
  past: () => Promise.resolve(undefined),
}

test.each([
  ['component', '7d'],
  ['fleet', '32d'],
  ['fleet', '0s'],
  ['fleet', 'yesterday'],
])('a report %s over %s is refused before anything is read', async (kind, since) => {
  await expect(reportAnswer({ ...asked, kind, since })).rejects.toThrow('a report is one of')
})

const clusterOf = (state: string, ready: readonly boolean[]) =>
  ({
    name: 'prod',
    state,
    list: (what: string) =>
      what === 'machines' ? ready.map((isReady) => ({ state: { isReady, silent: isReady ? 'No' : 'Yes' } })) : [],
  }) as unknown as ClusterState

test('counts are kept for six hours, and a cluster that does not answer leaves a gap', async () => {
  const clock = new VirtualClock(0)
  let cluster = clusterOf('Connected', [true, false])
  const counts = new OwnCounts(clock, () => [cluster])
  counts.start()
  await clock.advance(60_000)
  expect(counts.of('prod')).toEqual([
    { at: 30_000, total: 2, ready: 1, silent: 1, repairing: 0 },
    { at: 60_000, total: 2, ready: 1, silent: 1, repairing: 0 },
  ])
  cluster = clusterOf('Unreachable', [])
  await clock.advance(60_000)
  expect(counts.of('prod')).toHaveLength(2)
  cluster = clusterOf('Connected', [true])
  await clock.advance(7 * 3_600_000)
  expect(counts.of('prod')).toHaveLength(720)
  counts.stop()
})

const rightsTo = (...kinds: readonly WatchedKind[]): Readable =>
  new Map([[CLUSTER, { topics: topicsOf(new Set(kinds)), kinds: new Set(kinds), seesTrouble: true }]])

/** A node was down for ten minutes, and its repair has been deleted since. */
async function pastOutage(): Promise<HistoryWorld> {
  const w = new HistoryWorld()
  onTestFinished(() => w.end())
  w.plantNode('n-1')
  const part = await w.recorder()
  await w.clock.advance(60_000)
  w.setReady('n-1', 'False')
  const { example } = remedyOperationJob
  w.kube.plant(remedyOperationJob, { ...example, apiVersion: 'kubenode.io/v1alpha1', kind: 'RemedyOperationJob' })
  const name = example.metadata.name ?? ''
  await w.clock.advance(600_000)
  w.setReady('n-1', 'True')
  w.kube.poke(remedyOperationJob, { name }, { status: { phase: 'Done', outcome: 'Succeeded' } }, 'status')
  await w.clock.advance(60_000)
  w.kube.uproot(remedyOperationJob, { name })
  await w.clock.advance(60_000)
  await part.stop()
  return w
}

test('faults that ended and repairs that were deleted come from the history, of kinds that the user may list', async () => {
  const w = await pastOutage()
  const recorded = new Recorded(w.folder)
  const reported = async (readable: Readable) => {
    const { report } = await reportAnswer({
      client: w.kube.client({ actor: 'ada' }),
      cluster: CLUSTER,
      kind: 'repairs',
      since: '1d',
      now: w.clock.now(),
      hubs: [],
      past: (range) => Promise.resolve(atOnce(recorded.reported(readable, CLUSTER, range))),
    })
    const rows = (title: string) =>
      report.sections.find((s) => s.title === title)?.rows.map((r) => r.map((c) => c.text).join(' '))
    return {
      faults: rows('Faults by kind'),
      repairs: rows('Repairs by rule')?.length,
      isWithout: report.unknown.some((u) => u.includes('no history is recorded')),
    }
  }
  const NOT_READY = ['NotReady 1 0 1']
  expect(await reported(rightsTo(...WATCHED_KINDS))).toEqual({ faults: NOT_READY, repairs: 1, isWithout: false })
  expect(await reported(rightsTo('nodes'))).toEqual({ faults: NOT_READY, repairs: 0, isWithout: false })
  expect(await reported(rightsTo('jobs'))).toEqual({ faults: [], repairs: 1, isWithout: false })
  expect(await reported(new Map())).toEqual({ faults: [], repairs: 0, isWithout: true })
})
