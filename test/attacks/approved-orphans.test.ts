// A person approved the deletion of a host that no Machine has. Meanwhile it turns out to serve, or the provider mistakes it for another host, or an attacker uses
// the approval for other hosts: a host that serves is never deleted. The controllers are the real ones; only the provider and the API server are in memory.
import { ANNOTATIONS, ORPHAN_HOSTS, SYSTEM_NAMESPACE, agentLeaseName } from '#api/names.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { orphanApproval, orphanApprovalsText } from '#api/protocol/orphan-approvals.ts'
import { approveDeletion, readOrphans } from '#providers/remote/orphans.ts'
import { configMapType } from '#controllers/machine/secrets/config-map.ts'
import { nodeType } from '#nodes/objects.ts'
import type { Host, Provider } from '#providers/port.ts'
import { leaseType } from '#runtime/lease.ts'
import { type MemoryHost, MemoryProvider, overridden } from '#test/doubles/providers/memory-provider.ts'
import { type Attempt, type AttackWorld, tryOnServers } from '#test/support/worlds/attack-world.ts'
import { endWorlds, machineWorld, type TestWorld } from '#test/support/worlds/machine-world.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { defined } from '#lib/defined.ts'

const CLOUD = 'cloud'
const ID = `${CLOUD}://eu-1/i-1`
const UID = 'uid-of-a-lost-machine'
const ADDRESS = '10.0.0.7'
const key = { namespace: SYSTEM_NAMESPACE, name: ORPHAN_HOSTS }
const LISTED_MS = 3 * 60_000
/** The grace period is over, and some lists after it. */
const LONG_MS = 30 * 60_000

let hosts: Map<string, MemoryHost>
let deleted: string[]
/** What the provider says instead of the truth. */
let lies: Partial<Provider>
let world: TestWorld

const host = (id: string, more: Partial<Host> = {}): Host => ({
  providerID: id,
  clientToken: `token-of-${id}`,
  machine: 'lost',
  machineUid: UID,
  state: 'Running',
  address: ADDRESS,
  createdAt: '2026-01-05T00:00:00Z',
  ...more,
})

const at = (found: Host): void => void hosts.set(found.providerID, { ...found, boots: 1 } as unknown as MemoryHost)

async function begin(): Promise<TestWorld> {
  const cloud = new MemoryProvider({ clock: { now: () => 0 }, name: CLOUD, hosts })
  const provider = overridden(cloud, {
    get: async (id) => (lies.get ?? cloud.get.bind(cloud))(id),
    list: async () => (lies.list ?? cloud.list.bind(cloud))(),
    delete: async (id) => {
      deleted.push(id)
      return cloud.delete(id)
    },
  })
  return machineWorld({ providers: { [CLOUD]: provider }, withParts: true })
}

const node = (name: string, more: { readonly providerID?: string; readonly address?: string; readonly uid?: string }) =>
  world.fake.plant(nodeType, {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, ...(more.uid !== undefined && { annotations: { [ANNOTATIONS.machineUid]: more.uid } }) },
    spec: defined({ providerID: more.providerID }),
    status: { addresses: more.address === undefined ? [] : [{ type: 'InternalIP', address: more.address }] },
  })

const lease = (uid: string) =>
  world.fake.plant(leaseType, {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      namespace: SYSTEM_NAMESPACE,
      name: agentLeaseName('lost'),
      annotations: { [ANNOTATIONS.machineUid]: uid },
    },
    spec: { holderIdentity: 'lost' },
  })

const machineOn = (name: string, providerID: string) =>
  world.fake.plant(machineType, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: { name },
    spec: { channel: 'Observe', providerID, components: [] },
  })

async function approve(): Promise<void> {
  await world.clock.advance(LISTED_MS)
  await approveDeletion(world.client, [ID], world.clock.now())
}

/** As the command writes them, by the ids of hosts and the Machines that these were made for. */
const approvalsText = (uids: Readonly<Record<string, string>>, now: number): string =>
  orphanApprovalsText(new Map(Object.entries(uids).map(([id, uid]) => [id, orphanApproval(uid, now)])))

const approvals = (uids: Readonly<Record<string, string>>) =>
  void world.fake.poke(configMapType, key, {
    metadata: { annotations: { [ANNOTATIONS.approvedOrphans]: approvalsText(uids, world.clock.now()) } },
  })

