// Every program with a standard error that cannot be written: it works, and exits when asked to.
import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, rmSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { leaseType } from '#runtime/lease.ts'
import { installAll } from '#test/support/servers/installed.ts'
import { clientOf, connectionOf } from '../../../src/programs/run/connect.ts'
import { startEmbedded, type RunningServer } from '#test/support/servers/api-servers.ts'
import { startApiServer, startedApiServer } from '#test/support/servers/apiserver-process.ts'
import { until } from '#test/support/tools/processes.ts'

const ROOT = join(import.meta.dirname, '../../..')
const WITHIN_MS = 200_000
/** Every write to it fails with ENOSPC. */
const FULL = '/dev/full'

let dir = ''
let server: RunningServer
let client: ReturnType<typeof clientOf>
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'kubenode-output-'))
  server = await startEmbedded()
  client = clientOf((await connectionOf(server.kubeconfig)).config, 'test')
  await installAll(client)
}, WITHIN_MS)
afterAll(async () => {
  client.close()
  await server.stop()
  rmSync(dir, { recursive: true, force: true })
})

/** ENOSPC from the first line on, or a reader that has left: EPIPE. */
type Lost = 'a full disk' | 'a reader that left'

function started(lost: Lost, command: string, args: readonly string[]): ChildProcess {
  if (lost === 'a reader that left') {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    child.stdout.destroy()
    child.stderr.destroy()
    return child
  }
  const full = openSync(FULL, 'w')
  try {
    return spawn(command, args, { stdio: ['ignore', full, full] })
  } finally {
    closeSync(full)
  }
}

function end(child: ChildProcess): Promise<number | string | null> {
  const { exitCode, signalCode } = child
  if (exitCode !== null || signalCode !== null) return Promise.resolve(exitCode ?? signalCode)
  const ended = new Promise<number | string | null>((done) =>
    child.once('exit', (code, signal) => done(code ?? signal)),
  )
  child.kill('SIGTERM')
  return ended
}

const leads = async (role: string): Promise<true | undefined> => {
  const lease = await client.get(leaseType, { name: `kubenode-${role}`, namespace: 'kubenode-system' })
  return lease?.spec?.holderIdentity ? true : undefined
}

describe.each<Lost>(['a full disk', 'a reader that left'])('F43 %s', (lost) => {
  test('the API server serves and ends', { timeout: WITHIN_MS }, async () => {
    const data = join(dir, lost.replaceAll(' ', '-'))
    const child = started(lost, join(ROOT, 'bin/kubenode'), ['apiserver', '--data', data, '--port', '0'])
    const file = join(data, 'admin.kubeconfig')
    await until('a kubeconfig', () => existsSync(file) || undefined, WITHIN_MS)
    const own = clientOf((await connectionOf(file)).config, 'test')
    await until('an answer', async () => (await own.raw({ method: 'GET', path: '/readyz' })).status === 200, WITHIN_MS)
    own.close()
    expect(await end(child)).toBe(0)
  })

  test.each(['controllers', 'defender', 'sync'])('%s leads and ends', { timeout: WITHIN_MS }, async (role) => {
    const args = [
      'run',
      '--roles',
      role,
      '--kubeconfig',
      server.kubeconfig,
      '--cache',
      join(dir, 'git'),
      '--log-level',
      'debug',
    ]
    const child = started(lost, join(ROOT, 'bin/kubenode'), args)
    await until(`${role} leads`, () => leads(role), WITHIN_MS)
    expect(child.exitCode).toBeNull()
    expect(await end(child)).toBe(0)
  })

  test.each([
    ['agent-main.ts', ['--nonsense'], 1],
    ['agent-main.ts', ['--root', 'DIR/nobody'], undefined],
    ['hollow-main.ts', ['--nonsense'], 1],
    ['hollow-main.ts', ['--hosts', 'DIR', '--kubeconfig', '/nowhere'], 1],
    ['agent/supervisor-main.ts', [], 1],
  ] as const)('%s %j ends with its own code', { timeout: WITHIN_MS }, async (program, args, code) => {
    const words = [join(ROOT, 'src/cli', program), ...args.map((a) => a.replace('DIR', dir))]
    const run = (child: ChildProcess) => new Promise<number | null>((done) => child.once('exit', done))
    const usual = await run(spawn(process.execPath, words, { stdio: 'ignore' }))
    if (code !== undefined) expect(usual).toBe(code)
    expect(await run(started(lost, process.execPath, words))).toBe(usual)
  })
})

test('a command whose data cannot be written says so and fails', { timeout: WITHIN_MS }, async () => {
  const full = openSync(FULL, 'w')
  const child = spawn(join(ROOT, 'bin/kubenode'), ['version'], { stdio: ['ignore', full, 'pipe'] })
  closeSync(full)
  let err = ''
  child.stderr?.on('data', (d: Buffer) => (err += d.toString()))
  const code = await new Promise<number | null>((done) => child.once('close', done))
  expect({ code, err }).toEqual({ code: 2, err: expect.stringMatching(/^KN1005: cannot write to standard output: /) })
})

test(
  'F43 a server that cannot write its kubeconfig ends, and the next start works',
  { timeout: WITHIN_MS },
  async () => {
    const data = join(dir, 'no-kubeconfig')
    // in the way of the file that is written
    mkdirSync(join(data, 'admin.kubeconfig'), { recursive: true })
    const failed = await startApiServer(data)
    if (!('failed' in failed)) throw new Error('it serves')
    expect(failed.failed).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^KN6116: cannot write .*admin.kubeconfig: /m),
    })
    rmdirSync(join(data, 'admin.kubeconfig'))
    const server = await startedApiServer(data)
    expect((await server.end('SIGTERM')).code).toBe(0)
  },
)

test('F43 a server on a full disk starts with the kubeconfig of before', { timeout: WITHIN_MS }, async () => {
  const data = join(dir, 'restarted')
  const first = await startedApiServer(data)
  await first.end('SIGTERM')
  mkdirSync(join(data, 'admin.kubeconfig.part'))
  const again = await startedApiServer(data, first.port)
  expect((await again.end('SIGTERM')).code).toBe(0)
})
