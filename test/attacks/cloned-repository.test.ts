// A user clones a repository and types a command in it. Its files look like the data of a local fleet that runs: they must not run a program, or read a file,
// as that user. (S14)
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { HttpKubeClient } from '#kube/http/client.ts'
import { takeFileLock } from '#lib/file-lock.ts'
import { layoutOf } from '#programs/local/layout.ts'
import { chosenConnection } from '#programs/run/connect.ts'

let clone: string
let home: string
let ran: string

beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-clone-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  clone = join(folder, 'clone')
  home = join(folder, 'home')
  ran = join(folder, 'ran')
  const { root, state } = layoutOf(join(clone, '.kubenode'))
  mkdirSync(root, { recursive: true })
  mkdirSync(home)
  writeFileSync(state, '{}')
  const program = join(root, 'login.sh')
  writeFileSync(program, `#!/bin/sh\necho > ${ran}\n`)
  chmodSync(program, 0o755)
})

const fleet = () => layoutOf(join(clone, '.kubenode'))

function plant(user: object): void {
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'x',
    clusters: [{ name: 'x', cluster: { server: 'https://127.0.0.1:1' } }],
    contexts: [{ name: 'x', context: { cluster: 'x', user: 'x' } }],
    users: [{ name: 'x', user }],
  }
  writeFileSync(fleet().adminKubeconfig, JSON.stringify(config))
}

const LOGIN = {
  exec: { apiVersion: 'client.authentication.k8s.io/v1', command: './login.sh', interactiveMode: 'Never' },
}

/** What a command does that names no cluster. */
async function typed(context?: string): Promise<unknown> {
  const { config } = await chosenConnection({ env: { HOME: home }, cwd: clone, context })
  const client = new HttpKubeClient(config, { timeouts: { connectMs: 1_000 } })
  onTestFinished(() => client.close())
  return client.raw({ method: 'GET', path: '/version' })
}

/** SQLite quotes the names in a damaged schema. */
function forgeLock(table: string): void {
  const db = new DatabaseSync(fleet().lock)
  db.exec(`CREATE TABLE ${table}(x)`)
  db.enableDefensive(false)
  db.exec(`PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = 'CREATE TABLE ${table}('`)
  db.close()
}

test.each(['locked', 'busy'])('a lock file with the word %s in its schema is held by nobody', async (table) => {
  plant(LOGIN)
  forgeLock(table)
  await expect(typed()).rejects.toThrow(/^KN1312.*the local fleet of this folder does not run/)
  expect(existsSync(ran)).toBe(false)
})

test.each<[string, object, RegExp]>([
  ['runs a program', LOGIN, /exec: it would run a program/],
  ['reads a file', { tokenFile: '/etc/hostname' }, /tokenFile names a file/],
])('a kubeconfig that %s is refused, even of a fleet that does run', async (_, user, why) => {
  plant(user)
  const held = takeFileLock(fleet().lock)
  onTestFinished(() => held?.release())
  await expect(typed()).rejects.toThrow(why)
  await expect(typed('x')).rejects.toThrow(why)
  expect(existsSync(ran)).toBe(false)
})
