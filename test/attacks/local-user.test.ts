// Another user of the machine: reads no key and no object of ours.
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import { type Running, runApiServer } from '#apiserver/run-api-server.ts'
import { type Answer, type Attempt, tryHere } from '#test/support/attack-world.ts'

const OTHERS = 0o077

let folder: string
let data: string
let running: Running
const end = new AbortController()

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-attack-'))
  data = join(folder, 'data')
  // As a user may have made it before: open to all.
  mkdirSync(data)
  chmodSync(data, 0o755)
  running = await runApiServer({ data, port: 0, signal: end.signal })
})
afterAll(async () => {
  end.abort()
  await running?.ended
  rmSync(folder, { recursive: true, force: true })
})

/** Files below the data folder whose mode lets others in, of those that the pattern names. */
const readable = (pattern: RegExp) => async (): Promise<Answer> => {
  const files = readdirSync(data, { recursive: true, encoding: 'utf8' }).filter((f) => pattern.test(f))
  if (files.length === 0) throw new Error(`nothing below the data folder is called ${String(pattern)}`)
  const open = files.filter((f) => (statSync(join(data, f)).mode & OTHERS) !== 0)
  return { status: 0, text: open.length === 0 ? 'closed' : `open: ${open.join(', ')}` }
}

const ATTEMPTS: readonly Attempt<void>[] = [
  { name: 'the keys of the authorities are read', attempt: readable(/\.key$/), refused: /closed/ },
  { name: "the administrator's kubeconfig is read", attempt: readable(/kubeconfig$/), refused: /closed/ },
  { name: 'the database with all Secrets is read', attempt: readable(/objects\.db$/), refused: /closed/ },
]

tryHere('another user of this machine', ATTEMPTS)
