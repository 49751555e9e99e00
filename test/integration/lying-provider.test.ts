// A provider in another program that lies, hangs or floods, under the controllers of machines and sets: each Machine and its MachineSet say what is wrong, no host is
// made twice, and none is deleted, whatever it says while it lies.
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { createServer, request as ask, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KINDS } from '#api/kinds.ts'
import { type MachineSet, machineSet } from '#api/kinds/machine-set.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { approverModule } from '#controllers/approver/reconcile.ts'
import { machineModule } from '#controllers/machine/reconcile.ts'
import { machineSetModule } from '#controllers/machineset/reconcile.ts'
import { MIB } from '#lib/bytes.ts'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { RemoteProvider } from '#providers/remote/provider.ts'
import { serveProvider } from '#providers/remote/server.ts'
import { createInformers } from '#runtime/informers.ts'
import { createMetrics } from '#runtime/metrics.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { type MemoryHost, MemoryProvider, overridden } from '#test/doubles/providers/memory-provider.ts'
import { shiftedClock } from '#test/support/clocks/shifted-clock.ts'
import { setOf } from '#test/support/worlds/machine-world.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

const NAME = 'liar'
const REPLICAS = 3
const PATIENCE_MS = 240_000
/** Of the controllers, for each time that a test looks. */
const STEP_MS = 5_000
const tools = { clock: systemClock, log: silentLogger }

/** What becomes of a true answer. Undefined: the caller gets it as it is. */
type Lie = (call: string, answer: string, response: ServerResponse) => void

let stops: (() => unknown)[]
let dir: string
let lie: Lie | undefined
let hosts: Map<string, MemoryHost>
/** The tokens that a host was asked for with, by machine. */
let tokens: Map<string, Set<string>>
let deleted: string[]

const json = (response: ServerResponse, text: string) =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end(text)

/** Asks the honest program, does what was asked, and then answers what it likes. */
function passOn(request: IncomingMessage, response: ServerResponse): void {
  const { method, url = '', headers } = request
  const through = ask({ socketPath: join(dir, 'honest'), method, path: url, headers }, (answer) => {
    let text = ''
    answer.on('data', (part: Buffer) => (text += part.toString()))
    answer.on('end', () => {
      const call = url.split('?')[0]?.slice('/v1/'.length) ?? ''
      if (lie !== undefined && ['create', 'get', 'list'].includes(call)) lie(call, text, response)
      else response.writeHead(answer.statusCode ?? 500, { 'content-type': 'application/json' }).end(text)
    })
  })
  through.on('error', () => response.destroy())
  request.pipe(through)
}

async function startProvider(): Promise<RemoteProvider> {
  const memory = new MemoryProvider({ clock: systemClock, name: NAME, hosts })
  const honest = overridden(memory, {
    create: async (request) => {
      tokens.set(request.machine, (tokens.get(request.machine) ?? new Set()).add(request.clientToken))
      return memory.create(request)
    },
    delete: async (id) => {
      deleted.push(id)
      return memory.delete(id)
    },
  })
  const served = await serveProvider(honest, { kind: 'Socket', path: join(dir, 'honest') }, tools)
  const path = join(dir, 's')
  const server: Server = createServer(passOn)
  await new Promise<void>((resolve) => server.listen(path, resolve))
  await chmod(path, 0o600)
  const provider = new RemoteProvider({
    name: NAME,
    place: { kind: 'Socket', path },
    ...tools,
    waits: { callMs: 500, slowMs: 500 },
  })
  stops.push(async () => {
    provider.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await served.close()
  })
  await provider.connect()
  return provider
}

/** The controllers as role controllers runs them, on an API server in memory. */
async function startControllers(provider: RemoteProvider) {
  const clock = shiftedClock()
  const kinds = KINDS.map((k) => ({ type: k, schema: k.schema, status: k.definition.status !== undefined }))
  const fake = new FakeKube({ clock, random: seededRandom(1), kinds })
  const client = fake.client({ actor: 'controllers' })
  const shared = { clock, random: seededRandom(7), log: silentLogger }
  const informers = createInformers({ client, ...shared, startSpreadMs: 0 })
  const context = {
    client,
    informers,
    ...shared,
    metrics: createMetrics(),
    events: { record: () => undefined, flush: async () => undefined },
    config: {
      cluster: 'test',
      providers: { [NAME]: provider },
      orphans: { [NAME]: 'Delete' as const },
      join: {
        server: 'https://api',
        caData: 'Q0E=',
        artifactBase: 'file:///a/',
        trust: { sequence: 1, threshold: 1, keys: [] },
      },
    },
  }
  const stop = new AbortController()
  for (const running of [approverModule, machineModule, machineSetModule].map((m) => m.setup(context))) {
    for (const c of running.controllers) c.start()
    stops.unshift(() => Promise.all(running.controllers.map((c) => c.stop(1_000))))
    const parts = 'parts' in running ? (running.parts ?? []) : []
    for (const part of parts) void part.start(stop.signal)
    for (const part of parts) stops.unshift(() => part.stop(0))
  }
  informers.start()
  stops.unshift(() => stop.abort())
  stops.push(() => informers.stop())
  const machines = () => fake.all(machineType) as readonly Machine[]
  const set = () => fake.peek(machineSet, { name: 'workers' }) as MachineSet | undefined
  /** Lets time pass for the controllers until it holds. */
  const until = (holds: () => boolean, what: string) =>
    expect
      .poll(
        () => {
          if (holds()) return what
          clock.shift(STEP_MS)
          return 'not yet'
        },
        { timeout: PATIENCE_MS, interval: 100 },
      )
      .toBe(what)
  return { clock, fake, machines, set, until }
}

