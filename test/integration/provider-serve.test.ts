// `kubenode provider serve` as its own process: the kit passes through a socket and over https, also after the process was killed, and callers without the token
// get nothing.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { RemoteProvider } from '#providers/remote/provider.ts'
import { newServingCertificate } from '#runtime/tls/serving-certificate.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
const PATIENCE_MS = 240_000
const TOKEN = 'a-token-of-the-test-0123456789'
const running = new Set<ChildProcess>()
let folder = ''

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'provider-serve-')))
  const providers = [{ name: 'static', options: { notes: 'notes' } }]
  writeFileSync(join(folder, 'providers.json'), JSON.stringify({ providers }))
})
afterEach(async () => {
  for (const child of running) await end(child, 'SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

/** Until it says where it serves. */
async function serving(...args: readonly string[]) {
  const child = spawn(join(ROOT, 'bin/kubenode'), ['provider', 'serve', '--providers', 'providers.json', ...args], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    // No cluster is named anywhere.
    env: { PATH: process.env['PATH'], HOME: folder },
    detached: true,
  })
  running.add(child)
  let out = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => (out += part.toString()))
  await expect
    .poll(() => out.includes('"serving providers"') || child.exitCode !== null, { timeout: PATIENCE_MS })
    .toBe(true)
  const line = out.split('\n').find((l) => l.includes('"serving providers"')) ?? out
  return { child, at: (JSON.parse(line) as { at: string }).at }
}

/** The whole group: the launcher and the program. */
async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  running.delete(child)
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const ended = once(child, 'close')
  process.kill(-child.pid, signal)
  await ended
}

function conformance(...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(
    join(ROOT, 'bin/kubenode'),
    ['provider', 'conformance', '-o', 'json', ...args],
    { cwd: folder, encoding: 'utf8' },
  )
  if (status === 2) return { status, said: stderr, results: [] }
  const { results } = JSON.parse(stdout) as { results: readonly { readonly case: string; readonly result: string }[] }
  return { status, said: stderr, results }
}

const clientAt = (place: ConstructorParameters<typeof RemoteProvider>[0]['place']) =>
  new RemoteProvider({ name: 'static', place, clock: systemClock, log: silentLogger })

test('a provider on a socket passes the kit, and is back after it was killed', { timeout: PATIENCE_MS }, async () => {
  const args = ['--name', 'static', '--socket', 's'] as const
  const first = await serving(...args)
  const { status, results } = conformance('--socket', 's')
  expect(results.filter((r) => r.result === 'FAILED')).toEqual([])
  expect([status, results.filter((r) => r.result === 'ok').length > 15]).toEqual([0, true])

  const client = clientAt({ kind: 'Socket', path: join(folder, 's') })
  const bundle = { server: 'x', caData: '', token: 't', machine: 'm', node: 'm', cluster: 'c', artifactBase: '' }
  const request = {
    clientToken: 't-1',
    machine: 'm',
    machineUid: 'u',
    params: {},
    join: { ...bundle, trust: { sequence: 1, threshold: 1, keys: [] } },
  }
  const made = await client.create(request)
  await end(first.child, 'SIGKILL')
  expect(await client.create(request)).toMatchObject({ kind: 'Unknown' })
  await expect(client.list()).rejects.toThrow('KN11060')
  const second = await serving(...args)
  expect(await client.create(request)).toEqual(made)
  expect((await client.list()).hosts.length).toBe(1)
  client.close()
  await end(second.child, 'SIGTERM')
})

test('providers over https pass the kit for those with the token', { timeout: PATIENCE_MS }, async () => {
  const pair = newServingCertificate({ commonName: 'test', hosts: ['127.0.0.1'] }, Date.now())
  for (const [file, text] of Object.entries({ 'ca.crt': pair.ca, 'tls.crt': pair.cert, 'tls.key': pair.key }))
    writeFileSync(join(folder, file), text)
  writeFileSync(join(folder, 'token'), `${TOKEN}\n`)
  writeFileSync(join(folder, 'wrong'), 'another-token-0123456789')
  const files = ['--cert', 'tls.crt', '--key', 'tls.key', '--token-file', 'token']
  const { at } = await serving('--listen', '127.0.0.1:0', ...files)
  const place = ['--url', `${at}/static`, '--ca', 'ca.crt'] as const
  const { status, results } = conformance(...place, '--token-file', 'token')
  expect(results.filter((r) => r.result === 'FAILED')).toEqual([])
  expect(results.find((r) => r.case.startsWith('a wrong token'))?.result).toBe('ok')
  expect(status).toBe(0)
  expect(conformance(...place, '--token-file', 'wrong')).toMatchObject({
    status: 2,
    said: expect.stringContaining('401'),
  })
  expect(conformance(...place)).toMatchObject({ status: 2, said: expect.stringContaining('401') })
})

test.each([
  ['no place', ['--name', 'static'], 'KN1002'],
  ['a socket without the name of one provider', ['--socket', 's'], 'KN1002'],
  ['https without a token', ['--listen', '127.0.0.1:0', '--cert', 'c', '--key', 'k'], 'KN1002'],
  ['a provider that the file does not have', ['--socket', 's', '--name', 'own'], 'KN1704'],
  [
    'a token file that is missing',
    ['--listen', '127.0.0.1:0', '--cert', 'c', '--key', 'k', '--token-file', 't'],
    'KN1329',
  ],
] as const)('%s is refused at the start', (_, args, code) => {
  const { status, stderr } = spawnSync(
    join(ROOT, 'bin/kubenode'),
    ['provider', 'serve', '--providers', 'providers.json', ...args],
    { cwd: folder, encoding: 'utf8' },
  )
  expect([status, stderr]).toEqual([2, expect.stringContaining(code)])
})
