import { ABANDONED_HOSTS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { type MachineSet, machineSet } from '#api/kinds/machine-set.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { seededRandom } from '#lib/random.ts'
import type { CreateResult } from '#providers/port.ts'
import { FaultyCloud, keyOf } from '#test/doubles/providers/faulty-cloud.ts'
import { MemoryProvider, overridden } from '#test/doubles/providers/memory-provider.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { type TestWorld, beat, endWorlds, machineWorld, setOf } from '#test/support/worlds/machine-world.ts'
import { afterEach, describe, expect, test } from 'vitest'

afterEach(endWorlds)

const ZONES = ['a', 'b', 'c'].map((zone) => ({ zone, type: 'large' }))

const setWith = (replicas: number, provider: object) => {
  const set = setOf(replicas)
  return { ...set, spec: { ...set.spec, template: { ...set.spec.template, spec: { provider } } } }
}

const machines = (w: TestWorld) => w.fake.all(machineType) as readonly Machine[]
const theSet = (w: TestWorld) => w.fake.peek(machineSet, { name: 'workers' }) as MachineSet
const conditionOf = (m: Machine | MachineSet | undefined, type: string) =>
  m?.status?.conditions?.find((c) => c.type === type)

/** A world whose provider `cloud` gives the same answer to every create. */
async function answering(answer: () => CreateResult | Promise<CreateResult>) {
  let calls = 0
  const memory = new MemoryProvider({ clock: new VirtualClock(), name: 'cloud' })
  const cloud = overridden(memory, {
    create: async () => {
      calls += 1
      return answer()
    },
  })
  const w = await machineWorld({ providers: { cloud } })
  return { w, calls: () => calls }
}

describe('a provider without stock', () => {
  test('is asked once for each offering and not once for each machine, and set and machines name the earliest retry', async () => {
    const clock = { now: () => w.clock.now(), monotonic: () => w.clock.monotonic() }
    const cloud = new FaultyCloud(clock, seededRandom(3))
    cloud.stock.set(keyOf(ZONES[1]), 5)
    const w: TestWorld = await machineWorld({
      providers: { cloud: cloud.provider('cloud', { sleep: (ms, signal) => w.clock.sleep(ms, signal) }) },
    })
    w.fake.plant(machineSet, setWith(40, { name: 'cloud', offerings: ZONES }))
    await w.clock.advance(60_000)
    expect(cloud.living().length).toBe(5)
    // At most as many as are reconciled concurrently before the first answer: 32 of the 40 machines.
    for (const zone of ZONES) expect(cloud.askedFor.get(keyOf(zone)) ?? 0).toBeLessThanOrEqual(33)
    const [waiting] = machines(w).filter((m) => m.status?.waitingFor?.predicate === 'OfferingAvailable')
    expect(waiting?.status?.waitingFor?.seen).toContain('all 3 offerings are exhausted; ')
    expect(waiting?.status?.waitingFor?.unblock).toMatch(
      /^the provider has hosts again; next request at \d\d:\d\d:\d\d UTC$/,
    )
    expect(conditionOf(waiting, 'InfrastructureReady')).toMatchObject({ status: 'False', reason: 'OfferingsExhausted' })
    expect(waiting?.status?.phase).toBe('Pending')
    expect(theSet(w).status?.waitingFor).toMatchObject({ predicate: 'HostsMade' })
    expect(theSet(w).status?.waitingFor?.seen).toContain('35 of 40 machines without a host')
    expect(theSet(w).status?.waitingFor?.unblock).toContain('next request at')
    expect(conditionOf(theSet(w), 'Reconciling')).toMatchObject({ status: 'True', reason: 'OfferingsExhausted' })

    const asked = [...cloud.askedFor.values()].reduce((a, b) => a + b, 0)
    await w.clock.advance(30_000)
    expect([...cloud.askedFor.values()].reduce((a, b) => a + b, 0)).toBe(asked)
    cloud.stock.set(keyOf(ZONES[2]), 100)
    await w.clock.advance(300_000)
    expect(cloud.living().length).toBe(40)
    expect(cloud.violations).toEqual([])
  })
})

describe('a provider that the controllers do not serve', () => {
  // The second name is one that every JavaScript object has.
  test.each(['clouds', 'constructor'])('is named by the set too: %s', async (name) => {
    const w: TestWorld = await machineWorld({ providers: {} })
    w.fake.plant(machineSet, setWith(2, { name }))
    await w.clock.advance(60_000)
    expect(theSet(w).status?.waitingFor).toMatchObject({
      predicate: 'HostsMade',
      unblock:
        'a commit corrects the name in spec.provider of its template, or a person configures the provider: kubenode lint',
    })
    expect(theSet(w).status?.waitingFor?.seen).toMatch(
      new RegExp(`^2 of 2 machines without a host; \\S+: provider ${name} is not configured in these controllers$`),
    )
    expect(conditionOf(theSet(w), 'Reconciling')).toMatchObject({ status: 'True', reason: 'ReferenceMissing' })
  })

  test('is left once the template is corrected: the same machines get their hosts', async () => {
    const cloud = new MemoryProvider({ clock: new VirtualClock(), name: 'cloud' })
    const w: TestWorld = await machineWorld({ providers: { cloud } })
    w.fake.plant(machineSet, setWith(3, { name: 'cluod' }))
    await w.clock.advance(60_000)
    const before = machines(w).map((m) => m.metadata.uid)
    expect(before).toHaveLength(3)
    expect(conditionOf(machines(w)[0], 'InfrastructureReady')?.message).toBe('no controller serves provider cluod')
    const name = theSet(w).metadata.name ?? ''
    w.fake.poke(machineSet, { name }, { spec: { template: { spec: { provider: { name: 'cloud' } } } } })
    await w.clock.advance(60_000)
    expect(machines(w).map((m) => m.metadata.uid)).toEqual(before)
    expect(machines(w).map((m) => m.spec.providerID !== undefined)).toEqual([true, true, true])
    expect(theSet(w).status?.outdatedReplicas).toBe(0)
  })
})

describe('a request that the provider refuses', () => {
  test('fails with its words, is not repeated in a hot loop, and is repeated when spec.provider changes', async () => {
    let answer: CreateResult = { kind: 'Refused', reason: 'image debian-12 was deleted' }
    const { w, calls } = await answering(() => answer)
    w.fake.plant(machineType, {
      ...machineType.example,
      metadata: { name: 'm' },
      spec: { provider: { name: 'cloud', params: { image: 'debian-12' } } },
    })
    await w.clock.advance(600_000)
    expect(w.machine('m')?.status).toMatchObject({
      phase: 'Failed',
      provisioning: { answer: 'Refused', message: 'image debian-12 was deleted' },
      waitingFor: { predicate: 'HostMade', seen: 'refused by the provider: image debian-12 was deleted' },
    })
    expect(conditionOf(w.machine('m'), 'InfrastructureReady')).toMatchObject({
      status: 'False',
      reason: 'ProviderError',
    })
    // 1, 2, 4 … 256 s
    expect(calls()).toBeLessThanOrEqual(11)
    const before = calls()
    answer = { kind: 'Refused', reason: 'image debian-13 was deleted too' }
    w.fake.poke(machineType, { name: 'm' }, { spec: { provider: { params: { image: 'debian-13' } } } })
    await w.clock.advance(100)
    expect(calls()).toBe(before + 1)
    expect(w.machine('m')?.status?.provisioning?.message).toBe('image debian-13 was deleted too')
  })
})

describe('a machine of a provider that is not configured, deleted,', () => {
  const ABANDONED = { namespace: SYSTEM_NAMESPACE, name: ABANDONED_HOSTS }
  const listed = (w: TestWorld) =>
    (w.fake.peek(coreKind('ConfigMap'), ABANDONED)?.['data'] ?? {}) as Readonly<Record<string, string>>
  const deleted = async (spec: object, status: object) => {
    const w = await machineWorld()
    const metadata = { name: 'm' }
    w.fake.plant(machineType, { ...machineType.example, metadata, spec: { provider: { name: 'ghost' }, ...spec } })
    await w.clock.advance(10_000)
    w.fake.poke(machineType, { name: 'm' }, { status }, 'status')
    await w.clock.advance(1_000)
    expect(w.machine('m')?.status).toMatchObject(status)
    w.fake.uproot(machineType, { name: 'm' })
    return w
  }
  const attempt = { attempt: 1, token: 'a'.repeat(60), since: '2026-01-01T00:00:00Z' }

  test.each([
    ['no request was ever sent', {}],
    ['the last request was refused', { provisioning: { ...attempt, answer: 'Refused' } }],
  ])('goes at once, because %s', async (_, status) => {
    const w = await deleted({}, status)
    await w.clock.advance(10_000)
    expect(w.machine('m')).toBeUndefined()
    expect(listed(w)).toEqual({})
  })

  test.each([
    ['has a host', { providerID: 'ghost://1' }, {}],
    ['may have a host, because a reply was lost', {}, { provisioning: { ...attempt, answer: 'Unknown' } }],
    [
      'has one that is not written down yet',
      {},
      { provisioning: { ...attempt, answer: 'Host', providerID: 'ghost://1' } },
    ],
  ])('waits while it %s, says what ends that, and is listed after an hour', async (_, spec, status) => {
    const w = await deleted(spec, status)
    await w.clock.advance(58 * 60_000)
    expect(w.machine('m')?.status?.waitingFor).toMatchObject({
      predicate: 'HostKnown',
      seen: 'no provider ghost is configured; a host that stays silent is given up after 60m, and listed in ConfigMap kubenode-abandoned',
      unblock: 'a person configures provider ghost in the controllers, or removes spec.provider: then the host stays',
    })
    expect(listed(w)).toEqual({})
    await w.clock.advance(4 * 60_000)
    expect(w.machine('m')).toBeUndefined()
    expect(JSON.parse(listed(w)['m'] ?? '{}')).toMatchObject(
      'provisioning' in status && status.provisioning.answer === 'Unknown'
        ? { provider: 'ghost' }
        : { providerID: 'ghost://1' },
    )
  })

  test('waits for as long as its agent sends heartbeats', async () => {
    const w = await deleted({ providerID: 'ghost://1' }, { agent: { version: '0.1.0' } })
    for (let third = 0; third < 360; third++) {
      beat(w, 'm')
      await w.clock.advance(20_000)
    }
    expect(w.machine('m')?.status?.waitingFor?.predicate).toBe('HostKnown')
  })
})

describe('a provider that', () => {
  test('hangs is given up after its deadline and called again with the same token, and the machine says so', async () => {
    const tokens = new Set<string>()
    const { w, calls } = await answering(() => new Promise<never>(() => undefined))
    w.fake.plant(machineType, {
      ...machineType.example,
      metadata: { name: 'm' },
      spec: { provider: { name: 'cloud' } },
    })
    for (let i = 0; i < 60; i++) {
      await w.clock.advance(10_000)
      tokens.add(w.machine('m')?.status?.provisioning?.token ?? '')
    }
    expect(calls()).toBeGreaterThan(3)
    expect(tokens.size).toBe(1)
    expect(w.machine('m')?.status?.waitingFor?.seen).toContain('provider cloud did not answer within 20 s')
    expect(w.machine('m')?.status?.phase).toBe('Pending')
  })

  test('answers with the host of another machine gives this one none, and the machine says so', async () => {
    const { w } = await answering(() => ({
      kind: 'Host',
      host: {
        providerID: 'cloud://1',
        clientToken: 't',
        machine: 'n',
        machineUid: 'other',
        state: 'Running',
        createdAt: '2026-01-05T00:00:00Z',
      },
    }))
    w.fake.plant(machineType, {
      ...machineType.example,
      metadata: { name: 'm' },
      spec: { provider: { name: 'cloud' } },
    })
    await w.clock.advance(60_000)
    expect(w.machine('m')?.spec.providerID).toBeUndefined()
    expect(w.machine('m')?.status?.waitingFor?.seen).toContain('a host of another machine than m')
  })

  test('throttles is left alone for as long as it asks', async () => {
    const { w, calls } = await answering(() => ({ kind: 'Throttled', retryAfterMs: 60_000 }))
    w.fake.plant(machineType, {
      ...machineType.example,
      metadata: { name: 'm' },
      spec: { provider: { name: 'cloud' } },
    })
    await w.clock.advance(125_000)
    expect(calls()).toBeGreaterThan(1)
    expect(calls()).toBeLessThanOrEqual(3)
    expect(conditionOf(w.machine('m'), 'InfrastructureReady')).toMatchObject({ reason: 'ProviderThrottled' })
  })
})
