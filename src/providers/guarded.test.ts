import { timestamp } from '#lib/clock.ts'
import { MemoryProvider, overridden } from '#test/doubles/providers/memory-provider.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { printableLine } from '#lib/printable.ts'
import { describe, expect, test } from 'vitest'
import { CREATE_WITHIN_MS, guarded } from './guarded.ts'
import { type CreateResult, type Host, type HostRequest, NOTHING_KNOWN, type Provider } from './port.ts'
import { providersErrors } from './providers-errors.ts'

const MIB = 1024 * 1024

const request = {
  clientToken: 'token',
  machine: 'm',
  machineUid: 'uid',
  params: {},
  join: {},
} as unknown as HostRequest

const good: Host = {
  providerID: 'cloud://1',
  clientToken: 'token',
  machine: 'm',
  machineUid: 'uid',
  state: 'Running',
  createdAt: timestamp(0),
}

function lying(change: Partial<Provider>) {
  const clock = new VirtualClock()
  return { clock, provider: guarded(overridden(new MemoryProvider({ clock, name: 'cloud' }), change), clock) }
}

describe('a create that is answered with', () => {
  const lies: readonly [string, unknown, string][] = [
    [
      'a host of another machine',
      { kind: 'Host', host: { ...good, machineUid: 'other' } },
      'a host of another machine than m',
    ],
    ['a host of another name', { kind: 'Host', host: { ...good, machine: 'n' } }, 'a host of another machine than m'],
    [
      'a host of another provider',
      { kind: 'Host', host: { ...good, providerID: 'other://1' } },
      'does not begin with cloud://',
    ],
    ['an id with a newline', { kind: 'Host', host: { ...good, providerID: 'cloud://1\nx' } }, 'host.providerID'],
    [
      'an id of a megabyte',
      { kind: 'Host', host: { ...good, providerID: `cloud://${'x'.repeat(1e6)}` } },
      'host.providerID',
    ],
    ['a host in no state', { kind: 'Host', host: { ...good, state: 'Fine' } }, 'host.state'],
    ['no host', { kind: 'Host' }, 'without a host'],
    ['garbage', 'yes', 'wrong type'],
    ['nothing', undefined, 'wrong type'],
    [
      'an address that steers a terminal',
      { kind: 'Host', host: { ...good, address: '10.0.0.1\u001b[2J' } },
      'host.address',
    ],
    ['a boot id of two lines', { kind: 'Host', host: { ...good, bootID: 'a\n{"level":"error"}' } }, 'host.bootID'],
    [
      'a zone that reads backwards',
      { kind: 'Host', host: { ...good, offering: { zone: 'a\u202eb' } } },
      'host.offering.zone',
    ],
    ['an unknown market', { kind: 'Host', host: { ...good, offering: { market: 'Free' } } }, 'host.offering.market'],
    ['a rack of two lines', { kind: 'Host', host: { ...good, place: { rack: 'a\nb' } } }, 'host.place.rack'],
    ['an address of 100 MB', { kind: 'Host', host: { ...good, address: 'a'.repeat(100 * MIB) } }, 'host.address'],
    ['another kind', { kind: 'Perhaps' }, 'kind'],
  ]
  test.each(lies)('%s leaves open whether a host was made', async (_, answer, why) => {
    const { provider } = lying({ create: async () => answer as CreateResult })
    const result = await provider.create(request)
    expect(result.kind).toBe('Unknown')
    expect(result).toMatchObject({ message: expect.stringContaining(why) })
  })

  test('a reason of a megabyte with escapes is one short line', async () => {
    const reason = `\u001b[31m${'x\n'.repeat(500_000)}`
    const { provider } = lying({ create: async () => ({ kind: 'Refused', reason }) })
    const result = await provider.create(request)
    expect(
      result.kind === 'Refused' && [
        result.reason.length,
        result.reason.includes('\u001b'),
        result.reason.includes('\n'),
      ],
    ).toEqual([200, false, false])
  })

  test.each([
    [Number.NaN, 1_000],
    [-5, 1_000],
    [1e12, 3_600_000],
    [90_000, 90_000],
  ])('a retry after %d ms is one after %d ms', async (retryAfterMs, expected) => {
    const { provider } = lying({ create: async () => ({ kind: 'Throttled', retryAfterMs }) })
    expect(await provider.create(request)).toEqual({ kind: 'Throttled', retryAfterMs: expected })
  })
})

