// A provider whose answers about its hosts change with every question: power, tokens, owners, names. The controllers are the real ones, orphans are deleted, and an
// hour passes: each Machine keeps the one host that it got, and none is deleted, whether its agent is heard or not.
import { machineSet } from '#api/kinds/machine-set.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import type { Host, HostRequest, Provider } from '#providers/port.ts'
import { type MemoryHost, MemoryProvider, overridden } from '#test/doubles/providers/memory-provider.ts'
import { beat, endWorlds, machineWorld, setOf, type TestWorld } from '#test/support/worlds/machine-world.ts'
import { inFullAll } from '#test/support/tools/full.ts'
import { afterEach, describe, expect, test } from 'vitest'

const NAME = 'process'
const REPLICAS = 3
const BEAT_MS = 20_000
/** Longer than the time after which a host without a Machine is deleted. */
const LONG_MS = 30 * 60_000

/** What becomes of a true answer; `n` counts the questions. */
type Lie = (host: Host, n: number, all: readonly Host[]) => Host

const isOdd = (n: number): boolean => n % 2 === 1
const next = (host: Host, all: readonly Host[]): Host =>
  all[(all.findIndex((h) => h.providerID === host.providerID) + 1) % Math.max(1, all.length)] ?? host

const LIES: Readonly<Record<string, Lie>> = {
  'flips between Running and Stopped': (host, n) => ({ ...host, state: isOdd(n) ? 'Stopped' : 'Running' }),
  'flips between Running and Creating': (host, n) => ({ ...host, state: isOdd(n) ? 'Creating' : 'Running' }),
  'gives every host another token with each answer': (host, n) => ({ ...host, clientToken: `token-${n}` }),
  'flips between the token and another one': (host, n) => (isOdd(n) ? { ...host, clientToken: 'other' } : host),
  'gives all hosts one token': (host) => ({ ...host, clientToken: 'the-same' }),
  'exchanges the Machines of its hosts in every other answer': (host, n, all) => {
    const { machine, machineUid } = isOdd(n) ? next(host, all) : host
    return { ...host, machine, machineUid }
  },
  'exchanges the tokens of its hosts in every other answer': (host, n, all) =>
    isOdd(n) ? { ...host, clientToken: next(host, all).clientToken } : host,
  'makes its hosts later and earlier': (host, n) => ({
    ...host,
    createdAt: isOdd(n) ? '2000-01-01T00:00:00Z' : '2090-01-01T00:00:00Z',
  }),
  'changes boots and addresses with each answer': (host, n) => ({
    ...host,
    bootID: `b-${n}`,
    address: `10.0.0.${n % 250}`,
  }),
}

interface Liar {
  readonly provider: Provider
  readonly deleted: string[]
  readonly hosts: Map<string, MemoryHost>
  /** The tokens that a host was asked for with, by Machine. */
  readonly tokens: Map<string, Set<string>>
  lie: Lie | undefined
}

function liar(clock: { now(): number }): Liar {
  const hosts = new Map<string, MemoryHost>()
  const honest = new MemoryProvider({ clock, name: NAME, hosts })
  let questions = 0
  const said = (host: Host, n: number) => self.lie?.(host, n, [...hosts.values()]) ?? host
  const self: Liar = {
    hosts,
    deleted: [],
    tokens: new Map(),
    lie: undefined,
    provider: overridden(honest, {
      create: async (request: HostRequest) => {
        const { machineUid, clientToken } = request
        self.tokens.set(machineUid, (self.tokens.get(machineUid) ?? new Set()).add(clientToken))
        const made = await honest.create(request)
        return made.kind === 'Host' ? { kind: 'Host', host: said(made.host, ++questions) } : made
      },
      get: async (id) => {
        const host = await honest.get(id)
        return host && said(host, ++questions)
      },
      list: async () => {
        const list = await honest.list()
        const n = ++questions
        return { ...list, hosts: list.hosts.map((h) => said(h, n)) }
      },
      delete: async (id) => {
        self.deleted.push(id)
        return honest.delete(id)
      },
    }),
  }
  return self
}

const machinesOf = ({ fake }: TestWorld) => fake.all(machineType) as readonly Machine[]
const idsOf = (world: TestWorld) => machinesOf(world).map((m) => [m.metadata.uid, m.spec.providerID])

async function aWhile(world: TestWorld, isHeard: boolean): Promise<void> {
  const step = isHeard ? BEAT_MS : 60_000
  for (let ms = 0; ms < LONG_MS; ms += step) {
    if (isHeard) for (const { metadata } of machinesOf(world)) beat(world, metadata.name ?? '')
    await world.clock.advance(step)
  }
}

afterEach(endWorlds)

describe.each(inFullAll(Object.entries(LIES), 3))('a provider that %s', (_, lie) => {
  test.each([
    ['are heard', true],
    ['are silent', false],
  ])('keeps the hosts of Machines whose agents %s', async (__, isHeard) => {
    const cloud = liar({ now: () => 0 })
    const world = await machineWorld({ providers: { [NAME]: cloud.provider }, withParts: true })
    world.fake.plant(machineSet, setOf(REPLICAS))
    await world.clock.advance(60_000)
    for (const { metadata } of machinesOf(world)) beat(world, metadata.name ?? '')
    await world.clock.advance(BEAT_MS)
    const before = idsOf(world)
    expect(new Set(before.map(([, id]) => id)).size).toBe(REPLICAS)
    cloud.lie = lie
    await aWhile(world, isHeard)
    expect([idsOf(world), cloud.hosts.size, cloud.deleted]).toEqual([before, REPLICAS, []])
  })

  test('gives each Machine one host, asked for with one token, while it does', async () => {
    const cloud = liar({ now: () => 0 })
    const world = await machineWorld({ providers: { [NAME]: cloud.provider }, withParts: true })
    cloud.lie = lie
    world.fake.plant(machineSet, setOf(REPLICAS))
    await aWhile(world, false)
    cloud.lie = undefined
    await world.clock.advance(15 * 60_000)
    expect(cloud.deleted).toEqual([])
    expect([...cloud.tokens.values()].map((t) => t.size)).toEqual(Array.from({ length: REPLICAS }, () => 1))
    expect(new Set(idsOf(world).map(([, id]) => id))).toEqual(new Set(cloud.hosts.keys()))
  })
})
