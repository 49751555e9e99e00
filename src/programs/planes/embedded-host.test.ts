import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { CONFORMANCE } from '#test/support/controlplanes/conformance.ts'
import type { ControlPlaneHost, ControlPlaneRequest } from '#controlplanes/port.ts'
import { embeddedEngine } from './embedded-engine.ts'
import { EMBEDDED_DATA } from './plane-snapshots.ts'
import { systemClock } from '#lib/system-clock.ts'
import { portsToKeep } from '#test/support/servers/free-port.ts'
import { programFile } from '#test/support/tools/own-build.ts'
import { planeClient } from '#test/support/servers/plane-client.ts'
import { EmbeddedHost, type EmbeddedHostOptions } from '#controlplanes/embedded/embedded-host.ts'
import { spawnPlanes } from './child.ts'
import type { Child } from '#controlplanes/embedded/processes/plane-process.ts'
import { ProcessEngine } from '#controlplanes/embedded/processes/process-engine.ts'
import { serveHost, SocketHost } from '#controlplanes/embedded/socket.ts'

let root: string
let hosts: EmbeddedHost[]
/** The first port of all hosts of one test. */
let kept: number | undefined
const MOST_PLANES = 4
let sockets: { close(): Promise<void> }[]

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'kubenode-planes-'))
  hosts = []
  kept = undefined
  sockets = []
})
afterEach(async () => {
  await Promise.all(sockets.map((s) => s.close()))
  await Promise.all(hosts.map((h) => h.close()))
  rmSync(root, { recursive: true, force: true })
})

async function opened(more: Partial<EmbeddedHostOptions> = {}): Promise<EmbeddedHost> {
  kept ??= await portsToKeep(MOST_PLANES)
  const host = new EmbeddedHost({ root, clock: systemClock, engine: embeddedEngine(), firstPort: kept, ...more })
  hosts.push(host)
  await host.open()
  return host
}

const restarted = async (more: Partial<EmbeddedHostOptions> = {}): Promise<EmbeddedHost> => {
  await Promise.all(hosts.map((h) => h.close()))
  return opened(more)
}

const PROGRAM = [process.execPath, programFile('main')]
const inProcesses = (perProcess: number, onSpawn: (child: Child) => void = () => undefined) =>
  new ProcessEngine({
    clock: systemClock,
    data: EMBEDDED_DATA,
    perProcess,
    spawn: () => {
      const child = spawnPlanes(PROGRAM)
      onSpawn(child)
      return child
    },
  })

const request = (name: string, more: Partial<ControlPlaneRequest> = {}): ControlPlaneRequest => ({
  id: `fleet.${name}`,
  owner: `uid-${name}`,
  version: '1.36.0',
  ...more,
})

const filesOf = (id: string): readonly string[] => readdirSync(root).filter((f) => f.includes(id))

/** The same host, used by the cluster role from another process. */
async function overSocket(host: EmbeddedHost): Promise<ControlPlaneHost> {
  const socket = join(root, '.control.sock')
  const served = await serveHost(host, socket)
  sockets.push(served)
  return new SocketHost(socket, host)
}

const itself = async (host: EmbeddedHost): Promise<ControlPlaneHost> => host

describe.each([
  ['in its own process', itself, () => ({})],
  ['over its socket', overSocket, () => ({})],
  ['with its servers in other processes', itself, () => ({ engine: inProcesses(2) })],
])('the embedded host conforms %s:', (_place, through, options) => {
  test.each(CONFORMANCE.map((c) => [c.name, c] as const))('%s', async (_, c) => {
    await c.run({
      host: await through(await opened(options())),
      connect: planeClient,
      versions: ['1.35.2', '1.36.0'],
      restarted: async () => {
        await Promise.all(sockets.splice(0).map((s) => s.close()))
        return through(await restarted(options()))
      },
      leftovers: async (id) => filesOf(id),
    })
  })
})

test('a port that another program has is Failed with what was seen, and is tried again', async () => {
  const taken = createServer()
  const port = await new Promise<number>((resolve) =>
    taken.listen(0, '127.0.0.1', () => {
      const address = taken.address()
      resolve(typeof address === 'object' && address !== null ? address.port : 0)
    }),
  )
  const host = await opened()
  const first = await host.put(request('one', { port }))
  expect(first).toMatchObject({ plane: { state: 'Failed', port, message: expect.stringContaining(String(port)) } })
  await new Promise((resolve) => taken.close(resolve))
  expect(await host.put(request('one', { port }))).toMatchObject({ plane: { state: 'Running', port } })
})

test('F43 a start writes no file that is there already, so that a full disk does not prevent it', async () => {
  const host = await opened()
  await host.put(request('one'))
  const folder = join(root, 'fleet.one')
  const files = () =>
    [folder, join(folder, 'data/pki')].flatMap((f) =>
      readdirSync(f, { withFileTypes: true })
        .filter((e) => e.isFile())
        .map(({ name }) => [name, statSync(join(f, name)).ino]),
    )
  const before = files()
  expect(before.length).toBeGreaterThan(2)
  const again = await restarted()
  expect((await again.get('fleet.one'))?.state).toBe('Running')
  expect(files()).toEqual(before)
})