describe('a provider that', () => {
  test('hangs is given up after its time, whether it listens to the signal or not', async () => {
    const { provider, clock } = lying({ create: () => new Promise(() => undefined) })
    const call = provider.create(request).catch((e: Error) => e.message)
    await clock.advance(CREATE_WITHIN_MS)
    expect(await call).toContain('provider cloud did not answer within 20 s')
  })

  test('lists a host twice, garbage or nothing is not believed', async () => {
    const lists = [[good, good], [{ ...good, providerID: 'x' }], ['x'], [null], undefined, 'x']
    for (const hosts of lists) {
      const { provider } = lying({ list: async () => ({ hosts, asOf: timestamp(0) }) as never })
      await expect(provider.list()).rejects.toThrow('cannot be right')
    }
    const { provider } = lying({ list: async () => ({ hosts: [good], asOf: timestamp(0) }) })
    expect((await provider.list()).hosts).toEqual([good])
  })

  test('reads another host than the one that was asked for is not believed', async () => {
    const { provider } = lying({ get: async () => good })
    expect(await provider.get('cloud://1')).toEqual(good)
    await expect(provider.get('cloud://2')).rejects.toThrow('another host than cloud://2')
  })

  test('answers a deletion, a restart or a switch with something else is not believed', async () => {
    const { provider } = lying({
      delete: async () => 'Perhaps' as never,
      reboot: async () => undefined as never,
      power: async () => 'On' as never,
    })
    await expect(provider.delete('cloud://1')).rejects.toThrow('cannot be right')
    await expect(provider.reboot('cloud://1')).rejects.toThrow('cannot be right')
    await expect(provider.power?.('cloud://1', 'Off')).rejects.toThrow('cannot be right')
  })

  test('has no power keeps none, and one that shows hosts at no known time is waited for longest', () => {
    const { provider } = lying({})
    const clock = new VirtualClock()
    const capabilities = { ...provider.capabilities, visibleWithinMs: Number.NaN }
    const rest = Object.fromEntries(Object.entries(provider).filter(([method]) => method !== 'power'))
    const plain = guarded({ ...(rest as unknown as Provider), capabilities }, clock)
    expect(plain.power === undefined).toBe(true)
    expect(plain.capabilities.visibleWithinMs).toBe(3_600_000)
  })
})

/** Each way to reach a provider, which does the same when it is asked. */
const calls: readonly [keyof Provider, string, (p: Provider) => Promise<unknown> | undefined][] = [
  ['create', 'create a host', (p) => p.create(request)],
  ['get', 'read a host', (p) => p.get('cloud://1')],
  ['list', 'list hosts', (p) => p.list()],
  ['delete', 'delete a host', (p) => p.delete('cloud://1')],
  ['reboot', 'restart a host', (p) => p.reboot('cloud://1')],
  ['power', 'switch a host', (p) => p.power?.('cloud://1', 'Off')],
  ['maintenance', 'read maintenance', (p) => p.maintenance?.()],
  ['respond', 'answer a maintenance event', (p) => p.respond?.('e-1', { kind: 'Accept' })],
  ['reportFault', 'report a fault', (p) => p.reportFault?.('cloud://1', 'Disk', 'x')],
]

describe.each(calls)('%s', (method, what, ask) => {
  test('ends when the provider hangs', async () => {
    const { provider, clock } = lying({ [method]: () => new Promise(() => undefined) })
    const said = Promise.resolve(ask(provider)).catch((e: Error) => e.message)
    await clock.advance(60_000)
    expect(await said).toMatch(`cannot ${what}: provider cloud did not answer within`)
  })

  test.each([
    ['an error of many lines', new Error('no\n{"level":"error"}\u001b[2J\u202e')],
    [
      'an error of ours that a stranger filled',
      new KubeNodeError(providersErrors.KN11081({ name: 'a\nb', what: '', why: '' })),
    ],
    ['an error of 100 MB', new Error('x'.repeat(100 * MIB))],
    ['a text', 'no\n\u001b[2J'],
    ['what has no text', Object.create(null)],
  ])('says in one short line that the provider threw %s', async (_, thrown) => {
    const { provider } = lying({ [method]: () => Promise.reject(thrown) })
    const said = await Promise.resolve(ask(provider)).catch((e: Error) => e.message)
    expect(said).toMatch(`cannot ${what}: provider cloud failed: `)
    expect(String(said).length).toBeLessThan(1_200)
    expect(said).toBe(printableLine(String(said)))
  })

  test('is no answer when the answer is none of those that the port has', async () => {
    for (const answer of ['Perhaps', 7, null, ['Ordered'], { kind: 'Gone', toString: () => 'Gone' }]) {
      const { provider } = lying({ [method]: async () => answer })
      const said = await Promise.resolve(ask(provider)).catch((e: Error) => e.message)
      expect(method === 'create' ? (said as { message: string }).message : said).toContain('cannot be right')
    }
  })
})