/** Why it is kept. */
const kept = async () => (await readOrphans(world.client, world.clock.now())).hosts.find((h) => h.host === ID)?.why

beforeEach(async () => {
  hosts = new Map()
  deleted = []
  lies = {}
  at(host(ID))
  world = await begin()
})
afterEach(endWorlds)

describe('a host without a Machine whose deletion a person approved', () => {
  test('is deleted after its time, and only then, where nothing speaks against it', async () => {
    await approve()
    await world.clock.advance(10 * 60_000)
    expect(deleted).toEqual([])
    await world.clock.advance(LONG_MS)
    expect(deleted).toEqual([ID])
  })

  const USES: readonly (readonly [string, () => unknown, RegExp])[] = [
    ['its Node appears', () => node('lost', { uid: UID }), /node lost is on it/],
    ['a Node with its id appears', () => node('other', { providerID: ID }), /node other is on it/],
    [
      'a Node appears whose id its cloud wrote in another way',
      () => node('other', { providerID: 'aws:///eu-1a/i-1' }),
      /node other is on it/,
    ],
    [
      'a Node appears whose id is that of Alibaba Cloud',
      () => node('other', { providerID: 'eu-1.i-1' }),
      /node other is on it/,
    ],
    ['a Node with its address appears', () => node('other', { address: ADDRESS }), /node other is on it/],
    ['its agent is heard', () => lease(UID), /agent lost ran on it/],
    ['it is adopted', () => machineOn('adopted', ID), /machine adopted names it/],
    [
      'it is adopted under another spelling of its id',
      () => machineOn('adopted', `${CLOUD}://EU-1/I-1/`),
      /machine adopted names it/,
    ],
    [
      'it is adopted under the id that its cloud gave its Node',
      () => machineOn('adopted', 'eu-1.i-1'),
      /machine adopted names it/,
    ],
  ]

  test.each(USES)('stays when %s after the approval', async (_, use, why) => {
    await approve()
    use()
    await world.clock.advance(LONG_MS)
    expect(deleted).toEqual([])
    expect(await kept()).toMatch(why)
  })

  test.each(USES)('stays when %s in the last moment, while its deletion is being decided', async (_, use) => {
    await approve()
    let asked = 0
    lies.get = async (id) => {
      if (asked++ === 0) use()
      return hosts.get(id)
    }
    await world.clock.advance(LONG_MS)
    expect([asked > 0, deleted]).toEqual([true, []])
  })

  test('stays when it was observed before, although its Node and Lease are gone and the controllers began again', async () => {
    node('lost', { uid: UID })
    await world.clock.advance(LISTED_MS)
    world.fake.uproot(nodeType, { name: 'lost' })
    const list = world.fake.peek(configMapType, key)
    endWorlds()
    world = await begin()
    world.fake.plant(configMapType, { apiVersion: 'v1', kind: 'ConfigMap', metadata: key, data: list?.['data'] })
    await approve()
    await world.clock.advance(LONG_MS)
    expect(deleted).toEqual([])
    expect(await kept()).toMatch(/node lost is on it/)
  })

  test('stays when the approval is withdrawn', async () => {
    await approve()
    await world.clock.advance(LISTED_MS)
    approvals({})
    await world.clock.advance(LONG_MS)
    expect(deleted).toEqual([])
  })

  test('stays when the approval is withdrawn in the last moment', async () => {
    await approve()
    let lists = 0
    lies.list = async () => {
      // The list after which it would be deleted.
      if (world.clock.monotonic() > 14.5 * 60_000 && lists++ === 0) void world.clock.after(0, () => approvals({}))
      return { hosts: [...hosts.values()], asOf: '2026-01-05T00:00:00Z' }
    }
    await world.clock.advance(LONG_MS)
    expect(deleted).toEqual([])
  })
})