test('a host that is full refuses another one, and goes on with those it has', async () => {
  const host = await opened({ most: 1 })
  await host.put(request('one'))
  const message = '1 of 1 control planes are on this host; delete one first'
  expect(await host.put(request('two'))).toEqual({ kind: 'Refused', reason: 'HostFull', message })
  expect(await host.put(request('one'))).toMatchObject({ plane: { state: 'Running' } })
  expect(filesOf('fleet.two')).toEqual([])
})

test('a deleted one keeps the final snapshot for a week', async () => {
  const host = await opened()
  await host.put(request('one'))
  await host.stop('fleet.one')
  await host.snapshot('fleet.one', 'final')
  expect(await host.delete('fleet.one', { owner: 'uid-one', keep: 'final' })).toBe('Deleted')
  const kept = join(root, '.kept')
  const [file = ''] = readdirSync(kept)
  expect(file).toMatch(/^fleet\.one-.*\.db$/)
  expect(filesOf('fleet.one')).toEqual([])
  const weekAgo = Date.now() / 1_000 - 8 * 86_400
  utimesSync(join(kept, file), weekAgo, weekAgo)
  await restarted()
  expect(readdirSync(kept)).toEqual([])
})

test('a host that was killed in a deletion goes on with it, and in a restore has what was there before', async () => {
  const host = await opened()
  await host.put(request('gone'))
  await host.put(request('half'))
  await host.close()
  renameSync(join(root, 'fleet.gone'), join(root, '.going.fleet.gone'))
  renameSync(join(root, 'fleet.half', 'data'), join(root, 'fleet.half', 'data.old'))
  mkdirSync(join(root, 'fleet.half', 'data.next'))
  const later = await restarted()
  expect(existsSync(join(root, '.going.fleet.gone'))).toBe(false)
  expect(await later.list()).toMatchObject([{ id: 'fleet.half', state: 'Running' }])
})

test('a name that leads out of the folder is refused', async () => {
  const host = await opened()
  for (const id of ['../x', 'a', 'a..b', 'a./b', '.kept'])
    await expect(host.put(request('one', { id }))).rejects.toThrow('KN1090')
})

test('a call over a socket that nothing serves fails with what to check', async () => {
  const host = new SocketHost(join(root, 'none.sock'), await opened())
  await expect(host.list()).rejects.toThrow('KN1093')
})

test('no more than ten snapshots are kept, the newest', async () => {
  const host = await opened()
  await host.put(request('one'))
  for (let n = 10; n < 22; n++) await host.snapshot('fleet.one', `s-${n}`)
  const names = (await host.get('fleet.one'))?.snapshots.map((s) => s.name)
  expect(names).toEqual(Array.from({ length: 10 }, (_, n) => `s-${n + 12}`))
})

test('a host with an address and ports of its own gives each the first free one, and its name is in endpoint and certificate', async () => {
  const firstPort = await portsToKeep(2)
  const host = await opened({ listen: '127.0.0.1', address: 'localhost', firstPort, most: 2 })
  const answers = await Promise.all([host.put(request('one')), host.put(request('two'))])
  const planes = answers.map((a) => (a.kind === 'Plane' ? a.plane : undefined))
  expect(new Set(planes.map((p) => p?.port))).toEqual(new Set([firstPort, firstPort + 1]))
  for (const plane of planes) {
    expect(plane).toMatchObject({ state: 'Running', endpoint: `https://localhost:${plane?.port}` })
    const identity = { user: 'test', groups: ['system:masters'], lifeMs: 3_600_000 }
    const client = planeClient((await host.kubeconfig(plane?.id ?? '', identity)) ?? '')
    await client.write('value', 'reached by its name')
    client.close()
  }
  await host.delete('fleet.one', { owner: 'uid-one' })
  const again = await host.put(request('three'))
  expect(again).toMatchObject({ plane: { port: planes[0]?.port, state: 'Running' } })
})

/** The first of two that follow each other. */
const ADMIN = { user: 'test', groups: ['system:masters'], lifeMs: 3_600_000 } as const

test('a process that ends takes its own control planes with it, which serve again with all that they had', async () => {
  const children: Child[] = []
  const host = await opened({ engine: inProcesses(1, (child) => children.push(child)) })
  for (const name of ['a', 'b']) expect((await host.put(request(name))).kind).toBe('Plane')
  const clientOf = async (name: string) => planeClient((await host.kubeconfig(`fleet.${name}`, ADMIN)) ?? '')
  const [a, b] = [await clientOf('a'), await clientOf('b')]
  const stateOf = async (name: string) => (await host.get(`fleet.${name}`))?.state
  await a.write('kept', '1')
  children[0]?.kill()
  await expect.poll(() => stateOf('a'), { interval: 10 }).toBe('Failed')
  expect([await stateOf('b'), await b.version()]).toEqual(['Running', expect.stringMatching(/^1\./)])
  await expect.poll(() => stateOf('a')).toBe('Running')
  expect(await a.read('kept')).toBe('1')
  a.close()
  b.close()
}, 120_000)
