// What happens to hosts if their provider reports something wrong once, or only some of them.
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { ANNOTATIONS } from '#api/names.ts'
import { nodeType } from '#nodes/objects.ts'
import type { CreateResult, Host, Provider } from '#providers/port.ts'
import { type MemoryHost, MemoryProvider, overridden } from '#test/doubles/providers/memory-provider.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { beat, endWorlds, machineWorld, nodeBeat, register } from '#test/support/worlds/machine-world.ts'
import { afterEach, describe, expect, test } from 'vitest'

afterEach(endWorlds)

const MINUTE_MS = 60_000

/** A provider `cloud` that keeps its hosts, hides those that a test names, and records its calls. */
async function cloudWorld() {
  const hosts = new Map<string, MemoryHost>()
  const memory = new MemoryProvider({ clock: new VirtualClock(), name: 'cloud', hosts })
  const stocked = new Set(['b'])
  const hidden = { gets: 0, lists: 0 }
  const asked: string[] = []
  const cloud: Provider = overridden(memory, {
    create: async (request) => {
      const { machine, clientToken, offering } = request
      asked.push(`create ${machine}`)
      const out: CreateResult = { kind: 'Exhausted', reason: 'none left', retryAfterMs: MINUTE_MS }
      if (offering?.zone !== undefined && !stocked.has(offering.zone)) return out
      // Another token asks for another host, whatever the machine.
      const twin = [...hosts.values()].find((h) => h.machine === machine && h.clientToken !== clientToken)
      if (twin !== undefined) asked.push(`second host of ${machine}`)
      return memory.create(request)
    },
    delete: async (id) => {
      asked.push(`delete ${id}`)
      return memory.delete(id)
    },
    get: async (id) => (hidden.gets > 0 && (hidden.gets -= 1) >= 0 ? undefined : memory.get(id)),
    list: async () => {
      const { hosts: all, asOf } = await memory.list()
      const isWhole = hidden.lists === 0 || (hidden.lists -= 1) < 0
      return { hosts: isWhole ? all : ([] as readonly Host[]), asOf }
    },
  })
  const w = await machineWorld({ providers: { cloud }, withParts: true })
  const machine = () => w.fake.all(machineType)[0] as Machine | undefined
  return { w, hosts, hidden, asked, machine, stocked }
}

const plain = { ...machineType.example, metadata: { name: 'm' }, spec: { provider: { name: 'cloud' } } }
const offered = { ...plain, spec: { provider: { name: 'cloud', offerings: [{ zone: 'a' }, { zone: 'b' }] } } }

/** A Machine of the cloud whose agent and Node sent heartbeats, and are silent now. */
async function silentMachine() {
  const world = await cloudWorld()
  const { w } = world
  w.fake.plant(machineType, plain)
  await w.clock.advance(1_000)
  beat(w, 'm')
  register(w, 'm')
  await w.clock.advance(1_000)
  const uid = world.machine()?.metadata.uid
  w.fake.poke(nodeType, { name: 'm' }, { status: { conditions: [] } }, 'status')
  return { ...world, uid }
}

