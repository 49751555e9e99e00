import { expect, test } from 'vitest'
import type { ReportAnswer } from '../report.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import type { ClusterState } from './cluster-cache.ts'
import { OwnCounts } from './own-counts.ts'
import { KeptReports, reportAnswer } from './report-answer.ts'

const asked = { client: {} as never, cluster: 'prod', now: Date.parse('2026-11-28T00:00:00Z'), hubs: [] }

test.each([
  ['component', '7d'],
  ['fleet', '32d'],
  ['fleet', '0s'],
  ['fleet', 'yesterday'],
])('a report %s over %s is refused before anything is read', async (kind, since) => {
  await expect(reportAnswer({ ...asked, kind, since })).rejects.toThrow('a report is one of')
})

test('the same question is answered once in half a minute, a failure is asked again, and another user asks for themselves', async () => {
  const kept = new KeptReports()
  let made = 0
  const make = () => Promise.resolve({ command: String(++made) } as ReportAnswer)
  const ask = async (key: string, at: number) => (await kept.of(key, at, make)).command
  expect([await ask('ada', 0), await ask('ada', 29_000), await ask('bob', 29_000), await ask('ada', 30_000)]).toEqual([
    '1',
    '1',
    '2',
    '3',
  ])
  await expect(kept.of('eve', 40_000, () => Promise.reject(new Error('away')))).rejects.toThrow('away')
  expect(await ask('eve', 40_001)).toBe('4')
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
