// What a recorder takes and what questions cost: so many transitions a second for ten seconds, then a history of a million rows that is asked.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { KubeObject } from '#api/schema/object.ts'
import { timestamp } from '#lib/clock.ts'
import { silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { systemClock } from '#lib/system-clock.ts'
import { lifeOf } from '#history/ask/lives.ts'
import { HistoryReader } from '#history/ask/reader.ts'
import { shapeOfKind } from '#history/facts/shapes.ts'
import { DEFAULT_BOUNDS } from '#history/record/bounds.ts'
import { type Held, heldOf } from '#history/record/held.ts'
import { createHistoryMetrics } from '#history/record/metrics.ts'
import { Recorder } from '#history/record/recorder.ts'
import { bytesOf } from '#history/store/drop-days.ts'
import { openForRecording } from '#history/store/file.ts'
import { ROWS_PER_MS } from '#history/store/layout.ts'
import { HistoryWriter } from '#history/store/writer.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { type BenchOptions, type BenchResult, type Figures, median, rounded } from './result.ts'

const NODES = 10_000
const PER_SECOND = 5_000
const SECONDS = 10
const ROWS = 1_000_000
/** What a node of a large fleet goes through. */
const TRANSITIONS_A_DAY = 20
const STEP_MS = 50
const MIB = 1024 * 1024
const GIB = 1024 ** 3
const CLUSTER = 'bench'

export const smoke: Figures = { nodes: 200, per_second: 500, seconds: 1, rows: 5_000 }

const CONDITIONS = [
  'Ready',
  'DiskSpaceLow',
  'MemoryPressure',
  'PIDPressure',
  'KubeletUnhealthy',
  'TasksHung',
  'ClockSkewed',
  'FilesystemReadOnly',
]

/** A Node as kubelets write it; condition `flipped` of it changed at this time. */
function node(n: number, flipped: number, at: number): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: `prod-1-worker-${n}`,
      uid: `00000000-0000-0000-0000-${String(n).padStart(12, '0')}`,
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: {
        'kubernetes.io/hostname': `prod-1-worker-${n}`,
        'topology.kubernetes.io/zone': `zone-${n % 3}`,
        'kubenode.io/pool': 'workers',
      },
    },
    spec: { taints: [] },
    status: {
      conditions: CONDITIONS.map((type, i) => ({
        type,
        status: (i === flipped % CONDITIONS.length) === (i === 0) ? 'False' : i === 0 ? 'True' : 'False',
        reason: i === flipped % CONDITIONS.length ? `Changed${flipped % 7}` : 'AsUsual',
        message: i === flipped % CONDITIONS.length ? `seen ${flipped} times in 5m` : 'all is as usual',
        lastTransitionTime: timestamp(i === flipped % CONDITIONS.length ? at : 1_767_225_600_000),
      })),
      nodeInfo: { kubeletVersion: 'v1.36.0', kernelVersion: '6.12.0', bootID: `boot-${n}`, architecture: 'amd64' },
    },
  }
}

interface Recording {
  readonly folder: string
  readonly writer: HistoryWriter
  readonly recorder: Recorder
  readonly hold: (object: KubeObject) => Held
  readonly bytes: () => number
}

const nodes = () => {
  const shape = shapeOfKind('Node')
  if (shape === undefined) throw new Error('nodes are recorded')
  return shape
}

function recording(): Recording {
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-bench-history-'))
  const { db } = openForRecording(folder, CLUSTER, systemClock.now())
  const writer = new HistoryWriter(db)
  const recorder = new Recorder({
    cluster: CLUSTER,
    writer,
    clock: systemClock,
    log: silentLogger,
    // The bench flips a node more often than any real one.
    bounds: { ...DEFAULT_BOUNDS, rowsPerHour: Number.MAX_SAFE_INTEGER },
    metrics: createHistoryMetrics(createMetrics()),
  })
  return { folder, writer, recorder, hold: heldOf(nodes(), writer.names), bytes: () => bytesOf(db) }
}

