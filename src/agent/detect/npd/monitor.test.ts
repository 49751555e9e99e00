import { describe, expect, test } from 'vitest'
import type { Clock } from '#lib/clock.ts'
import { oneSource } from '#test/doubles/node/one-source.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { withSharedTick } from '../../shared-tick.ts'
import { goLayout } from '#api/agent-config/go-time.ts'
import { judgeLine, judgePlugins, judgeTemporary, type ConditionNow } from './judge.ts'
import { parseEntry } from './journal.ts'
import { parseKmsg } from './kmsg.ts'
import { parseMonitor, parseMonitorText } from '#api/agent-config/monitor-config.ts'
import { PluginMonitor } from './plugin-monitor.ts'
import { ProblemMetrics } from './problem-metrics.ts'

const NOW = Date.UTC(2026, 0, 1, 0, 10)

test.each([
  ['2006-01-02T15:04:05.999999999-07:00', '2026-01-02T03:04:05.123456789+02:00', '2026-01-02T01:04:05.123Z'],
  ['2006-01-02T15:04:05Z07:00', '2026-01-02T03:04:05Z', '2026-01-02T03:04:05.000Z'],
  ['2006-01-02T15:04:05Z07:00', '2026-01-02T03:04:05.5Z', '2026-01-02T03:04:05.500Z'],
  ['Mon Jan 2 15:04:05 2006 -0700', 'Fri Mar 13 23:59:59 2026 -0100', '2026-03-14T00:59:59.000Z'],
  ['02/Jan/06 03:04:05 PM -07', '09/Dec/25 11:04:05 AM +00', '2025-12-09T11:04:05.000Z'],
  ['2006-01-02', 'not-a-time', undefined],
  ['2006-01-02 -0700', '2026-02-29 +0000', undefined],
  ['2006-01-02 -0700', '2024-02-29 +0000', '2024-02-29T00:00:00.000Z'],
  ['2006-Jan-02 -0700', '2026-DEC-02 +0000', '2026-12-02T00:00:00.000Z'],
  ['2006-01-02T15:04:05Z07:00', '2026-01-02T03:04:60Z', undefined],
  ['2006-01-02T15:04:05Z07:00', '2026-01-02T03:04:05z', undefined],
  ['2006-01-02 -0700', '2026-13-02 +0000', undefined],
])('a time in the layout %s is read', (layout, text, time) => {
  const ms = goLayout(layout)?.parse(text, NOW)
  expect(ms === undefined ? undefined : new Date(ms).toISOString()).toBe(time)
})

test('a time without a year is of this year, or of last year when it would lie ahead', () => {
  const layout = goLayout('Jan _2 15:04:05')
  const local = (ms: number | undefined): string => {
    const d = new Date(ms ?? 0)
    return `${d.getFullYear()}-${d.getMonth() + 1}-${d.getDate()}`
  }
  const now = new Date(2026, 0, 1, 0, 10).getTime()
  expect(local(layout?.parse('Jan  1 00:09:59', now))).toBe('2026-1-1')
  expect(local(layout?.parse('Dec 31 23:59:59', now))).toBe('2025-12-31')
})

test.each([
  [
    '6,339,5140900,-;NET: Registered protocol family 10',
    { sequence: 339, atMs: 5_140.9, message: 'NET: Registered protocol family 10' },
  ],
  ['4,7,90;short header', undefined],
  ['30,1,1000,c;d\\xc3\\xb6cker; more', { sequence: 1, atMs: 1, message: 'döcker; more' }],
  [' SUBSYSTEM=net', undefined],
  ['garbage', undefined],
])('a record of the kernel: %s', (line, record) => {
  const seen = parseKmsg(line)
  if (line.startsWith('4,7,90')) expect(seen).toEqual({ sequence: 7, atMs: 0.09, message: 'short header' })
  else expect(seen).toEqual(record)
})

test('an entry of the journal is read, text or bytes', () => {
  const entry = (MESSAGE: unknown) =>
    parseEntry(JSON.stringify({ SYSLOG_IDENTIFIER: 'kernel', __CURSOR: 'c', __REALTIME_TIMESTAMP: '1000', MESSAGE }))
  expect(entry(' hi ')).toEqual({
    identifier: 'kernel',
    message: 'hi',
    atMs: 1,
    cursor: 'c',
    isTrusted: false,
  })
  expect(entry([104, 105])?.message).toBe('hi')
  expect(entry(null)).toBeUndefined()
  expect(parseEntry('no json')).toBeUndefined()
})

describe('S1 an identifier in the journal is believed only of a sender who may use it', () => {
  const trusts = (identifier: string, fields: object): boolean | undefined =>
    parseEntry(
      JSON.stringify({
        ...fields,
        SYSLOG_IDENTIFIER: identifier,
        __CURSOR: 'c',
        __REALTIME_TIMESTAMP: '1',
        MESSAGE: 'x',
      }),
    )?.isTrusted
  test.each([
    ['the kernel', 'kernel', { _TRANSPORT: 'kernel' }],
    ['a program of root', 'containerd', { _TRANSPORT: 'stdout', _UID: '0', _SYSTEMD_UNIT: 'containerd.service' }],
    ['root by hand', 'kubelet', { _TRANSPORT: 'syslog', _UID: '0' }],
    ['a unit of that name with a user of its own', 'etcd', { _UID: '997', _SYSTEMD_UNIT: 'etcd.service' }],
  ])('%s', (_, identifier, fields) => expect(trusts(identifier, fields)).toBe(true))
  test.each([
    ['a user who calls itself the kernel', 'kernel', { _TRANSPORT: 'syslog', _UID: '1000' }],
    ['root who calls itself the kernel', 'kernel', { _TRANSPORT: 'syslog', _UID: '0' }],
    ['a user who calls itself kubelet', 'kubelet', { _UID: '1000', _SYSTEMD_UNIT: 'user@1000.service' }],
    ["a user's line in cron's unit", 'kubelet', { _UID: '1000', _SYSTEMD_UNIT: 'cron.service' }],
    ['a transport that the sender wrote', 'kernel', { TRANSPORT: 'kernel', _UID: '1000' }],
    ['a sender who is unknown', 'kubelet', {}],
  ])('but not %s', (_, identifier, fields) => expect(trusts(identifier, fields)).toBe(false))
})

