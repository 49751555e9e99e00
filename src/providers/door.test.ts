// Invalid external answers: each one is refused at the boundary. Over a socket: remote/lying.test.ts; from a cloud: cloud/lying-clouds.test.ts.
import { MIB } from '#lib/bytes.ts'
import { timestamp } from '#lib/clock.ts'
import { describe, expect, test } from 'vitest'
import { BadAnswer, checked, judged } from './door.ts'
import type { Host, HostMaintenance, HostRequest } from './port.ts'
import { addPage, createResultOf, eventsOf, maintenanceOf, pastOf } from './remote/answers.ts'
import { createReaders } from './remote/protocol.ts'

const request = { clientToken: 'token', machine: 'm', machineUid: 'uid', params: {} } as unknown as HostRequest
const good: Host = {
  providerID: 'cloud://1',
  clientToken: 'token',
  machine: 'm',
  machineUid: 'uid',
  state: 'Running',
  createdAt: timestamp(0),
}
const { answers, events } = createReaders()

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
  test.each(lies)('%s is refused', (_, answer, why) => {
    const judge = () => createResultOf('cloud', request, checked(answers.create(answer)))
    expect(judge).toThrow(BadAnswer)
    expect(judge).toThrow(why)
    expect(() => judged('cloud', 'create a host', judge)).toThrow(/^KN11061: cannot create a host: provider cloud gave/)
  })

  test('the host of its request is taken', () => {
    const answer = { kind: 'Host', host: good }
    expect(createResultOf('cloud', request, checked(answers.create(answer)))).toEqual(answer)
  })
})

describe('a list of hosts', () => {
  const listed = (hosts: unknown) => {
    const all = new Map<string, Host>()
    addPage('cloud', all, checked(answers.list({ hosts, asOf: timestamp(0) })).hosts)
    return [...all.values()]
  }

  test.each([
    [[good, good]],
    [[{ ...good, providerID: 'x' }]],
    [['x']],
    [[null]],
    [undefined],
    ['x'],
    [[{ ...good, machine: 'x'.repeat(100 * MIB) }]],
    [[{ ...good, machine: 'm\n{"level":"error"}' }]],
    [[{ ...good, clientToken: 't\u001b[2J' }]],
    [[{ ...good, createdAt: 'yesterday' }]],
    [[{ ...good, address: '10.0.0.1\n' }]],
  ])('with what cannot be is refused: case %#', (hosts) => expect(() => listed(hosts)).toThrow(BadAnswer))

  test('of hosts that can be is taken', () => expect(listed([good])).toEqual([good]))

  test('of the future silences none that follows', () => {
    expect(pastOf(1_000, '2999-01-01T00:00:00Z')).toBe(timestamp(1_000))
    expect(pastOf(1_000, timestamp(0))).toBe(timestamp(0))
  })
})

test.each(['delete', 'reboot', 'power', 'respond', 'report-fault'] as const)(
  'an order has no other answer: %s',
  (call) => {
    for (const kind of ['Perhaps', 7, null, ['Ordered'], undefined])
      expect(() => checked(answers[call]({ kind }) as never)).toThrow(BadAnswer)
  },
)

describe('a list of maintenance that', () => {
  const event: HostMaintenance = {
    eventId: 'e-1',
    providerID: 'cloud://1',
    kind: 'Reboot',
    state: 'Scheduled',
    isUnplanned: false,
    losesData: false,
    answers: ['Accept'],
    description: 'the power of the rack',
  }
  const told = (all: unknown) =>
    maintenanceOf('cloud', checked(answers.maintenance({ events: all, asOf: timestamp(0) })).events)

  test('can be true is taken', () => expect(told([event])).toEqual([event]))

  test.each([
    ['is none', 'x'],
    ['says two things of one event', [event, { ...event, state: 'Executing' }]],
    ['names no host', [{ ...event, providerID: 'the first one' }]],
    ['names a host of others', [{ ...event, providerID: 'other://1' }]],
    ['has an id of two lines', [{ ...event, eventId: 'a\nb' }]],
    ['has an unknown kind', [{ ...event, kind: 'Explode' }]],
    ['takes an unknown answer', [{ ...event, answers: ['Ignore'] }]],
    ['has a time that is none', [{ ...event, notBefore: 'soon' }]],
    ['has more events than a page may have', Array.from({ length: 5_001 }, () => event)],
  ])('%s is refused', (_, all) => expect(() => told(all)).toThrow(BadAnswer))
})

test('an event of a host of others, or without a machine, is refused, and its text is one line', () => {
  const event = { providerID: 'cloud://1', machine: 'm', kind: 'Stopped', message: 'a\nb' }
  const told = (one: unknown) => eventsOf('cloud', checked(events({ events: [one], next: '-' })))
  expect(told(event)).toEqual([{ ...event, message: 'a\ufffdb' }])
  for (const lie of [
    { ...event, providerID: 'other://1' },
    { ...event, machine: 'm\n' },
    { ...event, kind: 'x' },
    null,
    7,
  ])
    expect(() => told(lie)).toThrow(BadAnswer)
})