beforeEach(async () => {
  stops = []
  dir = await mkdtemp(join(tmpdir(), 'lying-'))
  lie = undefined
  hosts = new Map()
  tokens = new Map()
  deleted = []
})
afterEach(async () => {
  lie = undefined
  for (const stop of stops) await stop()
  await rm(dir, { recursive: true, force: true })
})

interface Told {
  readonly lie: Lie
  readonly says: RegExp
  /** Of a host that exists: said for longer than ten seconds it is believed. */
  readonly couldBeTrue?: true
}

const LIES: Readonly<Record<string, Told>> = {
  'names hosts of another provider': {
    lie: (_, answer, response) => json(response, answer.replaceAll(`${NAME}://`, 'other://')),
    says: /KN11061.*other:/,
  },
  'shows every host as that of another machine': {
    lie: (_, answer, response) => json(response, answer.replaceAll(/"machineUid":"[^"]*"/g, '"machineUid":"another"')),
    says: /KN11061/,
    couldBeTrue: true,
  },
  'never answers': { lie: () => undefined, says: /KN11060.*no answer within|KN11061/ },
  'answers 100 MB': {
    lie: (_, __, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      let left = 100
      const more = (): void => {
        while (!response.destroyed && left > 0) {
          left -= 1
          if (!response.write(Buffer.alloc(MIB, ' '))) return
        }
        if (left === 0) response.end()
      }
      response.on('drain', more)
      more()
    },
    says: /KN11061.*more than 4 MiB/,
  },
}

const withHost = (all: readonly Machine[]) => all.filter((m) => m.spec.providerID !== undefined).length
const uids = (all: readonly Machine[]) => new Set(all.map((m) => m.metadata.uid))
const setOfLiar = () => {
  const set = setOf(REPLICAS)
  return { ...set, spec: { ...set.spec, template: { ...set.spec.template, spec: { provider: { name: NAME } } } } }
}

describe.each(Object.entries(LIES))('a provider in another program that %s', (_, { lie: told, says, couldBeTrue }) => {
  test(
    'gives no Machine a host while it does, each Machine and the set say why, and afterwards each has the one that was made',
    async () => {
      const { fake, machines, set, until } = await startControllers(await startProvider())
      lie = told
      fake.plant(machineSet, setOfLiar())
      const isSaid = (m: Machine) =>
        says.test(m.status?.waitingFor?.seen ?? '') &&
        m.status?.conditions?.find((c) => c.type === 'InfrastructureReady')?.reason === 'ProviderError'
      await until(() => machines().length === REPLICAS && machines().every(isSaid), 'every Machine says why')
      await until(() => set()?.status?.waitingFor?.predicate === 'HostsMade', 'the set waits for hosts')
      expect(set()?.status?.waitingFor?.seen).toMatch(
        /of 3 machines without a host; workers-\w+: the provider did not give a usable answer: KN11/,
      )
      expect(withHost(machines())).toBe(0)
      const before = uids(machines())

      lie = undefined
      await until(() => withHost(machines()) === REPLICAS, 'every Machine has a host')
      expect(uids(machines())).toEqual(before)
      expect(new Set(hosts.keys())).toEqual(new Set(machines().map((m) => m.spec.providerID)))
      expect([...tokens.values()].map((t) => t.size)).toEqual([1, 1, 1])
      expect(deleted).toEqual([])
    },
    PATIENCE_MS,
  )

  test(
    'loses no host that a Machine has, and replaces none',
    async () => {
      const { fake, machines, until, clock } = await startControllers(await startProvider())
      fake.plant(machineSet, setOfLiar())
      await until(() => withHost(machines()) === REPLICAS, 'every Machine has a host')
      const [before, made] = [uids(machines()), new Set(hosts.keys())]
      lie = told
      for (let look = 0; look < (couldBeTrue === true ? 1 : 5); look++) {
        for (const { metadata } of machines())
          fake.poke(machineType, { name: metadata.name ?? '' }, { metadata: { labels: { look: `${look}` } } })
        if (couldBeTrue !== true) clock.shift(30_000)
        await systemClock.sleep(300)
      }
      lie = undefined
      await until(() => machines().every((m) => m.status?.phase === 'Joining'), 'every Machine joins')
      expect(uids(machines())).toEqual(before)
      expect(new Set(hosts.keys())).toEqual(made)
      expect([...tokens.values()].map((t) => t.size)).toEqual([1, 1, 1])
      expect(deleted).toEqual([])
    },
    PATIENCE_MS,
  )
})
