// What this machine takes at this hour for work that never changes: a computation, and writes that reach the disk. Times of a benchmark are compared as multiples of it.
import { closeSync, fsyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { seededRandom } from '#lib/random.ts'
import { median } from '../result.ts'

const ROUNDS = 5
const OBJECTS = 2_000
const REPEATS = 6
const SYNCS = 20
const PAGE = Buffer.alloc(4_096, 'x')

export interface Yardstick {
  readonly compute_ms: number
  readonly fsync_ms: number
}

/** In the folder for temporary files, where the benchmarks have their servers. */
export function measureYardstick(): Yardstick {
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-bench-yardstick-'))
  const file = openSync(join(folder, 'file'), 'w')
  try {
    const rounds = Array.from({ length: ROUNDS }, () => ({ compute: spent(compute), fsync: spent(() => sync(file)) }))
    return { compute_ms: median(rounds.map((r) => r.compute)), fsync_ms: median(rounds.map((r) => r.fsync)) }
  } finally {
    closeSync(file)
    rmSync(folder, { recursive: true, force: true })
  }
}

export const yardstickMs = ({ compute_ms, fsync_ms }: Yardstick): number => compute_ms + fsync_ms

/** What our programs do most: objects made, written as JSON, read, sorted by name. */
function compute(): void {
  const random = seededRandom(1)
  const objects = Array.from({ length: OBJECTS }, (_, n) => ({
    metadata: { name: `machine-${random.below(1_000_000)}`, labels: { rack: `rack-${n % 50}` } },
    status: { conditions: [{ type: 'Ready', status: 'True', message: 'x'.repeat(100) }] },
  }))
  for (let n = 0; n < REPEATS; n++) {
    const read = JSON.parse(JSON.stringify(objects)) as typeof objects
    read.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
  }
}

function sync(file: number): void {
  for (let n = 0; n < SYNCS; n++) {
    writeSync(file, PAGE)
    fsyncSync(file)
  }
}

function spent(work: () => void): number {
  const from = performance.now()
  work()
  return performance.now() - from
}
