// A terminal that closes: a server ends as with Ctrl-C, unless it was started to outlive its terminal.
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { sleep, until } from '#test/support/tools/processes.ts'

const PROGRAM = join(import.meta.dirname, '../../bin/kubenode')
const WITHIN_MS = 200_000
/** A server that obeys has ended long before. */
const OBEYS_WITHIN_MS = 1_500

let dir = ''
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), 'kubenode-hangup-'))))
afterEach(() => rmSync(dir, { recursive: true, force: true }))

async function serving(under: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const data = join(dir, 'data')
  const [command, ...args] = [...under, PROGRAM, 'apiserver', '--data', data, '--port', '0']
  const { PATH } = process.env
  const child = spawn(command, args, { stdio: 'ignore', env: { PATH, ...env } })
  const ended = new Promise<number | string | null>((done) =>
    child.once('exit', (code, signal) => done(code ?? signal)),
  )
  await until('a kubeconfig', () => existsSync(join(data, 'admin.kubeconfig')) || undefined, WITHIN_MS)
  return { child, ended }
}

test('SIGHUP ends a server in order', { timeout: WITHIN_MS }, async () => {
  const { child, ended } = await serving([])
  child.kill('SIGHUP')
  expect(await ended).toBe(0)
})

test.each<[string, readonly string[], Readonly<Record<string, string>>]>([
  ['nohup', ['nohup'], {}],
  ['a shell that ignores it', ['sh', '-c', 'trap "" HUP; exec "$0" "$@"'], {}],
  ['npm under nohup, of which only the environment tells', [], { _: '/usr/bin/nohup' }],
])('under %s SIGHUP changes nothing, and SIGTERM ends it', { timeout: WITHIN_MS }, async (_, under, env) => {
  const { child, ended } = await serving(under, env)
  child.kill('SIGHUP')
  await Promise.race([ended, sleep(OBEYS_WITHIN_MS)])
  expect(child.exitCode).toBeNull()
  expect(child.signalCode).toBeNull()
  child.kill('SIGTERM')
  expect(await ended).toBe(0)
})
