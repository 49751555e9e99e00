// What a recorder takes and what questions cost: so many transitions a second for ten seconds, then a history of a million rows that is asked.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { GIB } from '#lib/bytes.ts'
import { LEAN_MALLOC } from '#lib/lean-malloc.ts'
import { atOnce } from '#lib/steps.ts'
import { seededRandom } from '#lib/random.ts'
import { systemClock } from '#lib/system-clock.ts'
import { lifeOf } from '#history/ask/lives.ts'
import { HistoryReader } from '#history/ask/reader.ts'
import type { Names } from '#history/store/names.ts'
import type { PendingRow } from '#history/store/writer.ts'
import { CLUSTER, CONDITIONS, recording } from './history/recording.ts'
import { type BenchOptions, type BenchResult, type Figures, median, rounded } from './result.ts'

/** What an installation gives to the role by default. */
const HEAP_MIB = 128
const NODES = 10_000
const PER_SECOND = 5_000
const SECONDS = 10
const ROWS = 1_000_000
/** What a node of a large fleet goes through. */
const TRANSITIONS_A_DAY = 20
const OURS_DO_NOTHING = { test: /\.ts$/, sideEffects: false }

export const smoke: Figures = { nodes: 200, per_second: 500, seconds: 1, rows: 5_000 }

/** A repair for every second node: the life of a node has them. */
function repairs(names: Names, count: number, at: number): readonly PendingRow[] {
  const [spec, phase, done] = [names.topic('spec') ?? 0, names.topic('status/phase') ?? 0, names.value('"Done"')]
  return Array.from({ length: count / 2 }, (_, n) => {
    const [name, node] = [`repair-${n}`, `prod-1-worker-${2 * n}`]
    const subject = names.subject({ kind: 'RemedyOperationJob', namespace: '', name, uid: `job-${n}` })
    const declared = names.value(JSON.stringify({ machine: node, node: { name: node, uid: `uid-${2 * n}` } }))
    return [
      { subject, topic: spec, value: declared, reported: at, observed: at },
      { subject, topic: phase, value: done, reported: at, observed: at },
    ]
  }).flat()
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
    const topics = CONDITIONS.map((type) => names.topic(`status/conditions/${type}`) ?? 0)
    const subjects = Array.from({ length: count }, (_, n) =>
      names.subject({ kind: 'Node', namespace: '', name: `prod-1-worker-${n}`, uid: `uid-${n}` }),
    )
    const begins = systemClock.now() - 30 * 86_400_000
    writer.write({ rows: repairs(names, count, begins), gaps: [], deeds: [], now: begins })
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
      timed(() => void atOnce(lifeOf(reader, 'Node', `prod-1-worker-${random.below(count)}`, all))),
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

/** In a process of its own, bundled as programs are shipped, with the memory that an installation gives to the role. */
async function storm(count: number, perSecond: number, seconds: number): Promise<Figures> {
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-bench-storm-'))
  try {
    const file = join(folder, 'storm-process.mjs')
    const { rolldown } = await import('rolldown')
    const input = join(import.meta.dirname, 'history/storm-process.ts')
    const treeshake = { moduleSideEffects: [{ test: /\/node_modules\//, sideEffects: true }, OURS_DO_NOTHING] }
    const bundle = await rolldown({ input, platform: 'node', treeshake, logLevel: 'silent' })
    await bundle.write({ file, format: 'esm', codeSplitting: false, comments: false })
    await bundle.close()
    const memory = [`--max-old-space-size=${HEAP_MIB}`, '--max-semi-space-size=8']
    const args = [...memory, file, ...[count, perSecond, seconds].map(String)]
    const printed = execFileSync(process.execPath, args, { encoding: 'utf8', env: { ...process.env, ...LEAN_MALLOC } })
    return JSON.parse(printed) as Figures
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export async function run({ numbers }: BenchOptions): Promise<BenchResult> {
  const { nodes: count = NODES, per_second: perSecond = PER_SECOND, seconds = SECONDS, rows = ROWS } = numbers
  const figures = { ...(await storm(count, perSecond, seconds)), ...asked(count, rows) }
  return { figures, peer: null, ratio: {} }
}
