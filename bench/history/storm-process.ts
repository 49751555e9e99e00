// A process of its own: transitions at a steady rate, as watches deliver them. Prints its figures as JSON.
import { rmSync } from 'node:fs'
import { MIB } from '#lib/bytes.ts'
import { favorMemory } from '#lib/heap-growth.ts'
import { systemClock } from '#lib/system-clock.ts'
import { HistoryReader } from '#history/ask/reader.ts'
import type { Held } from '#history/record/held.ts'
import { ROWS_PER_MS } from '#history/store/layout.ts'
import { type Figures, rounded } from '../result.ts'
import { CLUSTER, node, nodes, recording } from './recording.ts'

const STEP_MS = 50

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

// As the role does.
favorMemory()
const [count = 0, perSecond = 0, seconds = 0] = process.argv.slice(2).map(Number)
// The clock of programs holds no handle.
const alive = setInterval(() => undefined, 60_000)
console.log(JSON.stringify(await storm(count, perSecond, seconds)))
clearInterval(alive)
