// The administrator of a Cluster whose controllers the hub runs, with the providers of the hub: the account has hosts of other Clusters too. Whatever his objects
// name, nothing is read of these and nothing happens to them. The controllers are the real ones; the account and the API server are in memory.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { machine as machineType } from '#api/kinds/machine.ts'
import { ANNOTATIONS, ORPHAN_HOSTS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { orphanApproval, orphanApprovalsText } from '#api/protocol/orphan-approvals.ts'
import { configMapType } from '#controllers/machine/secrets/config-map.ts'
import { ownHostsOf } from '#providers/own-hosts.ts'
import type { Host, HostMaintenance, Provider } from '#providers/port.ts'
import { type MemoryHost, MemoryProvider, overridden } from '#test/doubles/providers/memory-provider.ts'
import { endWorlds, machineWorld, readyMachine, type TestWorld } from '#test/support/worlds/machine-world.ts'

const CLOUD = 'cloud'
const OWN = `${CLOUD}://own`
const OTHER = `${CLOUD}://of-another-cluster`
const OTHER_UID = 'uid-of-a-machine-of-another-cluster'
const LONG_MS = 45 * 60_000
const key = { namespace: SYSTEM_NAMESPACE, name: ORPHAN_HOSTS }

let orders: string[]
let account: Provider

const host = (providerID: string, machineUid: string): MemoryHost =>
  ({
    providerID,
    clientToken: `token-of-${providerID}`,
    machine: providerID.slice(`${CLOUD}://`.length),
    machineUid,
    state: 'Running',
    createdAt: '2026-01-05T00:00:00Z',
    boots: 1,
  }) as unknown as MemoryHost

const maintenance = (providerID: string): HostMaintenance =>
  ({
    eventId: `event-of-${providerID}`,
    providerID,
    kind: 'Reboot',
    state: 'Scheduled',
    notBefore: '2026-02-01T00:00:00Z',
    description: '',
    answers: ['Start'],
  }) as unknown as HostMaintenance

beforeEach(() => {
  orders = []
  const hosts = new Map([OWN, OTHER].map((id) => [id, host(id, id === OWN ? 'own-uid' : OTHER_UID)]))
  const memory = new MemoryProvider({ clock: { now: () => 0 }, name: CLOUD, hosts })
  const ordered =
    <R>(what: string, answer: R) =>
    async (id: string): Promise<R> => {
      orders.push(`${what} ${id}`)
      return answer
    }
  account = overridden(memory, {
    delete: async (id) => {
      orders.push(`delete ${id}`)
      return memory.delete(id)
    },
    reboot: ordered('reboot', 'Ordered'),
    power: ordered('power', 'Ordered'),
    reportFault: ordered('report', 'Ordered'),
    respond: ordered('respond', 'Ordered'),
    maintenance: async () => ({ events: [OWN, OTHER].map(maintenance), asOf: '2026-01-05T00:00:00Z' }),
  })
})
afterEach(endWorlds)

describe('hosts that no Machine of his cluster has', () => {
  let world: TestWorld
  let uids: () => ReadonlySet<string>
  beforeEach(async () => {
    uids = () => new Set(world.fake.all(machineType).map(({ metadata }) => metadata.uid ?? ''))
    world = await machineWorld({ providers: { [CLOUD]: ownHostsOf(account, () => uids()) }, withParts: true })
  })

  test('are not shown to him, and not deleted when he approves it', async () => {
    await readyMachine(world)
    const approvals = new Map([[OTHER, orphanApproval(OTHER_UID, world.clock.now())]])
    const metadata = { ...key, annotations: { [ANNOTATIONS.approvedOrphans]: orphanApprovalsText(approvals) } }
    if (world.fake.peek(configMapType, key) === undefined)
      world.fake.plant(configMapType, { apiVersion: 'v1', kind: 'ConfigMap', metadata })
    else world.fake.poke(configMapType, key, { metadata })
    await world.clock.advance(LONG_MS)
    expect(orders).toEqual([])
    expect(JSON.stringify(world.fake.peek(configMapType, key)?.['data'] ?? {})).not.toContain(OTHER_UID)
  })

  test('stay when a Machine of his that names one is deleted', async () => {
    world.fake.plant(machineType, {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Machine',
      metadata: { name: 'mine' },
      spec: { channel: 'Agent', provider: { name: CLOUD }, providerID: OTHER, components: [] },
    })
    await world.clock.advance(60_000)
    await world.client.delete(machineType, { name: 'mine' })
    await world.clock.advance(LONG_MS)
    expect(orders.filter((o) => o.endsWith(OTHER))).toEqual([])
  })
})

describe('a provider that other clusters use', () => {
  const ours = () => ownHostsOf(account, () => new Set(['own-uid']))
  const ids = (hosts: readonly Pick<Host, 'providerID'>[]) => hosts.map(({ providerID }) => providerID)

  test('lists the hosts and the maintenance of this one', async () => {
    expect(ids((await ours().list()).hosts)).toEqual([OWN])
    expect(ids((await ours().maintenance?.())?.events ?? [])).toEqual([OWN])
  })

  test.each<[string, (p: Provider, id: string) => Promise<unknown> | undefined]>([
    ['delete', (p, id) => p.delete(id)],
    ['reboot', (p, id) => p.reboot(id, { hard: true })],
    ['power', (p, id) => p.power?.(id, 'Off')],
    ['report', (p, id) => p.reportFault?.(id, 'Memory', 'text')],
    ['respond', (p, id) => p.respond?.(`event-of-${id}`, { kind: 'Start' })],
  ])('carries out %s for a host of this one only', async (what, order) => {
    expect(await order(ours(), OTHER)).toBe(what === 'respond' ? 'Refused' : 'Gone')
    expect(orders).toEqual([])
    await order(ours(), OWN)
    expect(orders).toEqual([`${what} ${what === 'respond' ? 'event-of-' : ''}${OWN}`])
  })

  test('has the abilities of the provider, and asks nothing while the Machines are not known', async () => {
    expect(typeof ownHostsOf(overridden(account, {}), () => new Set()).maintenance).toBe('undefined')
    const unknown = ownHostsOf(account, () => {
      throw new Error('the cache is not complete')
    })
    await expect(unknown.list()).rejects.toThrow('not complete')
    await expect(unknown.delete(OTHER)).rejects.toThrow('not complete')
    expect(orders).toEqual([])
  })
})
