// Tests that dropped days leave their sums, that the state at later moments stays known, and that a full disk loses nothing.
import { afterEach, expect, test } from 'vitest'
import { HistoryWorld } from '#test/support/worlds/history-world.ts'
import { DEFAULT_BOUNDS } from '../record/bounds.ts'
import { createHistoryMetrics } from '../record/metrics.ts'
import { Recorder } from '../record/recorder.ts'
import { type Held, heldOf } from '../record/held.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { silentLogger } from '#lib/log.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dropOldestDay, dropOldestDeeds } from './drop-days.ts'
import { type DeedLine, beginningOf, chainProblem, chained } from '../deeds/chain.ts'
import { openForRecording } from './file.ts'
import { HistoryWriter } from './writer.ts'
import { shapeOfKind } from '../facts/shapes.ts'
import { NO_FACTS } from '../facts/transition.ts'
import { HistoryReader } from '../ask/reader.ts'

const DAY_MS = 86_400_000
let w: HistoryWorld | undefined
const folders: string[] = []
afterEach(async () => {
  await w?.end()
  w = undefined
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

test('days beyond the bound are summed up and dropped; what was known after them is still known', async () => {
  w = new HistoryWorld({ bounds: { days: 3 } })
  w.plantNode('quiet')
  w.plantNode('busy')
  const part = await w.recorder()
  for (let day = 0; day < 6; day++) {
    for (let n = 0; n < 5; n++) {
      w.setReady('busy', n % 2 === 0 ? 'False' : 'True')
      await w.clock.advance(5_000)
    }
    // The recorder reads its clock four times a second: too often to wait for a day.
    w.clock.jumpWall(DAY_MS - 25_000)
    await w.clock.advance(1_000)
  }
  const now = w.clock.now()
  await part.stop()
  w.read((r) => {
    expect(r.days().map((d) => d.day)).toEqual(['2026-01-05', '2026-01-06', '2026-01-07'])
    expect(r.days()[0]?.sums['status/conditions/Ready']).toBeGreaterThan(5)
    expect(r.span()?.begins).toBe(Date.UTC(2026, 0, 8))
    const [quiet] = r.subjects('Node', 'quiet')
    // It has not changed since the first day.
    expect(quiet && r.stateOf(quiet, now).some((f) => f.topic === 'status/conditions/Ready')).toBe(true)
    expect(r.subjects('Node').length).toBe(2)
  })
})

test('today is never dropped, however large', async () => {
  w = new HistoryWorld({ bounds: { maxBytes: 1 } })
  w.plantNode('a')
  const part = await w.recorder()
  w.clock.jumpWall(2 * 3_600_000)
  await w.clock.advance(2_000)
  await part.stop()
  expect(w.readyOf('a')).toEqual(['True'])
})

/** A recorder on a bounded file, which acts like a full disk. */
function onSmallDisk(pages: number) {
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-small-'))
  folders.push(folder)
  const clock = new VirtualClock()
  const { db } = openForRecording(folder, 'c', clock.now())
  const limit = (most: number) => db.exec(`PRAGMA max_page_count = ${most}`)
  const writer = new HistoryWriter(db)
  const shape = shapeOfKind('Node')
  if (shape === undefined) throw new Error('nodes are recorded')
  const bounds = { ...DEFAULT_BOUNDS, waiting: 500 }
  const recorder = new Recorder({
    cluster: 'c',
    writer,
    clock,
    log: silentLogger,
    bounds,
    metrics: createHistoryMetrics(createMetrics()),
  })
  const held = heldOf(shape, writer.names)
  const node = (n: number) =>
    held({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: `n-${n}`, uid: `uid-${n}`, labels: { zone: `z-${n}-${'x'.repeat(200)}` } },
    })
  limit(pages)
  return { folder, clock, recorder, shape, node, limit, db }
}

test('on a full disk nothing is lost: rows and watches wait, and the wait is a gap', async () => {
  const { folder, clock, recorder, shape, node, limit, db } = onSmallDisk(20)
  recorder.start()
  let waits: Promise<void> | undefined
  let n = 0
  for (; n < 5_000 && waits === undefined; n++) {
    waits = recorder.changed(shape, undefined, node(n))
    if (n % 100 === 0) await clock.advance(500)
  }
  expect(waits).toBeDefined()
  expect(recorder.waiting).toBeGreaterThanOrEqual(500)
  await clock.advance(10_000)
  limit(100_000)
  await clock.advance(60_000)
  await waits
  recorder.stop()
  db.close()
  const reader = new HistoryReader(folder, 'c')
  try {
    expect(reader.subjects('Node').length).toBe(n)
    expect(reader.gaps().map((g) => g.why)).toContain('QueueFull')
  } finally {
    reader.close()
  }
})

test('on a full disk lines of who did what wait too, and the watches with them', () => {
  const { recorder, limit, db } = onSmallDisk(100_000)
  const shape = shapeOfKind('NodeRemedier')
  if (shape === undefined) throw new Error('rules are recorded')
  const metadata = { name: 'r', uid: 'u' }
  const rule = (generation: number): Held => ({
    apiVersion: '',
    kind: shape.type.kind,
    metadata,
    packed: NO_FACTS,
    source: { apiVersion: '', kind: shape.type.kind, metadata: { ...metadata, generation } },
  })
  void recorder.changed(shape, undefined, rule(0))
  limit(1)
  let waits: Promise<void> | undefined
  for (let n = 0; n < 5_000 && waits === undefined; n++) waits = recorder.changed(shape, rule(n), rule(n + 1))
  expect(waits).toBeDefined()
  expect(recorder.waiting).toBe(500)
  limit(100_000)
  recorder.stop()
  db.close()
})

test('a day of many objects is dropped in one call', () => {
  const { db, recorder, shape, node, clock, limit } = onSmallDisk(100_000)
  limit(100_000)
  for (let n = 0; n < 200; n++) void recorder.changed(shape, undefined, node(n))
  for (let n = 0; n < 200; n++) void recorder.changed(shape, node(n), undefined)
  recorder.stop()
  expect(dropOldestDay(db, { days: 1, maxBytes: 1e9 }, clock.now() + 3 * DAY_MS)).toMatchObject({ day: '2026-01-05' })
  expect(db.prepare('SELECT count(*) AS n FROM row').get()).toEqual({ n: 0 })
  expect(db.prepare('SELECT count(*) AS n FROM subject').get()).toEqual({ n: 0 })
  expect(db.prepare('SELECT count(*) AS n FROM value').get()).toEqual({ n: 0 })
  db.close()
})

test('who did what keeps within its share of the size: the oldest lines go, and the chain of the others is whole', () => {
  const { db, folder } = onSmallDisk(100_000)
  const writer = new HistoryWriter(db)
  let last: Pick<DeedLine, 'n' | 'digest'> = { n: 0, digest: beginningOf('c') }
  const deeds = Array.from({ length: 50 }, (_, i) => {
    const line = chained(
      { who: 'ada', did: 'created', object: `set/s-${i}` },
      { n: last.n + 1, cluster: 'c', observed: i, prev: last.digest },
    )
    last = line
    return line
  })
  writer.write({ rows: [], gaps: [], deeds, now: 1 })
  expect(dropOldestDeeds(db, { maxBytes: 20 * 4 * 512 })).toBe(30)
  expect(dropOldestDeeds(db, { maxBytes: 20 * 4 * 512 })).toBe(0)
  const reader = new HistoryReader(folder, 'c')
  const kept = [...reader.deeds()]
  expect([kept.length, kept[0]?.n, chainProblem(kept)]).toEqual([20, 31, undefined])
  expect([reader.deedsAbout(['s-0']).length, reader.deedsAbout(['s-49']).length]).toEqual([0, 1])
  reader.close()
})