/** Transitions at a steady rate, as watches deliver them. */
async function storm(count: number, perSecond: number, seconds: number): Promise<Figures> {
  const { folder, writer, recorder, hold } = recording()
  const shape = nodes()
  try {
    const held = Array.from({ length: count }, (_, n) => hold(node(n, 0, systemClock.now())))
    for (const one of held) await recorder.changed(shape, undefined, one)
    recorder.start()
    await systemClock.sleep(500)
    const before = rowsIn(folder)
    const cpu = process.cpuUsage()
    let [flips, waited, most, rss] = [0, 0, 0, 0]
    for (let step = 0; step < (seconds * 1_000) / STEP_MS; step++) {
      const startedAt = systemClock.monotonic()
      for (let i = 0; i < (perSecond * STEP_MS) / 1_000; i++, flips++) {
        const n = (flips * 7) % count
        const after = hold(node(n, flips, systemClock.now()))
        const wait = recorder.changed(shape, held[n], after)
        held[n] = after
        if (wait !== undefined) {
          waited++
          await wait
        }
      }
      most = Math.max(most, recorder.waiting)
      rss = Math.max(rss, process.memoryUsage.rss())
      await systemClock.sleep(Math.max(0, STEP_MS - (systemClock.monotonic() - startedAt)))
    }
    const { user, system } = process.cpuUsage(cpu)
    recorder.stop()
    writer.close()
    const reader = new HistoryReader(folder, CLUSTER)
    // Of each flip two conditions differ, or one: what is held against the file is the state of each node.
    const lost = held.filter((one, n) => !isRecorded(reader, n, one)).length
    reader.close()
    return {
      transitions_per_s: perSecond,
      rows: rowsIn(folder) - before,
      nodes_lost: lost,
      waits: waited,
      most_waiting: most,
      cpu_percent: rounded((user + system) / 10_000 / seconds),
      rss_mib: rounded(rss / MIB),
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function rowsIn(folder: string): number {
  const reader = new HistoryReader(folder, CLUSTER)
  try {
    return reader.rowCount()
  } finally {
    reader.close()
  }
}

function isRecorded(reader: HistoryReader, n: number, held: Held): boolean {
  const [subject] = reader.subjects('Node', `prod-1-worker-${n}`)
  return (
    subject !== undefined &&
    reader.stateOf(subject, Number.MAX_SAFE_INTEGER / ROWS_PER_MS - 1).length === held.packed.length / 3
  )
}

/** A history of so many rows over a month, and what questions of it cost. */
function asked(count: number, rows: number): Figures {
  const { folder, writer, recorder, bytes } = recording()
  recorder.stop()
  try {
    const random = seededRandom(1)
    const { names } = writer
    const values = Array.from({ length: 400 }, (_, i) =>
      names.value(
        `{"message":"seen # times in #","reason":"R${i}","status":"${i % 2 === 0 ? 'True' : 'False'}","type":"T"}`,
      ),
    )
    const topics = CONDITIONS.map((type) => names.topic(`status/conditions/${type}`))
    const subjects = Array.from({ length: count }, (_, n) =>
      names.subject({ kind: 'Node', namespace: '', name: `prod-1-worker-${n}`, uid: `uid-${n}` }),
    )
    const begins = systemClock.now() - 30 * 86_400_000
    const empty = bytes()
    for (let done = 0; done < rows;) {
      const batch = Array.from({ length: Math.min(4_000, rows - done) }, (_, i) => {
        const observed = begins + Math.floor(((done + i) / rows) * 30 * 86_400_000)
        return {
          subject: random.pick(subjects),
          topic: random.pick(topics),
          value: random.pick(values),
          reported: observed - 1_000,
          observed,
        }
      })
      writer.write({ rows: batch, gaps: [], deeds: [], now: systemClock.now() })
      done += batch.length
    }
    const perRow = (bytes() - empty) / rows
    writer.close()
    const reader = new HistoryReader(folder, CLUSTER)
    const timed = (what: () => void): number => {
      const at = systemClock.monotonic()
      what()
      return systemClock.monotonic() - at
    }
    const all = { from: 0, to: systemClock.now() + 1 }
    const oneNode = Array.from({ length: 50 }, () =>
      timed(() => void lifeOf(reader, 'Node', `prod-1-worker-${random.below(count)}`, all)),
    )
    const fleet = [1, 2, 3].map(() =>
      timed(() => void [...reader.statesAt('Node', systemClock.now() - 86_400_000)].length),
    )
    const scan = [1, 2, 3].map(() =>
      timed(() => {
        let n = 0
        for (const _ of reader.rows()) n++
        return n
      }),
    )
    reader.close()
    return {
      asked_rows: rows,
      bytes_per_row: rounded(perRow),
      year_of_10000_nodes_gib: rounded((perRow * NODES * TRANSITIONS_A_DAY * 365) / GIB),
      one_node_ms: rounded(median(oneNode)),
      fleet_at_a_moment_ms: rounded(median(fleet)),
      replay_ms: rounded(median(scan)),
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export async function run({ numbers }: BenchOptions): Promise<BenchResult> {
  const { nodes: count = NODES, per_second: perSecond = PER_SECOND, seconds = SECONDS, rows = ROWS } = numbers
  const figures = { ...(await storm(count, perSecond, seconds)), ...asked(count, rows) }
  return { figures, peer: null, ratio: {} }
}
