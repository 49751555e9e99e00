// What happens if a provider gives one host to two Machines: one has it, the other reports why it has none, and neither deletes it while the other
// exists.
import type { JoinBundle } from '#api/join-bundle.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { FINALIZERS } from '#api/names.ts'
import { nodeType } from '#nodes/objects.ts'
import type { Provider } from '#providers/port.ts'
import { type MemoryHost, MemoryProvider, overridden } from '#test/doubles/providers/memory-provider.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { beat, endWorlds, machineWorld, register } from '#test/support/worlds/machine-world.ts'
import { afterEach, expect, test } from 'vitest'

afterEach(endWorlds)

const SHARED = 'cloud://shared'
const MINUTE_MS = 60_000

/** A provider with a single host, which it tags for the Machine that asked last. */
async function sharingWorld() {
  const hosts = new Map<string, MemoryHost>()
  const deleted: string[] = []
  const memory = new MemoryProvider({ clock: new VirtualClock(), name: 'cloud', hosts })
  const cloud: Provider = overridden(memory, {
    // A host gets its join token once.
    capabilities: { ...memory.capabilities, userDataBytes: 16_384 },
    create: async (request) => {
      const { machine, machineUid, clientToken } = request
      const owner = { machine, machineUid, clientToken }
      const host = { providerID: SHARED, ...owner, state: 'Running', createdAt: '2026-01-01T00:00:00Z' } as const
      hosts.set(SHARED, { ...host, request, boots: 1 })
      return { kind: 'Host', host }
    },
    delete: async (id) => {
      deleted.push(id)
      return memory.delete(id)
    },
  })
  const w = await machineWorld({ providers: { cloud }, withParts: true })
  const plant = (name: string, spec: object = {}, metadata: object = {}) =>
    w.fake.plant(machineType, {
      ...machineType.example,
      metadata: { name, ...metadata },
      spec: { provider: { name: 'cloud' }, ...spec },
    })
  const machine = (name: string) => w.fake.peek(machineType, { name }) as Machine | undefined
  return { w, hosts, cloud, deleted, plant, machine }
}

/** With the Machine that serves on the host. */
async function servingWorld() {
  const world = await sharingWorld()
  const { w, plant, machine } = world
  plant('first')
  await w.clock.advance(1_000)
  beat(w, 'first')
  register(w, 'first')
  await w.clock.advance(5_000)
  expect(machine('first')).toMatchObject({ spec: { providerID: SHARED }, status: { phase: 'Ready' } })
  /** Its agent sends heartbeats in the meantime. */
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= 10_000) {
      beat(w, 'first')
      await w.clock.advance(Math.min(left, 10_000))
    }
  }
  return { ...world, pass }
}

test('a host that a Machine has is given to no other one, and stays when that one is deleted', async () => {
  const { w, hosts, deleted, plant, machine, pass } = await servingWorld()
  plant('second')
  await pass(MINUTE_MS)
  expect(machine('second')).toMatchObject({
    status: {
      phase: 'Pending',
      waitingFor: {
        predicate: 'HostMade',
        seen: expect.stringContaining(
          `machine first has host ${SHARED} too; delete the Machine that it does not belong to`,
        ),
      },
    },
  })
  expect(machine('second')?.spec.providerID).toBeUndefined()
  expect(machine('first')).toMatchObject({ spec: { providerID: SHARED }, status: { phase: 'Ready' } })

  await w.client.delete(machineType, { name: 'second' })
  await pass(2 * MINUTE_MS)
  expect(machine('second')).toBeUndefined()
  expect(deleted).toEqual([])
  expect([...hosts.keys()]).toEqual([SHARED])
})

test('two Machines that name one host say so, and the one that never served leaves it to the other', async () => {
  const { w, deleted, plant, machine, pass } = await servingWorld()
  // Both were answered at the same moment, or a person wrote the id.
  plant('second', { providerID: SHARED })
  await pass(MINUTE_MS)
  const infrastructure = (name: string) =>
    machine(name)?.status?.conditions?.find((c) => c.type === 'InfrastructureReady')
  expect(infrastructure('first')).toMatchObject({
    status: 'Unknown',
    message: expect.stringContaining('machine second'),
  })
  await w.client.delete(machineType, { name: 'second' })
  await pass(MINUTE_MS)
  expect(machine('second')).toBeUndefined()
  expect(deleted).toEqual([])
  expect(infrastructure('first')).toMatchObject({ status: 'True' })
})

test('one that served waits until the other one is gone, and is drained under a permit like any other', async () => {
  const { w, deleted, plant, machine, pass } = await servingWorld()
  plant('second', { providerID: SHARED })
  await w.client.delete(machineType, { name: 'first' })
  await pass(MINUTE_MS)
  expect(machine('first')?.status?.waitingFor).toMatchObject({ seen: expect.stringContaining('machine second has') })
  expect(deleted).toEqual([])
  expect(w.fake.peek(nodeType, { name: 'first' })).toBeDefined()
  await w.client.delete(machineType, { name: 'second' })
  await pass(MINUTE_MS)
  expect(machine('second')).toBeUndefined()
  expect(machine('first')?.status?.waitingFor).toMatchObject({ predicate: 'PermitGranted' })
  expect(deleted).toEqual([])
})

/**
 * The host of the first Machine was deleted, and the controllers restarted before the Machine was removed. They wait in case the host is only not
 * visible.
 */
test('an id that the provider uses again before the first Machine is removed is had by the second one afterwards', async () => {
  const { w, machine, plant } = await sharingWorld()
  plant('first', { providerID: SHARED }, { finalizers: [FINALIZERS.machine] })
  await w.client.delete(machineType, { name: 'first' })
  plant('second')
  await w.clock.advance(5_000)
  expect(machine('second')?.status?.waitingFor?.seen).toContain(
    `machine first, which is being deleted, still has host ${SHARED}`,
  )
  await w.clock.advance(MINUTE_MS)
  expect(machine('first')).toBeUndefined()
  expect(machine('second')?.spec.providerID).toBe(SHARED)
})

test('a host whose id the provider used again is not left behind by two Machines that end together', async () => {
  const { w, hosts, cloud, machine, plant } = await sharingWorld()
  const request = { clientToken: 't', machine: 'before', machineUid: 'u', params: {}, join: {} as JoinBundle }
  await cloud.create(request)
  plant('first', { providerID: SHARED })
  plant('second')
  await w.clock.advance(1_000)
  expect([...hosts.values()].map((h) => h.machine)).toEqual(['second'])
  expect(machine('second')?.status?.provisioning?.answer).toBe('Unknown')
  await w.client.delete(machineType, { name: 'second' })
  await w.clock.advance(3_000)
  await w.client.delete(machineType, { name: 'first' })
  await w.clock.advance(2 * MINUTE_MS)
  expect([machine('first'), machine('second')]).toEqual([undefined, undefined])
  expect([...hosts.keys()]).toEqual([])
})
