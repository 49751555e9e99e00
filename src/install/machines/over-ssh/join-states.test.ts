import type { Machine, SshJoin } from '#api/kinds/machine.ts'
import { timestamp } from '#lib/clock.ts'
import { describe, expect, test } from 'vitest'
import { type HostProgress, failedRequests, headLine, isHeld, isOver, progressOf, tableLines } from './join-states.ts'

const NOW = Date.UTC(2026, 10, 1)
const machineOf = (join?: Partial<SshJoin>, status: object = {}) =>
  ({
    metadata: { name: 'a' },
    spec: { ssh: { host: 'h', port: 22, user: 'root', secretRef: { name: 's' } } },
    status: {
      ...(join && {
        join: { step: 'Reach', attempt: 1, began: timestamp(NOW), since: timestamp(NOW), request: '', ...join },
      }),
      ...status,
    },
  }) as unknown as Machine

describe('the state of a host', () => {
  test.each<[HostProgress['state'], Machine | undefined]>([
    ['Deleted', undefined],
    ['Waiting', machineOf()],
    ['Running', machineOf({ step: 'Fetch' })],
    ['Running', machineOf({ step: 'Fetch', reason: 'Unreachable', retryAt: timestamp(NOW + 20_000) })],
    ['Running', machineOf({ step: 'Start', message: 'no token', retryAt: timestamp(NOW + 2_000) })],
    ['Later', machineOf({ reason: 'Unreachable', retryAt: timestamp(NOW + 600_000) })],
    ['Failed', machineOf({ reason: 'AuthRefused' })],
    ['Paused', machineOf({ message: 'paused: 5 of 5', retryAt: timestamp(NOW + 30_000) })],
    ['Joined', machineOf({ step: 'Certified', finished: timestamp(NOW) })],
    ['Joined', machineOf(undefined, { agent: { version: '1' } })],
  ])('is %s', (state, machine) => {
    expect(progressOf('a', machine, NOW).state).toBe(state)
  })

  test('is not the failure of before, once another attempt is requested', () => {
    const failed = machineOf({ reason: 'AuthRefused', request: 'r' })
    expect(progressOf('a', failed, NOW, 'r').state).toBe('Waiting')
    expect(progressOf('a', failed, NOW, 'q').state).toBe('Failed')
  })
})

const of = (state: HostProgress['state'], name = state.toLowerCase()): HostProgress => ({
  machine: name,
  host: `${name}:22`,
  state,
  step: 'Fetch',
  attempt: 2,
  since: timestamp(NOW - 12_000),
  reason: 'Full',
  message: 'x',
})

test('a run is over when nothing moves by itself, and held when only paused hosts are left', () => {
  const cases = [
    [['Joined', 'Failed', 'Later', 'Deleted'], true, true],
    [['Joined', 'Paused'], false, true],
    [['Joined', 'Waiting'], false, false],
    [['Paused', 'Running'], false, false],
  ] as const
  for (const [states, over, held] of cases) {
    const hosts = states.map((s) => of(s))
    expect([isOver(hosts), isHeld(hosts)]).toEqual([over, held])
  }
})

test('the line of numbers has rate and time left, of this run only', () => {
  const hosts = [of('Joined', 'a'), of('Joined', 'b'), of('Failed', 'c'), of('Running', 'd'), of('Waiting', 'e')]
  expect(headLine(hosts, { settledBefore: 1, elapsedMs: 10_000 })).toBe(
    'joining: 2 of 4, 0.2 a second, 10s left; 1 in progress, 1 waiting, 1 failed, 1 settled before',
  )
})

test('the table has failed hosts first, then those in progress', () => {
  expect(tableLines([of('Joined'), of('Waiting'), of('Running'), of('Failed')], NOW, undefined)).toEqual([
    'MACHINE   HOST         STEP        FOR   STATE     WHY',
    'failed    failed:22    Fetch (2)   12s   failed    Full: x',
    'running   running:22   Fetch (2)   12s   running   Full: x',
  ])
  const many = Array.from({ length: 1_000 }, (_, i) => of('Failed', `f-${i}`))
  expect(tableLines([...many, of('Running')], NOW, 80)).toHaveLength(12)
})

test('the table keeps one line per host in a narrow window: a long message is shortened, its state is not', () => {
  const message = 'no space left on /var/lib/kubenode: 120 MiB are free, and 500 MiB are the minimum'
  expect(message.length).toBeGreaterThanOrEqual(80)
  const retryAt = timestamp(NOW + 600_000)
  const lines = tableLines(
    [
      { ...of('Failed'), message },
      { ...of('Later'), message, retryAt },
    ],
    NOW,
    80,
  )
  expect(lines).toEqual([
    'MACHINE   HOST        STEP        FOR   STATE    WHY',
    'failed    failed:22   Fetch (2)   12s   failed   Full: no space left on /var/li…',
    'later     later:22    Fetch (2)   12s   later    retried at 00:10:00: Full: no …',
  ])
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80)
})

test('only hosts that failed are tried again, not those between two attempts', () => {
  const named = (name: string, ...of: Parameters<typeof machineOf>) => ({ ...machineOf(...of), metadata: { name } })
  const machines = [
    named('failed', { reason: 'AuthRefused', request: 'r' }),
    named('later', { reason: 'Unreachable', request: 's', retryAt: timestamp(NOW + 600_000) }),
    named('attempt-2', { reason: 'Unreachable', attempt: 2, retryAt: timestamp(NOW + 10_000) }),
    named('running', { reason: 'Unreachable', attempt: 2, retryAt: timestamp(NOW - 1_000) }),
    named('joined', { reason: 'Unreachable' }, { agent: { version: '1' } }),
    named('new'),
  ]
  expect([...failedRequests(machines, NOW)]).toEqual([
    ['failed', 'r'],
    ['later', 's'],
  ])
})
