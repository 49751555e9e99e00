// How long folding the log into the file keeps a write waiting: durable batches of 50 writes of 3 KB over 10,000 objects, written again and again.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqliteStorage } from '#apiserver/storage/sqlite.ts'
import { median } from '../result.ts'

const OBJECTS = 10_000
const A_BATCH = 50
const BATCHES = 100
const RUNS = 5
const BYTES = 3_000

/** The longest fold of a run, whether or not a request waited for it. The median of the runs, because other load on the machine adds to single ones. */
export async function compactionStallMs(): Promise<number> {
  const longest: number[] = []
  for (let i = 0; i < RUNS; i++) longest.push(await longestFoldMs())
  return median(longest)
}

async function longestFoldMs(): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-bench-fold-'))
  try {
    const storage = sqliteStorage(join(folder, 'objects.db'))
    let revision = 0
    for (let b = 0; b < BATCHES; b++)
      await storage.commit(
        Array.from({ length: A_BATCH }, (_, i) => {
          const name = `node-${((b * A_BATCH + i) * 7_919) % OBJECTS}`
          return { resource: '/nodes', namespace: '', name, revision: ++revision, bytes: Buffer.alloc(BYTES, 120) }
        }),
      )
    await storage.close()
    return storage.longestFoldMs
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
