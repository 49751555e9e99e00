// Both cloud providers against servers that verify signatures and manage hosts like the vendors: the conformance kit, and clouds' faults.
import { systemClock } from '#lib/system-clock.ts'
import { type FakeServer, serveFake } from '#test/doubles/clouds/answers.ts'
import type { FakeRegion } from '#test/doubles/clouds/region.ts'
import {
  CLUSTER,
  fakeRegion,
  hostRequest,
  KEY,
  OPEN_LIMITS,
  quickClock,
  VENDORS,
  type Vendor,
} from '#test/doubles/clouds/worlds.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CONFORMANCE, type ConformanceTools } from '../conformance.ts'
import type { CreateResult, Host, Provider } from '../port.ts'

const until: ConformanceTools['until'] = async (holds) => {
  for (let i = 0; i < 1_000; i++) {
    if (await holds()) return
    await systemClock.sleep(20)
  }
  throw new Error('it never happened')
}

const hostIn = (made: CreateResult): Host => {
  if (made.kind !== 'Host') throw new Error(`${made.kind}: ${JSON.stringify(made)}`)
  return made.host
}

describe.each(VENDORS)('$name', (v: Vendor) => {
  let region: FakeRegion
  let server: FakeServer
  let handler: ReturnType<Vendor['fake']>
  const start = (): Provider => v.provider({ clock: quickClock, endpoint: server.url, limits: OPEN_LIMITS })
  beforeAll(async () => {
    // Resolved at each request: every test has its own region.
    server = await serveFake((request) => handler(request))
  })
  afterAll(() => server.close())
  const fresh = (options: Partial<Parameters<typeof fakeRegion>[1]> = {}): FakeRegion => {
    region = fakeRegion(v, { clock: systemClock, ...options })
    handler = v.fake(region)
    return region
  }

  describe('conformance', () => {
    test.each(CONFORMANCE)('$name', async (c) => {
      fresh()
      await c.run({ provider: start(), until, params: v.params, restarted: async () => start() })
      expect(region.alive()).toEqual([])
    })
    test.each(CONFORMANCE)('while replies get lost and servers fail: $name', async (c) => {
      const { faults } = fresh()
      faults.lostReplies = 0.2
      faults.serverErrors = 0.1
      const patient = retrying(start())
      await c.run({ provider: patient, until, params: v.params, restarted: async () => retrying(start()) })
      expect(region.alive()).toEqual([])
    })
  })

  test('a host is what was asked for, with the tags of its owner, and nothing reaches its metadata without a session', async () => {
    fresh()
    const [, zone] = v.zones
    const made = hostIn(await start().create(hostRequest(v, 'm', { offering: { zone, market: 'Spot' } })))
    expect(made).toMatchObject({
      providerID: expect.stringMatching(new RegExp(`^${v.name}://${v.region}/i-`)) as string,
      machine: 'm',
      machineUid: 'uid-m',
      clientToken: 'token-m',
      offering: { zone, type: v.type, market: 'Spot' },
    })
    const [instance] = region.alive()
    expect(instance).toMatchObject({ zone, isSpot: true, needsMetadataSession: true })
    expect(instance?.tags.get('kubenode.io/cluster')).toBe(CLUSTER)
    expect(instance?.userData).toContain('abcdef.0123456789abcdef')
  })

  describe('hosts with a tag', () => {
    const others = (count: number, tag: readonly [string, string] = ['team', 'db']): readonly string[] =>
      Array.from({ length: count }, (_, i) => {
        const made = region.run({
          token: `other-${tag.join()}-${i}`,
          asked: '',
          zone: v.zones[0],
          type: v.type,
          isSpot: false,
          tags: new Map([tag]),
          userData: '',
          needsMetadataSession: true,
        })
        return typeof made === 'string' ? made : made.id
      })
    const idsOf = (hosts: readonly { readonly providerID: string }[] = []) =>
      hosts.map((h) => h.providerID.split('/').at(-1) ?? '').sort((a, b) => (a < b ? -1 : 1))

    test('are found on all pages, also those that people made, and no others', async () => {
      fresh({ pageSize: 2 })
      const ids = others(5)
      others(2, ['team', 'web'])
      await start().create(hostRequest(v, 'm'))
      const found = await start().tagged?.('team', 'db')
      expect(idsOf(found)).toEqual([...ids].sort((a, b) => (a < b ? -1 : 1)))
      expect(found?.every((h) => h.address !== undefined)).toBe(true)
      expect((await start().list()).hosts.map((h) => h.machine)).toEqual(['m'])
    })

    test('are all found or none: a list that breaks off is an error', async () => {
      const { faults } = fresh({ pageSize: 2 })
      others(5)
      faults.breaksOnPage = 2
      await expect(start().tagged?.('team', 'db')).rejects.toThrow()
    })

    test('are listed once when a page repeats a host of the one before', async () => {
      const { faults } = fresh({ pageSize: 2 })
      const ids = others(5)
      faults.repeatsHosts = true
      expect(idsOf(await start().tagged?.('team', 'db'))).toEqual([...ids].sort((a, b) => (a < b ? -1 : 1)))
    })
  })

  test('a host is created once although the reply was lost', async () => {
    const { faults } = fresh()
    faults.lostReplies = 1
    const provider = start()
    expect(await provider.create(hostRequest(v, 'lost'))).toMatchObject({ kind: 'Unknown' })
    faults.lostReplies = 0
    const made = hostIn(await provider.create(hostRequest(v, 'lost')))
    expect(region.alive().map((i) => made.providerID.endsWith(i.id))).toEqual([true])
  })

  test('a repeated create whose join token is another one finds the host of the first', async () => {
    const { faults } = fresh()
    faults.lostReplies = 1
    const provider = start()
    const first = hostRequest(v, 'renewed')
    await provider.create(first)
    faults.lostReplies = 0
    const again = { ...first, join: { ...first.join, token: 'zzzzzz.0123456789abcdef' } }
    expect(hostIn(await provider.create(again)).clientToken).toBe('token-renewed')
    expect(region.alive()).toHaveLength(1)
    faults.visibleAfterMs = 600_000
    expect(await provider.create(again)).toMatchObject({ kind: 'Unknown' })
    expect(region.alive()).toHaveLength(1)
  })

  test('where there is no stock the next offering gets a host, with a token of its own', async () => {
    const { faults } = fresh()
    const [zone, other] = v.zones
    faults.noStock.add(`${zone}/${v.type}`)
    const provider = start()
    const none = await provider.create(hostRequest(v, 'm', { offering: { zone } }))
    expect(none).toMatchObject({ kind: 'Exhausted', zone, type: v.type })
    hostIn(await provider.create(hostRequest(v, 'm', { clientToken: 'token-2', offering: { zone: other } })))
    expect(region.alive().map((i) => i.zone)).toEqual([other])
  })

  test('a deleted image is refused with the words of the vendor', async () => {
    fresh().images.clear()
    const made = await start().create(hostRequest(v, 'm'))
    expect(made).toMatchObject({
      kind: 'Refused',
      reason: expect.stringMatching(/^Invalid(ImageId|AMIID)\.NotFound/) as string,
    })
  })

  test.each([
    ['an unknown parameter', { imagge: 'x' }, /imagge/],
    ['a disk without a size', { systemDisk: 'gp3' }, /systemDisk/],
    ['a tag of ours', { tags: 'kubenode.io/cluster=other' }, /tags/],
  ])('%s is refused before anything is asked', async (_, params, reason) => {
    fresh()
    const made = await start().create(hostRequest(v, 'm', { params: { ...v.params, ...params } }))
    expect(made).toMatchObject({ kind: 'Refused', reason: expect.stringMatching(reason) as string })
    expect([...region.calls]).toEqual([])
  })

  test('a zone without a network is refused', async () => {
    fresh()
    const made = await start().create(hostRequest(v, 'm', { offering: { zone: 'nowhere-9' } }))
    expect(made).toMatchObject({ kind: 'Refused', reason: expect.stringContaining('nowhere-9') as string })
  })

  test('a text to join with that the vendor would cut is refused', async () => {
    fresh()
    const provider = v.provider({
      clock: quickClock,
      endpoint: server.url,
      limits: OPEN_LIMITS,
      userData: () => 'x'.repeat(40_000),
    })
    expect(await provider.create(hostRequest(v, 'm'))).toMatchObject({ kind: 'Refused' })
  })

  test.each([
    ['answers a page of a network', 'Nonsense'],
    ['answers a hundred megabytes', 'Huge'],
  ] as const)(
    'a vendor that %s leaves it open whether there is a host, and says nothing of others',
    async (_, next) => {
      fresh()
      const provider = start()
      const { providerID } = hostIn(await provider.create(hostRequest(v, 'm')))
      const sound = handler
      handler = (request) => {
        region.faults.next = next
        return sound(request)
      }
      for (const ask of [() => provider.get(providerID), () => provider.list()])
        await expect(ask()).rejects.toThrow(/KN11042/)
      handler = sound
      region.faults.next = next
      // The second attempt of the same call is answered.
      expect(hostIn(await provider.create(hostRequest(v, 'm'))).providerID).toBe(providerID)
      expect(server.sent()).toBeLessThan(80 * 2 ** 20)
    },
  )

  test('a list that breaks off is no list', async () => {
    const { faults } = fresh({ pageSize: 2 })
    const provider = start()
    for (const n of [1, 2, 3, 4, 5]) await provider.create(hostRequest(v, `m-${n}`))
    faults.repeatsHosts = true
    expect((await provider.list()).hosts.map((h) => h.machine).sort()).toEqual(['m-1', 'm-2', 'm-3', 'm-4', 'm-5'])
    faults.breaksOnPage = 2
    await expect(provider.list()).rejects.toThrow('KN11042')
    expect(region.alive()).toHaveLength(5)
  })

  test('a host that no list has yet is not gone', async () => {
    const { faults } = fresh()
    faults.visibleAfterMs = 600_000
    const provider = start()
    const { providerID } = hostIn(await provider.create(hostRequest(v, 'm')))
    await expect(provider.get(providerID)).rejects.toThrow('KN11043')
    await expect(provider.reboot(providerID)).rejects.toThrow('KN11043')
    // A restarted provider does not know it either.
    await expect(start().get(providerID)).rejects.toThrow('KN11043')
  })

  test('a host that the vendor does not know yet is not gone when it is deleted at once, and is deleted later', async () => {
    const { faults } = fresh()
    faults.visibleAfterMs = 600_000
    const provider = start()
    const { providerID } = hostIn(await provider.create(hostRequest(v, 'm')))
    for (let i = 0; i < 3; i++) await expect(provider.delete(providerID)).rejects.toThrow('KN11043')
    expect(region.alive()).toHaveLength(1)
    faults.visibleAfterMs = 0
    expect(await provider.delete(providerID)).toBe('Deleting')
    expect(region.alive()).toEqual([])
    await until(async () => (await provider.delete(providerID)) === 'Gone')
  })

  test('a host that was shown before, and whose deletion the vendor refuses, is not gone in an answer that lags', async () => {
    const { faults } = fresh()
    const provider = start()
    const { providerID } = hostIn(await provider.create(hostRequest(v, 'm')))
    expect(await provider.get(providerID)).toBeDefined()
    // A lagging replica.
    faults.visibleAfterMs = 600_000
    await expect(provider.delete(providerID)).rejects.toThrow('KN11043')
    await expect(provider.get(providerID)).rejects.toThrow('KN11043')
    faults.visibleAfterMs = 0
    expect((await provider.get(providerID))?.state).toBe('Running')
    expect(region.alive()).toHaveLength(1)
  })

  test('a host of another region is not asked about', async () => {
    fresh()
    await expect(start().get(`${v.name}://elsewhere-1/i-00000000000000001`)).rejects.toThrow('KN11044')
  })

  test('hosts of another cluster in the same account are not ours', async () => {
    fresh()
    hostIn(await start().create(hostRequest(v, 'm')))
    const [instance] = region.instances.values()
    if (instance === undefined) throw new Error('no instance was made')
    region.instances.set(instance.id, {
      ...instance,
      tags: new Map([...instance.tags, ['kubenode.io/cluster', 'other']]),
    })
    expect((await start().list()).hosts).toEqual([])
  })

  test('a host whose tags were taken away is neither gone nor deleted, and is ours again with them', async () => {
    const { instances } = fresh()
    const provider = start()
    const { providerID } = hostIn(await provider.create(hostRequest(v, 'm')))
    const [instance] = instances.values()
    if (instance === undefined) throw new Error('no instance was made')
    instances.set(instance.id, { ...instance, tags: new Map([['Name', 'm']]) })
    // However often it is asked, by a provider that knew it or a restarted one.
    for (const one of [provider, provider, start()]) {
      await expect(one.get(providerID)).rejects.toThrow('KN11083')
      await expect(one.delete(providerID)).rejects.toThrow('KN11083')
      await expect(one.reboot(providerID)).rejects.toThrow('KN11083')
    }
    expect(region.alive()).toHaveLength(1)
    instances.set(instance.id, instance)
    expect(await provider.get(providerID)).toMatchObject({ machine: 'm' })
    expect(await provider.delete(providerID)).toBe('Deleting')
  })

  test('what the vendor announces for our hosts is told, can be answered, and no other answer is taken', async () => {
    fresh()
    const provider = start()
    const { providerID } = hostIn(await provider.create(hostRequest(v, 'm')))
    const instance = providerID.split('/').at(-1) ?? ''
    const reboot = v.name === 'aws' ? 'instance-reboot' : 'SystemMaintenance.Reboot'
    const event = (eventId: string, of: string, status = 'Scheduled') =>
      region.events.push({
        eventId,
        instance: of,
        type: reboot,
        status,
        notBefore: '2026-12-01T00:00:00Z',
        reason: 'worn',
      })
    event('e-1', instance)
    event('e-2', 'i-00000000000000999')
    const [told, ...more] = (await provider.maintenance?.())?.events ?? []
    expect(more).toEqual([])
    expect(told).toMatchObject({ eventId: 'e-1', providerID, kind: 'Reboot', state: 'Scheduled', isUnplanned: false })
    expect(told?.answers).toEqual(['Start', 'Postpone'])
    expect(await provider.respond?.('e-1', { kind: 'Accept' })).toBe('Refused')
    expect(await provider.respond?.('e-1', { kind: 'Postpone', until: '2026-12-02T00:00:00Z' })).toBe('Ordered')
    expect((await provider.maintenance?.())?.events[0]?.notBefore).toBe('2026-12-02T00:00:00Z')
    // A restart ordered here ends it.
    expect(await provider.respond?.('e-1', { kind: 'Start' })).toBe('Ordered')
    expect((await provider.maintenance?.())?.events[0]?.state).toBe(v.name === 'aws' ? 'Executed' : 'Avoided')
  })

  // The other vendor announces none.
  if (v.name === 'alicloud')
    test('a bill is told as one, with what follows, and no answer is taken', async () => {
      fresh()
      const provider = start()
      const { providerID } = hostIn(await provider.create(hostRequest(v, 'm')))
      const instance = providerID.split('/').at(-1) ?? ''
      const [notBefore, status, reason] = ['2026-12-01T00:00:00Z', 'Scheduled', 'expired']
      for (const type of ['InstanceExpiration.Stop', 'AccountUnbalanced.Delete'])
        region.events.push({ eventId: type, instance, type, status, notBefore, reason })
      expect((await provider.maintenance?.())?.events).toMatchObject([
        { kind: 'Stop', isBill: true, losesData: false, notBefore, answers: [] },
        { kind: 'Delete', isBill: true, losesData: true, notBefore, answers: [] },
      ])
      expect(await provider.respond?.('InstanceExpiration.Stop', { kind: 'Start' })).toBe('Refused')
    })

  test('a fault that we found is reported to the vendor', async () => {
    fresh()
    const provider = start()
    const { providerID } = hostIn(await provider.create(hostRequest(v, 'm')))
    expect(await provider.reportFault?.(providerID, 'Hang', 'silent for 15m')).toBe('Ordered')
    expect(region.reports).toEqual([
      { instance: providerID.split('/').at(-1), what: expect.stringContaining('silent for 15m') },
    ])
  })

  test('bad keys are said, and no key is in what is said', async () => {
    fresh().keys.set(KEY.id, { secret: 'another' })
    const made = await start().create(hostRequest(v, 'm'))
    expect(made.kind).not.toBe('Host')
    expect(JSON.stringify(made)).toMatch(/SignatureDoesNotMatch/)
    const thrown = await start()
      .list()
      .catch((e: unknown) => String(e))
    for (const said of [JSON.stringify(made), String(thrown)]) {
      expect(said).not.toContain(KEY.secret)
      expect(said).not.toContain(KEY.id)
    }
  })
})

const TRIES = 50

/** Like controllers: retries temporary failures. */
function retrying(provider: Provider): Provider {
  const again = async <T>(ask: () => Promise<T>): Promise<T> => {
    for (let i = 0; ; i++)
      try {
        return await ask()
      } catch (e) {
        if (i === TRIES) throw e
        await systemClock.sleep(2)
      }
  }
  return {
    name: provider.name,
    capabilities: provider.capabilities,
    create: async (request, signal) => {
      for (let i = 0; ; i++) {
        const made = await provider.create(request, signal)
        if (made.kind !== 'Unknown' || i === TRIES) return made
      }
    },
    get: (id) => again(() => provider.get(id)),
    list: () => again(() => provider.list()),
    delete: (id) => again(() => provider.delete(id)),
    reboot: (id) => again(() => provider.reboot(id)),
    power: (id, to, how) => again(async () => (await provider.power?.(id, to, how)) ?? 'Gone'),
    maintenance: () => again(async () => (await provider.maintenance?.()) ?? { events: [], asOf: '' }),
    respond: (id, answer) => again(async () => (await provider.respond?.(id, answer)) ?? 'Gone'),
    events: (onEvent, signal) => provider.events(onEvent, signal),
  }
}