const hit = (reason: string, message: string) => ({ condition: 'C', reason, message })

test('a condition that is true keeps its first reason; another one is reported once and changes nothing', () => {
  const first = judgeLine(hit('A', 'one'), { status: 'False', reason: 'Fine', message: '' }, false)
  expect(first.condition).toEqual({ status: 'True', reason: 'A', message: 'one' })
  expect(first.event?.message).toBe('Node condition C is now: True, reason: A, message: "one"')
  const now = first.condition as ConditionNow
  expect(judgeLine(hit('A', 'two'), now, true)).toEqual({})
  expect(judgeLine(hit('B', 'x'), now, false)).toEqual({ event: { type: 'Warning', reason: 'B', message: 'x' } })
  expect(judgeLine(hit('B', 'y'), now, true)).toEqual({})
})

const HEALTHY = { type: 'C', reason: 'Fine', message: 'well' }
const ok = { status: 'Ok', message: '' } as const
const bad = (message: string) => ({ status: 'NonOk', message }) as const
const unknown = { status: 'Unknown', message: 'cannot say' } as const

test('two checks of one condition do not fight: it is true while any of them says so', () => {
  const latest = (a: typeof ok | ReturnType<typeof bad> | typeof unknown, b: typeof a) => [
    { reason: 'A', result: a },
    { reason: 'B', result: b },
  ]
  const fine: ConditionNow = { status: 'False', reason: 'Fine', message: 'well' }
  const said = judgePlugins(latest(ok, bad('b')), HEALTHY, fine, false)
  expect(said.condition).toEqual({ status: 'True', reason: 'B', message: 'b' })
  const now = said.condition as ConditionNow
  expect(judgePlugins(latest(ok, bad('b')), HEALTHY, now, false)).toEqual({})
  expect(judgePlugins(latest(bad('a'), bad('b')), HEALTHY, now, false)).toEqual({})
  expect(judgePlugins(latest(ok, bad('new')), HEALTHY, now, false)).toEqual({})
  expect(judgePlugins(latest(ok, bad('new')), HEALTHY, now, true).condition?.message).toBe('new')
  expect(judgePlugins(latest(bad('a'), ok), HEALTHY, now, false).condition?.reason).toBe('A')
  expect(judgePlugins(latest(ok, ok), HEALTHY, now, false)).toEqual({
    condition: fine,
    event: { type: 'Normal', reason: 'Fine', message: 'Node condition C is now: False, reason: Fine, message: "well"' },
  })
  expect(judgePlugins(latest(ok, unknown), HEALTHY, fine, false).condition).toEqual({
    status: 'Unknown',
    reason: 'Fine',
    message: 'cannot say',
  })
})

test('a check without a condition is an event each time that it did not end well, also when it could not say', () => {
  expect([ok, bad('broken'), unknown].map((result) => judgeTemporary('R', result).event?.message)).toEqual([
    undefined,
    'broken',
    'cannot say',
  ])
})

test('a check runs as often as its file says, also by a clock whose waits end together', async () => {
  const base = new VirtualClock()
  await base.advance(400)
  // Every timer fires slightly late.
  const late: Clock = {
    now: () => base.now(),
    monotonic: () => base.monotonic(),
    sleep: (ms, signal) => base.sleep(ms, signal),
    after: (ms, fn) => base.after(ms + 3, fn),
  }
  const { monitor: config } = parseMonitor({
    plugin: 'custom',
    source: 's',
    pluginConfig: { invoke_interval: '2s' },
    conditions: [],
    rules: [{ type: 'temporary', reason: 'R', path: '/c' }],
  })
  if (config?.kind !== 'Plugin') throw new Error('it is no monitor')
  const port = { conditions: oneSource(), metrics: new ProblemMetrics(), onEvent: () => undefined }
  let runs = 0
  const monitor = new PluginMonitor(config, port, withSharedTick(late), async () => {
    runs++
    return ok
  })
  monitor.start()
  await base.advance(60_000)
  expect(runs).toBe(30)
  monitor.close()
})

test('what is wrong in a file disables only itself and is named', () => {
  const good = { type: 'temporary', reason: 'Good', pattern: 'x' }
  const file = {
    plugin: 'kmsg',
    source: 's',
    lookback: 'long',
    conditions: [{ type: 'C', reason: 'R' }, { type: 'no good' }],
    rules: [good, { ...good, pattern: '(?=x)' }, { ...good, type: 'permanent', condition: 'D' }, 7],
  }
  const { monitor, problems } = parseMonitor(file)
  expect(monitor?.kind === 'Log' ? monitor.rules.map((r) => r.reason) : []).toEqual(['Good'])
  expect(problems.map((p) => p.split(' ')[0])).toEqual([
    'conditions[1]',
    'rules[1]',
    'rules[2]',
    'rules[3]',
    'lookback',
  ])
  expect(parseMonitorText('{').problems).toEqual(['is not JSON'])
  expect(parseMonitor({ plugin: 'telepathy' }).monitor).toBeUndefined()
})
