// The agent's own component loop with its files on another host, at a real sshd: install, upgrade, a version that goes back, removal, adoption.
// Processes are simulated. Sessions that are cut are in cuts-over-ssh.test.ts.
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { ProbeAnswer } from '#agent/components/probe.ts'
import { writeDurably } from '#agent/files/durable.ts'
import { filesOverSsh } from '#agent/files/over-ssh.ts'
import type { Files } from '#agent/files/port.ts'
import { systemClock } from '#lib/system-clock.ts'
import { type Channel, ChannelLost } from '#ssh/channel.ts'
import { SshSessions } from '#ssh/ssh-sessions.ts'
import { FakeNode, FakeProcesses, type TestOrder } from '#test/doubles/node/fake-node.ts'
import { newPublisher, release } from '#test/doubles/node/release.ts'
import { type SshServer, loginOf, missingSshServer, startSshServer } from '#test/support/servers/ssh-server.ts'
import { until } from '#test/support/tools/processes.ts'

const missing = missingSshServer()
const PATIENCE_MS = 60_000
const publisher = newPublisher()
const releases = ['1.0.0', '1.1.0', '1.2.0'].map((version) =>
  release(publisher, {
    version,
    spec: {
      files: [{ path: '/etc/beacon.conf', mode: '0600', format: 'plain', template: version, onChange: 'Restart' }],
      service: { exec: '/opt/beacon/bin/beacon', restart: 'Always', killMode: 'Process' },
      probes: [{ name: 'p', tcp: { port: 1 }, interval: '1s', timeout: '1s', settle: '0s' }],
    },
  }),
)
const failing = (version: string): ProbeAnswer =>
  version === '1.2.0' ? { kind: 'Fail', message: 'no' } : { kind: 'Pass' }
const to = (version: string, attempt = 2): TestOrder => ({ version, attempt, switch: { attempt, permit: 'p' } })

let server: SshServer
let folder: string
let sessions: SshSessions

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-over-ssh-'))
  if (missing !== undefined) return
  server = await startSshServer()
  sessions = new SshSessions({ folder: join(folder, 'keys'), path: process.env['PATH'] ?? '', atOnce: 5 })
})
afterAll(async () => {
  await server?.close()
  rmSync(folder, { recursive: true, force: true })
})
beforeEach((context) => {
  if (missing !== undefined) context.skip(missing)
})

async function connected<R>(work: (channel: Channel) => Promise<R>): Promise<R> {
  const signal = new AbortController().signal
  const result = await sessions.converse(
    { ...loginOf(server), prelude: 'umask 000', sudo: false },
    async (channel) => ({ is: await work(channel) }),
    signal,
  )
  if ('kind' in result) throw new Error(result.why)
  return result.is
}

const nodeOn = (files: Files, name: string, processes: FakeProcesses) =>
  new FakeNode({
    publisher,
    releases,
    clock: systemClock,
    processes,
    probe: failing,
    adoption: 'Adopt',
    medium: { files, folder: join(folder, name) },
  })

async function obeyed(node: FakeNode, order: TestOrder | undefined, isThere: (state: string | undefined) => boolean) {
  await node.start()
  node.obey(order)
  await until(
    `${order?.version ?? 'removal'} settles`,
    () => {
      if (isThere(node.worker.record?.state)) return true
      throw new Error(`${JSON.stringify(node.worker.record)} ${node.worker.waiting} ${node.worker.removalProblem}`)
    },
    PATIENCE_MS,
  )
  await node.worker.close()
}

const beacon = (name: string) => join(folder, name, 'root/opt/beacon/bin/beacon')
const inUse = (name: string): string | undefined => {
  try {
    return readFileSync(beacon(name), 'utf8')
  } catch {
    return undefined
  }
}