describe('a provider that is mistaken about hosts', () => {
  test.each([
    ['has another Machine', { machineUid: 'uid-of-another' }],
    ['was made by another request', { clientToken: 'another token' }],
  ])('shows by name a host that %s: it stays', async (_, other) => {
    await approve()
    lies.get = async () => host(ID, other)
    await world.clock.advance(LONG_MS)
    expect(deleted).toEqual([])
  })

  test('gives the id of a host that serves as that of the approved one: it stays', async () => {
    const serving = `${CLOUD}://eu-1/i-2`
    machineOn('serving', serving)
    await approve()
    hosts.clear()
    at(host(serving))
    approvals({ [ID]: UID, [serving]: UID })
    await world.clock.advance(LONG_MS)
    expect(deleted).toEqual([])
  })

  test('gives a host that serves a second id: it stays under both', async () => {
    const second = `${CLOUD}://eu-1/i-2`
    node('serving', { providerID: ID, address: ADDRESS })
    at(host(second, { machineUid: 'another' }))
    await world.clock.advance(LISTED_MS)
    await approveDeletion(world.client, [ID, second], world.clock.now())
    await world.clock.advance(LONG_MS)
    expect(deleted).toEqual([])
  })
})

describe('an approval that is used again', () => {
  test('is not one for another host', async () => {
    const other = `${CLOUD}://eu-1/i-2`
    at(host(other, { machineUid: 'another', address: '10.0.0.8' }))
    await world.clock.advance(LISTED_MS)
    approvals({ [other]: UID, [`${other} `]: 'another' })
    await world.clock.advance(LONG_MS)
    expect(deleted).toEqual([])
  })

  test('is not one for the host that gets the id later, whose time begins from nothing', async () => {
    await approve()
    await world.clock.advance(10 * 60_000)
    at(host(ID, { machineUid: 'another' }))
    await world.clock.advance(LONG_MS)
    expect(deleted).toEqual([])
    approvals({ [ID]: 'a third' })
    at(host(ID, { machineUid: 'a third' }))
    await world.clock.advance(10 * 60_000)
    expect(deleted).toEqual([])
  })
})

const PATH = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/configmaps`
const approval = {
  metadata: { annotations: { [ANNOTATIONS.approvedOrphans]: approvalsText({ [ID]: UID }, Date.now()) } },
}

const APPROVALS: readonly Attempt[] = (
  ['agentA', 'joining', 'tenant', 'anybody', 'defender', 'approver', 'sync'] as const
).map((identity) => ({
  name: `${identity} approves the deletion of a host`,
  attempt: async ({ ask, who }) => {
    await ask(who.installer, 'POST', PATH, { body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: key } })
    return ask(who[identity], 'PATCH', `${PATH}/${ORPHAN_HOSTS}`, { body: approval })
  },
  control: ({ ask, who }) => ask(who.installer, 'PATCH', `${PATH}/${ORPHAN_HOSTS}?dryRun=All`, { body: approval }),
  refused: 403,
}))

/** The key of sync writes ConfigMaps that git declares, but not this one: neither an approval, nor what the controllers remember about hosts that served. */
const withKeyOfSync = (
  name: string,
  method: string,
  more: { readonly body?: object; readonly type?: string },
): Attempt => {
  const path = method === 'POST' ? PATH : `${PATH}/${ORPHAN_HOSTS}`
  const listed = { apiVersion: 'v1', kind: 'ConfigMap', metadata: key, data: { [CLOUD]: 'what was observed' } }
  const begun = async ({ ask, who }: AttackWorld) => {
    if (method !== 'POST') await ask(who.installer, 'POST', PATH, { body: listed })
    else await ask(who.installer, 'DELETE', `${PATH}/${ORPHAN_HOSTS}`)
  }
  return {
    name: `sync ${name}`,
    attempt: async (world) => {
      await begun(world)
      return world.ask(world.who.sync, method, path, more)
    },
    control: async (world) => {
      await begun(world)
      return world.ask(world.who.installer, method, `${path}?dryRun=All`, more)
    },
    refused: 403,
  }
}
const whole = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...key, ...approval.metadata } }

const BY_SYNC: readonly Attempt[] = [
  withKeyOfSync('makes the list with an approval in it', 'POST', { body: whole }),
  withKeyOfSync('writes the whole list anew', 'PUT', { body: whole }),
  withKeyOfSync('deletes the list and what was observed of hosts', 'DELETE', {}),
  withKeyOfSync('empties what was observed of hosts', 'PATCH', { body: { data: { [CLOUD]: null } } }),
]

tryOnServers('approvals of deletions', [...APPROVALS, ...BY_SYNC])
