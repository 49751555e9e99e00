// Another user of the machine: can read no key and no object of KubeNode.
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { takeNodeLock } from '#agent/join/lock.ts'
import { type Running, runApiServer } from '#apiserver/run-api-server.ts'
import { makePrivateFolder } from '#lib/private-folder.ts'
import { type Answer, type Attempt, tryHere } from '#test/support/worlds/attack-world.ts'

const OTHERS = 0o077
const root = join(import.meta.dirname, '../..')
const main = join(root, 'src/cli/main.ts')
const agentMain = join(root, 'src/cli/agent-main.ts')
const supervisorMain = join(root, 'src/cli/supervisor-main.ts')

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
  { name: 'S31 the database with all Secrets is read', attempt: readable(/objects\.db$/), refused: /closed/ },
  { name: 'S31 its log and its lock are read', attempt: readable(/objects\.db(-wal|-shm|\.lock)$/), refused: /closed/ },
  {
    name: 'S31 the folder is entered, although it was open before',
    attempt: () => Promise.resolve({ status: 0, text: (statSync(data).mode & OTHERS) === 0 ? 'closed' : 'open' }),
    refused: /closed/,
  },
]

tryHere('another user of this machine', ATTEMPTS)

describe('S31 squatters of an agent', () => {
  const stateFolder = (name: string): string => {
    const path = join(folder, name)
    mkdirSync(path)
    return path
  }

  test('a socket name that anybody can bind keeps no agent from its start', async () => {
    const state = stateFolder('named')
    const { dev, ino } = statSync(state)
    const squatter = net.createServer()
    // the name that an earlier version took for its lock
    await new Promise<void>((resolve) => squatter.listen({ path: `\0kubenode-agent-${dev}-${ino}` }, resolve))
    takeNodeLock(state).release()
    await new Promise((resolve) => squatter.close(resolve))
  })

  const NOBODY = 65_534
  const isRoot = process.geteuid?.() === 0

  test('another user cannot open or replace the lock, and a lock of theirs is replaced', (context) => {
    context.skip(!isRoot, 'needs root: a second user has to try')
    chmodSync(folder, 0o755)
    const state = stateFolder('locked')
    chmodSync(state, 0o777)
    writeFileSync(join(state, 'agent.lock'), '')
    chownSync(join(state, 'agent.lock'), NOBODY, NOBODY)
    const lock = takeNodeLock(state)
    const asNobody = (command: string) =>
      spawnSync('/bin/sh', ['-c', command], { uid: NOBODY, gid: NOBODY, cwd: '/', encoding: 'utf8' }).status
    expect(asNobody(`cat ${state}/agent.lock`)).not.toBe(0)
    expect(asNobody(`rm -f ${state}/agent.lock`)).not.toBe(0)
    expect(asNobody(`touch ${state}/other`)).not.toBe(0)
    expect(asNobody(`ls ${state}`)).toBe(0)
    lock.release()
    takeNodeLock(state).release()
  })

  test('a state folder or a data folder of another user is refused', async (context) => {
    context.skip(!isRoot, 'needs root: a second user has to own a folder')
    const state = stateFolder('theirs')
    chownSync(state, NOBODY, NOBODY)
    expect(() => takeNodeLock(state)).toThrow(/^KN8087: .*belongs to another user \(uid 65534\)/)
    await expect(runApiServer({ data: state, port: 0, signal: end.signal })).rejects.toThrow(/^KN1040: /)
    const ours = stateFolder('planted')
    writeFileSync(join(ours, 'ca.key'), 'a key of theirs')
    chownSync(join(ours, 'ca.key'), NOBODY, NOBODY)
    expect(() => makePrivateFolder(ours)).toThrow(/^KN1040: cannot use .*ca\.key: it belongs to another user/)
  })
})