describe('a list of maintenance that', () => {
  const event = {
    eventId: 'e-1',
    providerID: 'cloud://1',
    kind: 'Reboot',
    state: 'Scheduled',
    isUnplanned: false,
    losesData: false,
    answers: ['Accept'],
    description: 'the power of the rack',
  }
  const told = (events: unknown, asOf = timestamp(0)) =>
    lying({ maintenance: async () => ({ events, asOf }) as never }).provider.maintenance?.()

  test('can be true is taken, and its text is one short line', async () => {
    expect(await told([event])).toEqual({ events: [event], asOf: timestamp(0) })
    expect((await told([event, event]))?.events).toEqual([event])
    const list = await told([{ ...event, description: `a\nb\u001b[2J${'x'.repeat(MIB)}` }])
    expect(list?.events[0]?.description).toMatch(/^a\ufffdb\ufffd\[2Jx+…$/)
    expect(list?.events[0]?.description.length).toBe(200)
  })

  test.each([
    ['is none', 'x'],
    ['says two things of one event', [event, { ...event, state: 'Executing' }]],
    ['names no host', [{ ...event, providerID: 'the first one' }]],
    ['has an id of two lines', [{ ...event, eventId: 'a\nb' }]],
    ['has an unknown kind', [{ ...event, kind: 'Explode' }]],
    ['takes an unknown answer', [{ ...event, answers: ['Ignore'] }]],
    ['has a time that is none', [{ ...event, notBefore: 'soon' }]],
    ['has more events than hosts can be', Array.from({ length: 100_001 }, () => event)],
  ])('%s is not believed', async (_, events) => {
    await expect(told(events)).rejects.toThrow('cannot be right')
  })

  test('is of the future silences none that follows', async () => {
    expect(await told([], '2999-01-01T00:00:00Z')).toEqual({ events: [], asOf: timestamp(new VirtualClock().now()) })
  })
})

describe('capabilities', () => {
  const saying = (capabilities: object = {}) => {
    const raw = { ...new MemoryProvider({ clock: new VirtualClock(), name: 'cloud' }), name: 'cloud' } as unknown as {
      capabilities: unknown
    }
    raw.capabilities = { isHostKept: false, visibleWithinMs: 0, markets: [], ...capabilities }
    const provider = guarded(raw as Provider, new VirtualClock())
    const become = (now: object) => void (raw.capabilities = now)
    return { provider, become, say: (now: object) => become({ ...(raw.capabilities as object), ...now }) }
  }

  test('of hosts that are kept stay, whatever is said later: none is ended', () => {
    const { provider, say } = saying({ isHostKept: true })
    expect(provider.capabilities.isHostKept).toBe(true)
    say({ isHostKept: false })
    expect(provider.capabilities.isHostKept).toBe(true)
  })

  test('count the longest time that hosts were ever missing', () => {
    const { provider, say } = saying({ visibleWithinMs: 120_000 })
    expect(provider.capabilities.visibleWithinMs).toBe(120_000)
    say({ visibleWithinMs: 0 })
    expect(provider.capabilities.visibleWithinMs).toBe(120_000)
  })

  test('that are not known yet are careful, and are not remembered', () => {
    const { provider, become } = saying()
    become(NOTHING_KNOWN)
    expect(provider.capabilities.visibleWithinMs).toBe(3_600_000)
    become({ isHostKept: false, visibleWithinMs: 60_000, markets: [] })
    expect(provider.capabilities.visibleWithinMs).toBe(60_000)
  })

  test('that are none are those of a provider that does least', () => {
    const { provider } = saying({ isHostKept: 'no', visibleWithinMs: -1, markets: 'all', userDataBytes: 'much' })
    expect(provider.capabilities).toEqual({ isHostKept: true, visibleWithinMs: 3_600_000, markets: [] })
  })
})

test('an event of a host of others, or without a machine, is not heard, and its text is one line', async () => {
  const event = { providerID: 'cloud://1', machine: 'm', kind: 'Stopped', message: 'a\nb' }
  const lies = [
    event,
    { ...event, providerID: 'other://1' },
    { ...event, machine: 'm\n' },
    { ...event, kind: 'x' },
    null,
    7,
  ]
  const { provider } = lying({ events: async (heard) => lies.forEach((e) => heard(e as never)) })
  const heard: unknown[] = []
  await provider.events((e) => heard.push(e), new AbortController().signal)
  expect(heard).toEqual([{ ...event, message: 'a\ufffdb' }])
})

test('a list of 100 MB, or with a host that a line of a log could be made of, is not believed', async () => {
  for (const host of [
    { ...good, machine: 'x'.repeat(100 * MIB) },
    { ...good, machine: 'm\n{"level":"error"}' },
    { ...good, clientToken: 't\u001b[2J' },
    { ...good, createdAt: 'yesterday' },
    { ...good, address: '10.0.0.1\n' },
  ]) {
    const { provider } = lying({
      list: async () => ({ hosts: [good, { ...host, providerID: 'cloud://2' }], asOf: timestamp(0) }),
    })
    await expect(provider.list()).rejects.toThrow('cannot be right')
  }
})

test('what becomes known of a provider while it runs is seen', async () => {
  const provider: { -readonly [K in keyof Provider]: Provider[K] } = { ...lying({}).provider }
  const { power } = provider
  delete provider.power
  const plain = guarded(provider, new VirtualClock())
  expect(plain.power === undefined).toBe(true)
  if (power !== undefined) provider.power = power
  provider.capabilities = { ...provider.capabilities, isHostKept: true }
  expect(plain.capabilities.isHostKept).toBe(true)
  expect(await plain.power?.('cloud://none', 'Off')).toBe('Gone')
})

test('callers that list at the same time share what is read: at most one list runs, and each gets one that began after it asked', async () => {
  let [running, most, began] = [0, 0, 0]
  const { clock, provider } = lying({
    list: async () => {
      most = Math.max(most, ++running)
      const asOf = timestamp(1_000 * ++began)
      await clock.sleep(1_000)
      running--
      return { hosts: [], asOf }
    },
  })
  const first = provider.list()
  await clock.advance(500)
  const others = [...Array(31)].map(() => provider.list())
  const leaving = new AbortController()
  const left = provider.list(leaving.signal)
  leaving.abort(new Error('stopped'))
  await expect(left).rejects.toThrow('stopped')
  await clock.advance(2_000)
  const asOf = async (list: Promise<{ readonly asOf: string }>) => (await list).asOf
  expect(await asOf(first)).toBe(timestamp(1_000))
  expect(new Set(await Promise.all(others.map(asOf)))).toEqual(new Set([timestamp(2_000)]))
  expect([most, began]).toEqual([1, 2])
})

describe('a provider that repeats the join token of a request', () => {
  const token = 'abcdef.secret-of-the-join'
  const asked = { ...request, join: { token } } as unknown as HostRequest
  const echo = `cannot make {"token":"${token}"}`
  const why = 'cannot make {"token":"[token]"}'

  test.each<[string, Provider['create'], string]>([
    ['in a refusal', async () => ({ kind: 'Refused', reason: echo }), why],
    ['in what it does not know', async () => ({ kind: 'Unknown', message: echo }), why],
    // The cut must not leave a part of it.
    ['at the end of a long text', async () => ({ kind: 'Refused', reason: `${'x'.repeat(180)} ${token}` }), '[token]'],
  ])('%s has it nowhere that people read', async (_, create, wanted) => {
    const { provider } = lying({ create })
    const said = JSON.stringify(await provider.create(asked))
    expect(said).not.toContain('secret-of')
    expect(said.replaceAll('\\"', '"')).toContain(wanted)
  })

  test.each([
    ['an error', new Error(echo)],
    ['an error with a code', new KubeNodeError(providersErrors.KN11060({ name: 'cloud', place: 'x', why: echo }))],
  ])('in %s has it nowhere either', async (_, error) => {
    const { provider } = lying({ create: async () => Promise.reject(error) })
    const thrown = await provider.create(asked).catch((e: unknown) => e)
    expect(String(thrown)).toContain('[token]')
    expect(`${String(thrown)} ${JSON.stringify(thrown)} ${String((thrown as Error).cause)}`).not.toContain('secret-of')
  })
})
