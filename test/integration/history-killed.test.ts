// Tests that a recorder of a real process, killed with SIGKILL while it writes, leaves a file that is whole and has every batch that was acknowledged.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { seededRandom } from '#lib/random.ts'
import { HistoryReader } from '#history/ask/reader.ts'
import { historyFile } from '#history/store/file.ts'

const CLUSTER = 'killed'
const KILLS = 8
const ROOT = new URL('../../', import.meta.url).pathname

/** Writes batches as fast as it can and prints the number of rows after each one. */
const WRITER = `
import { openForRecording } from '#history/store/file.ts'
import { HistoryWriter } from '#history/store/writer.ts'
const writer = new HistoryWriter(openForRecording(process.argv[1], '${CLUSTER}', Date.now()).db)
const { names } = writer
for (let rows = 0; ; ) {
  const now = Date.now()
  const batch = Array.from({ length: 50 }, (_, i) => ({
    subject: names.subject({ kind: 'Node', namespace: '', name: 'n-' + i, uid: 'uid-' + i }),
    topic: names.topic('status/conditions/Ready') ?? 0,
    value: names.value(JSON.stringify({ type: 'Ready', status: 'True', n: rows + i })),
    reported: now,
    observed: now,
  }))
  writer.write({ rows: batch, gaps: [], deeds: [], now })
  rows += batch.length
  process.stdout.write(rows + '\\n')
}`

test(
  `killed ${KILLS} times it loses no acknowledged row, and continues in the same file`,
  { timeout: 120_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'kubenode-killed-'))
    const running = new Set<ChildProcess>()
    onTestFinished(() => {
      for (const child of running) child.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    })
    const random = seededRandom(11)
    let before = 0
    for (let n = 0; n < KILLS; n++) {
      const child = spawn(process.execPath, ['--input-type=module-typescript', '--eval', WRITER, folder], {
        cwd: ROOT,
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      running.add(child)
      const enough = 1 + random.below(20)
      let acknowledged = 0
      let lines = 0
      for await (const line of createInterface({ input: child.stdout })) {
        acknowledged = Number(line)
        if (++lines === enough) child.kill('SIGKILL')
      }
      running.delete(child)
      expect(lines).toBeGreaterThanOrEqual(enough)
      const rows = rowsIn(folder)
      expect(rows).toBeGreaterThanOrEqual(before + acknowledged)
      // A batch is there as a whole or not at all.
      expect((rows - before) % 50).toBe(0)
      before = rows
    }
    const db = new DatabaseSync(historyFile(folder, CLUSTER))
    expect(db.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
    db.close()
  },
)

function rowsIn(folder: string): number {
  const reader = new HistoryReader(folder, CLUSTER)
  try {
    return reader.rowCount()
  } finally {
    reader.close()
  }
}