/** Of files that are no part of an artifact, and no original, which keeps its mode. */
const modesIn = (at: string) =>
  readdirSync(at, { recursive: true, withFileTypes: true })
    .filter((e) => e.isFile() && !/\/(?:tree|kept)\//.test(`${e.parentPath}/`))
    .map((e) => ({ name: join(e.parentPath, e.name), mode: statSync(join(e.parentPath, e.name)).mode }))

test('a component is installed, upgraded, put back after a failed probe, and removed, with every original restored', async () => {
  const processes = new FakeProcesses()
  const config = join(folder, 'a/root/etc/beacon.conf')
  mkdirSync(dirname(config), { recursive: true })
  writeFileSync(config, 'of the distribution', { mode: 0o641 })
  await connected(async (channel) => {
    const node = () => nodeOn(filesOverSsh(channel), 'a', processes)
    await obeyed(node(), to('1.0.0', 1), (state) => state === 'Healthy')
    expect(readFileSync(config, 'utf8')).toBe('1.0.0')
    expect(inUse('a')).toBe('beacon 1.0.0')
    // Whatever the umask of the login: what may be secret is for its owner only.
    expect(statSync(config).mode & 0o777).toBe(0o600)
    expect(modesIn(join(folder, 'a/state')).filter(({ mode }) => (mode & 0o077) !== 0)).toEqual([])
    await obeyed(node(), to('1.1.0'), (state) => state === 'Healthy' && inUse('a') === 'beacon 1.1.0')
    await obeyed(node(), to('1.2.0', 3), (state) => state === 'RolledBack')
    expect(inUse('a')).toBe('beacon 1.1.0')
    expect(processes.starts.length).toBeGreaterThanOrEqual(4)
    await obeyed(node(), undefined, (state) => state === undefined && inUse('a') === undefined)
    expect(readFileSync(config, 'utf8')).toBe('of the distribution')
    expect(statSync(config).mode & 0o777).toBe(0o641)
    expect(readdirSync(join(folder, 'a/state/components'))).toEqual([])
  })
})

test('files over SSH are as files on this host: modes, links, names that are no words, and nothing is followed', async () => {
  const at = (name: string) => join(folder, 'files', name)
  mkdirSync(join(folder, 'files'))
  await connected(async (channel) => {
    const files = filesOverSsh(channel)
    const odd = `-n 'a" $(id)\\`
    await writeDurably(files, at(odd), 'x'.repeat(600_000), 0o640)
    expect(readFileSync(at(odd)).length).toBe(600_000)
    expect(await files.stat(at(odd))).toMatchObject({ kind: 'File', size: 600_000, mode: 0o640 })
    const read: Buffer[] = []
    for await (const chunk of files.stream(at(odd))) read.push(chunk)
    expect(Buffer.concat(read).length).toBe(600_000)
    symlinkSync('/etc/shadow', at('link'))
    await expect(files.create(at('link'), 0o600)).rejects.toThrow('KN8096')
    await expect(files.create(at(odd), 0o600)).rejects.toThrow('KN8096')
    expect(await files.readLink(at('link'))).toBe('/etc/shadow')
    symlinkSync('/dev/zero', at('zero'))
    expect((await files.read(at('zero')))?.length).toBe(0)
    expect(await files.read(at('nothing'))).toBeUndefined()
    expect(await files.read(at(`${odd}/below`))).toBeUndefined()
    expect(await files.list(join(folder, 'files'))).toEqual([odd, 'link', 'zero'].sort())
    await files.makeFolder(at('p/q'), 0o700)
    expect(await files.stat(at('p/q'))).toMatchObject({ kind: 'Directory', mode: 0o700 })
    expect(await files.removeEmptyFolder(at('p'))).toBe(false)
    expect(await files.copyWhole?.(at(odd), at('copy'))).toBe(true)
    expect(await files.digest?.(at('copy'))).toMatch(/^[0-9a-f]{64}$/)
    await expect(files.stream(at('nothing'))[Symbol.asyncIterator]().next()).rejects.toThrow('no file')
  })
})

test('S36 what a host answers in place of a size, a digest or a name is refused', async () => {
  const answering = (text: string): Files =>
    filesOverSsh({ ask: async () => ({ code: 0, stdout: Buffer.from(text), stderr: '' }) })
  await expect(answering('81a4 1e9 x').stat('/x')).rejects.toThrow('KN8096')
  await expect(answering('81a4 99999999999999999999 1.0 1.0 0 0\n').stat('/x')).rejects.toThrow('KN8096')
  await expect(answering(`${'z'.repeat(64)}  -\n`).digest?.('/x')).rejects.toThrow('no digest')
  for (const name of ['../../etc', '..', '', 'a/b'])
    await expect(answering(`${name}\n`).list('/x')).rejects.toThrow('KN8096')
  const lost = filesOverSsh({ ask: async () => Promise.reject(new ChannelLost('gone')) })
  await expect(lost.stat('/x')).rejects.toThrow(ChannelLost)
})
