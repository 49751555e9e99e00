// The smaller limits for clients: levels by group, rates, connections, and the log of violations.
import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { loggerTo, type LogFields } from '#lib/log.ts'
import { Connections } from './connections.ts'
import { Heap } from './heap.ts'
import { Holdings } from './holdings.ts'
import { DEFAULT_LEVELS, levelOf } from './levels.ts'
import { DEFAULT_LIMITS } from './limits.ts'
import { Quota } from './quota.ts'
import { RefusalLog } from './refusal-log.ts'
import { Usage } from './usage.ts'

test.each([
  [['kubenode:agents', 'system:authenticated'], 'agents'],
  [['system:bootstrappers', 'system:bootstrappers:kubenode'], 'agents'],
  [['system:masters', 'kubenode:agents'], 'administrators'],
  [['system:unauthenticated'], 'anonymous'],
  [['system:authenticated'], 'others'],
])('groups %j are held to what %s may take', (groups, name) =>
  expect(levelOf(DEFAULT_LEVELS, { groups }).name).toBe(name),
)

describe('a rate', () => {
  test('a burst, then so many a second, each client for itself', () => {
    let now = 0
    const quota = new Quota(() => now)
    const rate = { perSecond: 2, burst: 3 }
    const takes = (flow: string, amount = 1) => quota.take(flow, rate, amount)
    expect([takes('a'), takes('a'), takes('a'), takes('a'), takes('b')]).toEqual([0, 0, 0, 1, 0])
    now = 1_000
    expect([takes('a'), takes('a'), takes('a')]).toEqual([0, 0, 1])
    // more at once than will ever be available
    now = 100_000
    expect(takes('a', 5)).toBeGreaterThan(0)
  })
})

describe('connections', () => {
  const socket = () => new EventEmitter() as unknown as Socket
  const level = { connections: 2, pipelined: 2 }
  const none = () => undefined
  const counted = () => new Connections(new Holdings(DEFAULT_LIMITS.held))
  const holder = (name: string) => ({ name, share: 'others' as const })

  test('so many of a client, until one closes', () => {
    const connections = counted()
    const [a, b, c] = [socket(), socket(), socket()]
    const began = (s: Socket, flow = 'thief') => connections.began(s, { holder: holder(flow), level }, none)
    expect([began(a), began(b), began(c), began(socket(), 'other')]).toEqual(['Open', 'Open', 'TooMany', 'Open'])
    a.emit('close')
    expect(began(c)).toBe('Open')
  })

  test('so many unanswered requests on one', () => {
    const connections = counted()
    const s = socket()
    const answers: (() => void)[] = []
    const began = () =>
      connections.began(s, { holder: holder('thief'), level }, (answered) => void answers.push(answered))
    expect([began(), began(), began()]).toEqual(['Open', 'Open', 'Pipelined'])
    answers[0]?.()
    expect(began()).toBe('Open')
  })
})

test('a refused body is logged once per client and minute, with the number of those that were not logged', () => {
  let now = 0
  const lines: LogFields[] = []
  const log = new RefusalLog(
    loggerTo((_level, _message, fields) => void lines.push(fields)),
    () => now,
  )
  for (let i = 0; i < 5; i++) log.note('thief', 'too large')
  log.note('other', 'too large')
  now = 60_000
  log.note('thief', 'too large')
  expect(lines).toEqual([
    { user: 'thief', reason: 'too large', refusedSinceLastLine: 0 },
    { user: 'other', reason: 'too large', refusedSinceLastLine: 0 },
    { user: 'thief', reason: 'too large', refusedSinceLastLine: 4 },
  ])
})

test('the heap gives the least first, and equal ones in order', () => {
  const heap = new Heap<string>()
  const keys = Array.from({ length: 500 }, (_, i) => (i * 7919) % 31)
  for (const [i, key] of keys.entries()) heap.add(key, `${key}/${i}`)
  const want = keys.map((key, i) => ({ key, i })).toSorted((a, b) => a.key - b.key || a.i - b.i)
  expect(keys.map(() => heap.take())).toEqual(want.map(({ key, i }) => `${key}/${i}`))
  expect([heap.take(), heap.leastKey]).toEqual([undefined, undefined])
})

test('what is remembered of clients is bounded', () => {
  const usage = new Usage()
  usage.charge('busy', 1_000)
  for (let i = 0; i < 50_000; i++) {
    usage.began(`client-${i}`)
    usage.charge(`client-${i}`, 1)
  }
  expect(usage.remembered).toBeLessThan(10_000)
  // the heaviest user is not among the forgotten clients
  expect(usage.standing('busy')).toBe(1_000)
})