describe('a provider that lies once', () => {
  test.each([
    ['when it is asked for the host', { gets: 1, lists: 1 }],
    ['in its list', { gets: 0, lists: 1 }],
    ['in three lists one after the other', { gets: 0, lists: 3 }],
  ])('%s loses no machine, and its host stays', async (_, lies) => {
    const { w, hosts, hidden, asked, machine, uid } = await silentMachine()
    Object.assign(hidden, lies)
    await w.clock.advance(10 * MINUTE_MS)
    expect(hidden).toEqual({ gets: 0, lists: 0 })
    expect(machine()?.metadata).toMatchObject({ uid })
    expect(machine()?.metadata.deletionTimestamp).toBeUndefined()
    expect(machine()?.status?.conditions?.find((c) => c.type === 'InfrastructureReady')?.reason).not.toBe('MachineGone')
    expect([...hosts.keys()]).toEqual(['cloud://m'])
    expect(asked).toEqual(['create m'])
  })

  test('is not written down again at each look while it is not believed yet', async () => {
    const { w, hosts, machine } = await silentMachine()
    hosts.clear()
    const infrastructure = () => machine()?.status?.conditions?.find((c) => c.type === 'InfrastructureReady')
    for (let i = 0; i < 300 && infrastructure()?.reason !== 'ProviderError'; i++) await w.clock.advance(1_000)
    expect(infrastructure()?.reason).toBe('ProviderError')
    const first = machine()?.metadata.resourceVersion
    await w.clock.advance(8_000)
    expect(infrastructure()?.reason).toBe('ProviderError')
    expect(machine()?.metadata.resourceVersion).toBe(first)
  })

  test('of whose Machine a host is loses none: a changed tag is no absence', async () => {
    const { w, hosts, machine, uid } = await silentMachine()
    for (const [id, host] of hosts) hosts.set(id, { ...host, machineUid: 'another' })
    await w.clock.advance(30 * MINUTE_MS)
    expect(machine()?.metadata).toMatchObject({ uid })
    expect(machine()?.status?.conditions?.find((c) => c.type === 'InfrastructureReady')).toMatchObject({
      status: 'Unknown',
      reason: 'ProviderError',
      message: expect.stringContaining('as the host of another Machine'),
    })
    expect([...hosts.keys()]).toEqual(['cloud://m'])
  })

  test('of a node whose kubelet sends heartbeats without the agent takes nothing from it, although its Machine is deleted', async () => {
    const { w, hosts, machine } = await silentMachine()
    const beatOfNode = () => nodeBeat(w, 'm')
    beatOfNode()
    for (let i = 0; i < 6; i++, beatOfNode()) await w.clock.advance(10_000)
    expect(machine()?.status?.conditions?.find((c) => c.type === 'AgentReachable')?.status).toBe('False')
    hosts.clear()
    await w.client.delete(machineType, { name: 'm' })
    for (let i = 0; i < 30; i++, beatOfNode()) await w.clock.advance(10_000)
    expect(machine()?.status?.waitingFor).toMatchObject({
      predicate: 'HostKnown',
      seen: 'the provider does not know the host, but its agent or its Node still sends heartbeats',
    })
    expect(w.fake.peek(nodeType, { name: 'm' })).toBeDefined()
    // The provider was right: the host was deleted, and its heartbeats end.
    await w.clock.advance(MINUTE_MS)
    expect(machine()).toBeUndefined()
    expect(w.fake.peek(nodeType, { name: 'm' })).toBeUndefined()
  })

  test('is believed when it says the same for longer than ten seconds', async () => {
    const { w, hosts, machine } = await silentMachine()
    hosts.clear()
    await w.clock.advance(5 * MINUTE_MS)
    expect(machine()?.status?.conditions?.find((c) => c.type === 'InfrastructureReady')).toMatchObject({
      status: 'False',
      reason: 'MachineGone',
    })
  })
})

/**
 * As restored from a backup made before the host existed: the Machine is old, with no attempt and no host. In the meantime the first offering has
 * capacity again.
 */
async function restored() {
  const world = await cloudWorld()
  const { w } = world
  w.fake.plant(machineType, offered)
  await w.clock.advance(5_000)
  const before = world.machine()
  if (before === undefined) throw new Error('no machine')
  expect(before.status?.provisioning).toMatchObject({ attempt: 2, offering: { zone: 'b' }, providerID: 'cloud://m' })
  await w.clock.advance(10 * MINUTE_MS)
  world.asked.splice(0)
  world.stocked.add('a')
  const { providerID: _, ...spec } = before.spec
  const { provisioning: __, ...status } = before.status ?? {}
  const token = before.status?.provisioning?.token
  return { ...world, token, restore: () => w.fake.restore(machineType, { ...before, spec, status }) }
}

describe('a Node that an earlier Machine of the name left', () => {
  const EARLIER = 'earlier-uid'
  const nodeOf = (w: Awaited<ReturnType<typeof cloudWorld>>['w']) => w.fake.peek(nodeType, { name: 'm' })
  const leftNode = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'm', annotations: { [ANNOTATIONS.machineUid]: EARLIER } },
  }

  test('stays when one list lacks its host', async () => {
    const { w, hosts, hidden } = await cloudWorld()
    const request = { machine: 'm-before', machineUid: EARLIER, clientToken: 'old', params: {}, join: {} as never }
    await new MemoryProvider({ clock: w.clock, name: 'cloud', hosts }).create(request)
    w.fake.plant(nodeType, leftNode)
    await w.clock.advance(2 * MINUTE_MS)
    hidden.lists = 1
    w.fake.plant(machineType, plain)
    await w.clock.advance(5 * MINUTE_MS)
    expect(hidden.lists).toBe(0)
    expect(nodeOf(w)?.metadata.annotations).toEqual({ [ANNOTATIONS.machineUid]: EARLIER })
  })

  test('and its host that serves are no host of the new one, which says so and waits', async () => {
    const { w, hosts, machine, asked } = await cloudWorld()
    const request = { machine: 'm-before', machineUid: EARLIER, clientToken: 'old', params: {}, join: {} as never }
    await new MemoryProvider({ clock: w.clock, name: 'cloud', hosts }).create(request)
    w.fake.plant(nodeType, leftNode)
    w.fake.plant(machineType, plain)
    await w.clock.advance(2 * MINUTE_MS)
    const status = machine()?.status
    expect([status?.nodeRef, status?.waitingFor?.seen, asked]).toEqual([
      undefined,
      'node m is of an earlier machine of this name, whose host cloud://m-before is there',
      [],
    ])
    hosts.clear()
    await w.clock.advance(MINUTE_MS)
    expect(asked).toEqual(['create m'])
  })

  test('is deleted when it is still missing ten seconds later', async () => {
    const { w } = await cloudWorld()
    w.fake.plant(nodeType, leftNode)
    await w.clock.advance(2 * MINUTE_MS)
    w.fake.plant(machineType, plain)
    await w.clock.advance(5_000)
    expect(nodeOf(w)).toBeDefined()
    await w.clock.advance(20_000)
    expect(nodeOf(w)).toBeUndefined()
  })
})

