// A server that acknowledges writes before they are stored: the mutant that a checker of histories must find. Takes the arguments of `kubenode apiserver`.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createApiServer } from '#apiserver/api-server.ts'
import { credentialsIn } from '#lib/x509/server-keys.ts'
import { sqliteStorage } from '#apiserver/storage/sqlite.ts'
import type { Change, StorageBackend } from '#apiserver/storage/port.ts'

/** Groups of writes that were answered and are not stored yet: by their number, for a clock says nothing on a slow machine. */
const BEHIND = 5
const option = (name: string): string => process.argv[process.argv.indexOf(name) + 1] ?? ''
const data = option('--data')

function hasty(storage: StorageBackend): StorageBackend {
  const waiting: (readonly Change[])[] = []
  let storing = Promise.resolve()
  const storeAllBut = (left: number) => {
    const due = waiting.splice(0, Math.max(0, waiting.length - left))
    storing = due.reduce((before, changes) => before.then(() => storage.commit(changes)), storing)
  }
  return {
    load: () => storage.load(),
    commit(changes: readonly Change[]) {
      waiting.push(changes)
      storeAllBut(BEHIND)
      return Promise.resolve()
    },
    async close() {
      storeAllBut(0)
      await storing
      await storage.close()
    },
  }
}

const storage = hasty(sqliteStorage(join(data, 'objects.db')))
const credentials = credentialsIn(join(data, 'pki'), Date.now(), ['127.0.0.1'])
const server = await createApiServer({ storage, credentials, port: Number(option('--port')), loops: 'none' })
await server.listen()
const file = join(data, 'admin.kubeconfig')
writeFileSync(file, server.adminKubeconfig())
process.stdout.write(`${file}\n`)
process.once('SIGTERM', () => void server.close().then(() => process.exit(0)))
