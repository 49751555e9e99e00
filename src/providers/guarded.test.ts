import { MIB } from '#lib/bytes.ts'
import { timestamp } from '#lib/clock.ts'
import { MemoryProvider, overridden } from '#test/doubles/providers/memory-provider.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { printableLine } from '#lib/printable.ts'
import { describe, expect, test } from 'vitest'
import { CREATE_WITHIN_MS, guarded } from './guarded.ts'
import type { Host, HostEvent, HostMaintenance, HostRequest, Provider } from './port.ts'
import { providersErrors } from './providers-errors.ts'

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
  test.each([
    ['a host of another machine', { machineUid: 'other' }],
    ['a host of another name', { machine: 'n' }],
  ])('%s leaves open whether a host was made', async (_, other) => {
    const { provider } = lying({ create: async () => ({ kind: 'Host', host: { ...good, ...other } }) })
    expect(await provider.create(request)).toEqual({
      kind: 'Unknown',
      message: 'the answer cannot be right: a host of another machine than m',
    })
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

  test('reads another host than the one that was asked for is not believed', async () => {
    const { provider } = lying({ get: async () => good })
    expect(await provider.get('cloud://1')).toEqual(good)
    await expect(provider.get('cloud://2')).rejects.toThrow('another host than cloud://2')
  })

  test('has no power keeps none', () => {
    const rest = Object.entries(lying({}).provider).filter(([method]) => method !== 'power')
    const plain = guarded(Object.fromEntries(rest) as unknown as Provider, new VirtualClock())
    expect(plain.power === undefined).toBe(true)
  })
})

/** Every call of a provider, which behaves the same for each. */
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
    const text = Promise.resolve(ask(provider)).catch((e: Error) => e.message)
    await clock.advance(60_000)
    expect(await text).toMatch(`cannot ${what}: provider cloud did not answer within`)
  })

  test.each([
    ['an error of many lines', new Error('no\n{"level":"error"}\u001b[2J\u202e')],
    [
      'an error of ours that a stranger filled',
      new KubeNodeError(providersErrors.KN11061_wrong({ name: 'a\nb', what: '', why: '' })),
    ],
    ['an error of 100 MB', new Error('x'.repeat(100 * MIB))],
    ['a text', 'no\n\u001b[2J'],
    ['what has no text', Object.create(null)],
  ])('says in one short line that the provider threw %s', async (_, thrown) => {
    const { provider } = lying({ [method]: () => Promise.reject(thrown) })
    const text = await Promise.resolve(ask(provider)).catch((e: Error) => e.message)
    expect(text).toMatch(`cannot ${what}: provider cloud failed: `)
    expect(String(text).length).toBeLessThan(1_200)
    expect(text).toBe(printableLine(String(text)))
  })
})

test('what a vendor writes about maintenance is one short line', async () => {
  const description = `a\nb\u001b[2J${'x'.repeat(MIB)}`
  const event = { eventId: 'e-1', providerID: 'cloud://1', description } as HostMaintenance
  const { provider } = lying({ maintenance: async () => ({ events: [event], asOf: timestamp(0) }) })
  const [text] = (await provider.maintenance?.())?.events ?? []
  expect(text?.description).toMatch(/^a\ufffdb\ufffd\[2Jx+…$/)
  expect(text?.description.length).toBe(200)
})

test('the text of an event is one line', async () => {
  const event: HostEvent = { providerID: 'cloud://1', machine: 'm', kind: 'Stopped', message: 'a\nb' }
  const { provider } = lying({ events: async (onEvent) => onEvent(event) })
  const onEvent: unknown[] = []
  await provider.events((e) => onEvent.push(e), new AbortController().signal)
  expect(onEvent).toEqual([{ ...event, message: 'a\ufffdb' }])
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
    // The cut must not leave part of it.
    ['at the end of a long text', async () => ({ kind: 'Refused', reason: `${'x'.repeat(180)} ${token}` }), '[token]'],
  ])('%s has it nowhere that people read', async (_, create, wanted) => {
    const { provider } = lying({ create })
    const text = JSON.stringify(await provider.create(asked))
    expect(text).not.toContain('secret-of')
    expect(text.replaceAll('\\"', '"')).toContain(wanted)
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
