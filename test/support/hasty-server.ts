// A server that acknowledges writes before they are stored: the mutant that a checker of histories must find. Takes the arguments of `kubenode apiserver`.
import { setTimeout as sleep } from 'node:timers/promises'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createApiServer } from '#apiserver/api-server.ts'
import { credentialsIn } from '#apiserver/auth/credentials.ts'
import { sqliteStorage } from '#apiserver/storage/sqlite.ts'
import type { Change, StorageBackend } from '#apiserver/storage/port.ts'

const DELAY_MS = 60
const option = (name: string): string => process.argv[process.argv.indexOf(name) + 1] ?? ''
const data = option('--data')

function hasty(storage: StorageBackend): StorageBackend {
  let waiting: Change[] = []
  const store = async () => {
    const changes = waiting
    waiting = []
    if (changes.length > 0) await storage.commit(changes)
  }
  const stop = new AbortController()
  const storing = (async () => {
    while (!stop.signal.aborted) {
      await sleep(DELAY_MS)
      await store()
    }
  })()
  return {
    load: () => storage.load(),
    commit(changes: readonly Change[]) {
      waiting.push(...changes)
      return Promise.resolve()
    },
    async close() {
      stop.abort()
      await storing
      await store()
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