test('a Machine that waits for a provider that was away is tried with the first list after it', async () => {
  const hosts = new Map<string, MemoryHost>()
  const memory = new MemoryProvider({ clock: new VirtualClock(), name: 'cloud', hosts })
  let isAway = true
  const away = () => Promise.reject(new Error('the program is away'))
  const cloud = overridden(memory, {
    create: async (request) => (isAway ? away() : memory.create(request)),
    list: async () => (isAway ? away() : memory.list()),
  })
  const w = await machineWorld({ providers: { cloud }, withParts: true })
  w.fake.plant(machineType, plain)
  // Long enough that its retries are minutes apart.
  await w.clock.advance(30 * MINUTE_MS)
  isAway = false
  let waited = 0
  for (; hosts.size === 0 && waited < 10 * MINUTE_MS; waited += 1_000) await w.clock.advance(1_000)
  // One list a minute, plus some jitter.
  expect(waited).toBeLessThanOrEqual(90_000)
})

describe('a Machine from a backup that knows of no attempt', () => {
  test.each([
    ['', 0],
    [' although the first list after the restore does not show it', 1],
  ])('gets the host that it had, under its token%s', async (_, lists) => {
    const { w, restore, hidden, asked, machine, token } = await restored()
    restore()
    hidden.lists = lists
    await w.clock.advance(MINUTE_MS)
    expect(hidden.lists).toBe(0)
    expect(machine()?.spec.providerID).toBe('cloud://m')
    expect(machine()?.status?.provisioning).toMatchObject({ token, offering: { zone: 'b' } })
    // Once, so that the host gets a join token that is valid.
    expect(asked).toEqual(['create m'])
  })

  test('gets a new one when two lists ten seconds apart show none', async () => {
    const { w, restore, hosts, asked, machine } = await restored()
    hosts.clear()
    restore()
    await w.clock.advance(5_000)
    expect(asked).toEqual([])
    await w.clock.advance(MINUTE_MS)
    expect(asked).toEqual(['create m'])
    expect(machine()?.status?.provisioning).toMatchObject({ attempt: 1, offering: { zone: 'a' } })
  })
})

test('a provider that creates hosts and never shows them is asked for a few in an hour, and the Machine says so', async () => {
  const asked = new Set<string>()
  const memory = new MemoryProvider({ clock: new VirtualClock(), name: 'cloud', hosts: new Map<string, MemoryHost>() })
  const cloud: Provider = overridden(memory, {
    create: async ({ clientToken, machine, machineUid }) => {
      asked.add(clientToken)
      const providerID = `cloud://h-${asked.size}`
      const createdAt = '2026-01-05T00:00:00Z'
      return { kind: 'Host', host: { providerID, clientToken, machine, machineUid, state: 'Running', createdAt } }
    },
    get: async () => undefined,
    list: async () => ({ hosts: [], asOf: '2026-01-05T00:00:00Z' }),
  })
  const w = await machineWorld({ providers: { cloud }, withParts: true })
  w.fake.plant(machineType, plain)
  await w.clock.advance(60 * MINUTE_MS)
  expect(asked.size).toBeGreaterThan(1)
  expect(asked.size).toBeLessThan(12)
  const machine = w.fake.all(machineType)[0] as Machine
  expect(machine.status?.waitingFor?.seen).toMatch(/the provider created cloud:\/\/h-\d+ and does not show it/)
})

test('a provider that says something of the Machines of another one all the time has that one asked no more often', async () => {
  const reads = async (isFlooded: boolean) => {
    const liar = new MemoryProvider({ clock: new VirtualClock(), name: 'liar' })
    let say: Parameters<Provider['events']>[0] = () => undefined
    const flooding = overridden(liar, { events: async (heard) => void (say = heard) })
    const memory = new MemoryProvider({ clock: new VirtualClock(), name: 'cloud' })
    let gets = 0
    const cloud = overridden(memory, {
      get: (id) => {
        gets++
        return memory.get(id)
      },
    })
    const w = await machineWorld({ providers: { cloud, liar: flooding }, withParts: true })
    w.fake.plant(machineType, plain)
    await w.clock.advance(1_000)
    for (let i = 0; i < 60; i++) {
      const event = { providerID: 'liar://m', kind: 'Stopped', message: '' } as const
      if (isFlooded) for (const machine of ['m', `nothing-${i}`]) say({ ...event, machine })
      await w.clock.advance(1_000)
    }
    return gets
  }
  expect(await reads(true)).toBe(await reads(false))
})
