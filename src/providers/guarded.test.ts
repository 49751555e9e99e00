import { timestamp } from '#lib/clock.ts'
import { MemoryProvider, overridden } from '#test/doubles/providers/memory-provider.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { describe, expect, test } from 'vitest'
import { CREATE_WITHIN_MS, guarded } from './guarded.ts'
import type { CreateResult, Host, HostRequest, Provider } from './port.ts'

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
      'belongs to another machine',
    ],
    ['a host of another name', { kind: 'Host', host: { ...good, machine: 'n' } }, 'is named after machine n'],
    [
      'a host of another provider',
      { kind: 'Host', host: { ...good, providerID: 'other://1' } },
      'does not begin with cloud://',
    ],
    ['an id with a newline', { kind: 'Host', host: { ...good, providerID: 'cloud://1\nx' } }, 'control characters'],
    ['an id of a megabyte', { kind: 'Host', host: { ...good, providerID: `cloud://${'x'.repeat(1e6)}` } }, 'too long'],
    ['a host in no state', { kind: 'Host', host: { ...good, state: 'Fine' } }, 'in no known state'],
    ['no host', { kind: 'Host' }, 'no host'],
    ['garbage', 'yes', 'none that a provider may give'],
    ['nothing', undefined, 'none that a provider may give'],
    ['another kind', { kind: 'Perhaps' }, 'none that a provider may give'],
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
    await expect(provider.get('cloud://2')).rejects.toThrow('it is another host')
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
