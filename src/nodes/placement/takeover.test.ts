import { describe, expect, test } from 'vitest'
import { type HostField, type HostSpec, type Taker, canTakeOver, machinesLost, needsOtherHost } from './takeover.ts'

const POOL = { pool: 'w' }
const process = { name: 'process' }

const set = (spec: HostSpec = {}, more: Partial<Taker['spec']> = {}): Taker => ({
  metadata: {},
  spec: {
    selector: { matchLabels: POOL },
    template: { metadata: { labels: POOL }, spec: { provider: process, channel: 'Agent', ...spec } },
    ...more,
  },
})

const params = { size: 'm' }
const ssh = { host: 'h1', port: 22, user: 'root', secretRef: { name: 's' }, hostKey: 'ssh-ed25519 AAAA' }

const cases: readonly (readonly [string, HostSpec, HostSpec, HostField | undefined])[] = [
  ['equal', { provider: process }, { provider: process }, undefined],
  ['another provider', { provider: process }, { provider: { name: 'static' } }, 'provider.name'],
  ['no provider', { provider: process }, {}, 'provider.name'],
  ['other parameters', { provider: { ...process, params } }, { provider: process }, 'provider.params'],
  [
    'parameters in another order',
    { provider: { ...process, params: { a: '1', b: '2' } } },
    { provider: { ...process, params: { b: '2', a: '1' } } },
    undefined,
  ],
  [
    'no parameters and an empty list of them',
    { provider: process },
    { provider: { ...process, params: {} } },
    undefined,
  ],
  [
    'observed and managed',
    { provider: process, channel: 'Observe' },
    { provider: process, channel: 'Agent' },
    'channel',
  ],
  ['the channel by default', { provider: process }, { provider: process, channel: 'Agent' }, undefined],
  ['another host behind SSH', { ssh }, { ssh: { ...ssh, host: 'h2' } }, 'ssh.host'],
  ['another user of SSH', { ssh }, { ssh: { ...ssh, user: 'admin' } }, undefined],
  ['another zone', { zone: 'a' }, { zone: 'b' }, 'zone'],
  ['a zone where none was named', {}, { zone: 'b' }, undefined],
  ['no zone any more', { zone: 'a' }, {}, undefined],
  ['another rack', { rack: 'a' }, { rack: 'b' }, 'rack'],
  ['another class', { class: 'x86' }, { class: 'gpu' }, 'class'],
]

describe('whether a machine needs another host', () => {
  test.each(cases)('%s', (_, made, wanted, field) => {
    expect(needsOtherHost(made, wanted)).toBe(field)
  })

  test('what is only written on a host does not', () => {
    const wanted = {
      provider: process,
      pool: 'x',
      labels: { a: 'b' },
      annotations: { a: 'b' },
      taints: [{ key: 't', effect: 'NoSchedule' as const }],
    }
    expect(needsOtherHost({ provider: process }, wanted)).toBeUndefined()
  })
})

describe('whether a set can take over a machine', () => {
  const made = { labels: POOL, spec: { provider: process } }
  test.each([
    ['one that it selects', set(), made, true],
    ['not one that it does not select', set(), { ...made, labels: { pool: 'x' } }, false],
    ['not one that needs another host', set({ provider: { name: 'static' } }), made, false],
    ['not one that is only observed', set(), { ...made, spec: { ...made.spec, channel: 'Observe' as const } }, false],
    ['none by a selector that selects everything', set({}, { selector: {} }), made, false],
    ['none while it is deleted itself', { ...set(), metadata: { deletionTimestamp: 'now' } }, made, false],
  ])('%s', (_, taker, machine, can) => {
    expect(canTakeOver(taker, machine)).toBe(can)
  })
})

describe('how many machines are lost', () => {
  const leaving = (name: string, count: number, spec: HostSpec = { provider: process }) => ({
    set: name,
    count,
    made: { labels: POOL, spec },
  })
  test('none where another set has room for all of them', () => {
    expect([...machinesLost([leaving('a', 3)], [{ set: set(), room: 3 }])]).toEqual([['a', 0]])
  })
  test('those beyond the room, which is used once', () => {
    const lost = machinesLost([leaving('a', 3), leaving('c', 3)], [{ set: set(), room: 4 }])
    expect([...lost]).toEqual([
      ['a', 0],
      ['c', 2],
    ])
  })
  test('all where the set has its machines already, or needs other hosts', () => {
    const takers = [
      { set: set(), room: -1 },
      { set: set({ zone: 'z' }), room: 9 },
    ]
    expect([...machinesLost([leaving('a', 3, { provider: process, zone: 'y' })], takers)]).toEqual([['a', 3]])
  })
})
