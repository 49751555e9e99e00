// A program that stores batches and says on standard output, in one write each, what was acknowledged; for tests that make its disk fail, kill it, or record its writes.
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { backupData } from '#apiserver/storage/backup.ts'
import type { LogBounds } from '#apiserver/storage/log-keeper.ts'
import { restoreData } from '#apiserver/storage/restore.ts'
import { sqliteStorage } from '#apiserver/storage/sqlite.ts'
import { isKubeNodeError } from '#lib/errors.ts'
import { storedBatch } from './storage-batches.ts'

const [mode = '', folder = '', other = '', from = '0', to = '0'] = process.argv.slice(2)
const say = (line: string) => void writeSync(1, `${line}\n`)

/** Small enough that a few batches make the log fold beside the writes, and start again. */
const LOG: LogBounds = { foldAt: 100_000, restartAt: 400_000, left: 150_000, longest: 800_000 }

/** Continues after a refused write, as a server does; ends when no write can succeed. */
async function store(): Promise<void> {
  const storage = sqliteStorage(join(folder, 'objects.db'), LOG)
  for (let n = Number(from); n < Number(to); n++) {
    try {
      await storage.commit(storedBatch(n))
      say(`stored ${n}`)
    } catch (e) {
      if (!isKubeNodeError(e)) throw e
      say(`${e.retry === 'never' ? 'failed' : 'refused'} ${n} ${e.code}`)
      if (e.retry === 'never') process.exit(3)
    }
  }
  await storage.close()
  say('closed')
}

try {
  if (mode === 'store') await store()
  else if (mode === 'backup') say(`done ${backupData(folder, other).objects}`)
  else say(`done ${restoreData(other, folder, { now: Date.now() }).objects}`)
} catch (e) {
  say(isKubeNodeError(e) ? `refused to begin ${e.code}` : `bug ${e instanceof Error ? e.stack : String(e)}`)
  process.exit(4)
}