describe('S31 folders above those whose content is run or believed', () => {
  const START = {
    'kubenode apiserver': (folder: string) => [main, 'apiserver', '--port', '0', '--data', join(folder, 'data')],
    'kubenode local up': (folder: string) => [main, 'local', 'up', '--check', '--data', join(folder, 'data')],
    'kubenode agent run': (folder: string) => [main, 'agent', 'run', '--root', join(folder, 'node')],
    'an agent on its host': (folder: string) => [agentMain, '--host', '--root', join(folder, 'node')],
    'the supervisor of an agent': (folder: string) => [supervisorMain, agentMain, '--root', join(folder, 'node')],
  } as const
  const names = Object.keys(START) as readonly (keyof typeof START)[]

  const start = (name: keyof typeof START, above: string, user: { uid?: number; gid?: number } = {}) =>
    spawnSync(process.execPath, START[name](above), { encoding: 'utf8', timeout: 60_000, cwd: '/', ...user })

  test.each(names)('%s refuses a folder that every user may write to, and says how to close it', (name) => {
    const above = mkdtempSync(join(folder, 'open-'))
    chmodSync(above, 0o777)
    const { status, stderr } = start(name, above)
    expect([status === 0, stderr]).toEqual([
      false,
      expect.stringMatching(/KN1040: .* is writable by every user \(mode 0777\)/),
    ])
    expect(stderr).toContain(`chmod go-w ${above}`)
    expect(readdirSync(above)).toEqual([])
  })

  test.for(names)("%s refuses another user's folder", (name, context) => {
    context.skip(process.geteuid?.() !== 0, 'needs root: a second user has to own the folder')
    const above = mkdtempSync(join(folder, 'theirs-'))
    chownSync(above, 65_534, 65_534)
    const { status, stderr } = start(name, above)
    expect([status === 0, stderr]).toEqual([
      false,
      expect.stringMatching(/KN1040: .* belongs to uid 65534 \(mode 0700\)/),
    ])
    expect(readdirSync(above)).toEqual([])
  })

  test("another user refuses root's folder only when others may write to it", (context) => {
    context.skip(process.geteuid?.() !== 0, 'needs root: it starts a program as another user')
    const nobody = { uid: 65_534, gid: 65_534 }
    const above = mkdtempSync(join(folder, 'of-root-'))
    chmodSync(folder, 0o755)
    chmodSync(above, 0o755)
    mkdirSync(join(above, 'data'))
    chownSync(join(above, 'data'), 65_534, 65_534)
    const code = `import { requireTrustedWay } from ${JSON.stringify(join(root, 'src/lib/trusted-way.ts'))}
      requireTrustedWay(${JSON.stringify(join(above, 'data'))}, { isClosedByCaller: true })`
    const check = () =>
      spawnSync(process.execPath, ['--input-type=module', '-e', code], { ...nobody, encoding: 'utf8', cwd: '/' })
    expect(check()).toMatchObject({ status: 0, stderr: '' })
    chmodSync(above, 0o777)
    expect(check().stderr).toContain(`sudo chmod go-w ${above}`)
  })
})

describe('S31 with umask 000', () => {
  const report = "data:text/javascript,process.on('exit', () => console.error('umask ' + process.umask().toString(8)))"
  const entries = readdirSync(join(root, 'src/cli'), { recursive: true, encoding: 'utf8' })
    .filter((file) => /(main|warm|agent-entry)\.ts$/.test(file))
    .map((file) => join('src/cli', file))
    .concat('build/first-start.ts')
    .sort()

  test('the entries are known', () => {
    expect(entries).toEqual([
      'build/first-start.ts',
      'src/cli/agent-entry.ts',
      'src/cli/agent-main.ts',
      'src/cli/hollow-main.ts',
      'src/cli/main.ts',
      'src/cli/supervisor-main.ts',
    ])
  })

  test.each(entries)('%s makes no file that others may write to', (file) => {
    const command = 'umask 000; exec "$@"'
    const args = ['sh', process.execPath, '--import', report, join(root, file)]
    const { stderr } = spawnSync('/bin/sh', ['-c', command, ...args], { encoding: 'utf8', timeout: 100_000 })
    expect(stderr).toContain('umask 22\n')
  })
})

test('a folder that holds something else is neither used nor closed', async () => {
  const home = join(folder, 'home')
  mkdirSync(home)
  writeFileSync(join(home, 'letter'), '')
  chmodSync(home, 0o755)
  await expect(runApiServer({ data: home, port: 0, signal: end.signal })).rejects.toThrow(/^KN1203: .*letter/)
  expect(statSync(home).mode & 0o777).toBe(0o755)
})
