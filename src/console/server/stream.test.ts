// What a stream sends and when it is cut, with a response that does not flush by itself.
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import type { Fleet, Follower } from './fleet.ts'
import { Stream } from './stream.ts'
import type { TopicName } from './topics.ts'

class Response extends EventEmitter {
  sent: string[] = []
  isDestroyed = false
  isEnded = false
  /** Bytes that the browser has not taken. */
  writableLength = 0
  /** A browser that reads takes all at once. */
  isRead = true
  writeHead(): void {
    // Headers are tested where a server is.
  }
  write(text: string): void {
    this.sent.push(text)
    if (!this.isRead) this.writableLength += text.length
  }
  end(text = ''): void {
    this.sent.push(text)
    this.isEnded = true
  }
  destroy(): void {
    this.isDestroyed = true
    this.emit('close')
  }
}

const HOME: TopicName = { of: 'Fleet', family: 'home' }

interface Missed {
  readonly revision: number
  readonly at: number
  readonly json: string
}

function opened(missed: readonly Missed[] | 'Lost' = [], since: string | undefined = 's.v-3') {
  const clock = new VirtualClock()
  const response = new Response()
  let follower: Follower['take'] | undefined
  const fleet = {
    start: 's',
    revision: 's-7',
    since: () => (missed === 'Lost' ? undefined : missed),
    follow: ({ take }: Follower) => {
      follower = take
      return () => (follower = undefined)
    },
  } as unknown as Fleet
  let ends = 0
  const stream = new Stream(
    {
      fleet,
      clock,
      response: response as unknown as ServerResponse,
      topics: [{ name: HOME, topic: 'home' }],
      readable: new Map(),
      view: 'v',
      onEnd: () => ends++,
      onBeat: () => undefined,
    },
    since,
  )
  const change = (json: string | undefined, audience = '[]') =>
    follower?.([{ revision: 8, at: 1, topic: 'home', audience, json }], new Set())
  return { stream, response, clock, change, ends: () => ends, isFollowing: () => follower !== undefined }
}

const removed = (id: string): string => `{"topic":"home","set":[],"removed":["${id}"]}`

test('what was missed comes first, each change under its own revision, so that a tab applies all of them and none twice', () => {
  const { response } = opened([
    { revision: 4, at: 40, json: removed('a') },
    { revision: 6, at: 60, json: removed('b') },
  ])
  expect(response.sent.slice(1)).toEqual([
    `event: delta\nid: s.v-4\ndata: {"revision":"s.v-4","at":40,"deltas":[${removed('a')}]}\n\n`,
    `event: delta\nid: s.v-6\ndata: {"revision":"s.v-6","at":60,"deltas":[${removed('b')}]}\n\n`,
  ])
})

test('a log that does not reach back, and a batch that is larger than its snapshot, are a resync', () => {
  for (const missed of ['Lost', [{ revision: 4, at: 40, json: 'x'.repeat(50_000) }]] as const) {
    const { response } = opened(missed)
    expect(response.sent[1]).toBe('event: resync\nid: s.v-7\ndata: {"revision":"s.v-7","topics":["home"]}\n\n')
  }
})

test.each([
  ['of another start', 't.v-3'],
  ['of other rights', 's.w-3'],
  ['that only begins like one', 's.v.x-3'],
  ['of no server', 'nonsense'],
])('a revision %s is not resumed from: all is read again, and the session too', (_, since) => {
  const { response } = opened([], since)
  expect(response.sent.slice(1)).toEqual([
    'event: resync\nid: s.v-7\ndata: {"revision":"s.v-7","topics":["home"]}\n\n',
    'event: session\ndata: {}\n\n',
  ])
})

test('a change of what others may read is not sent', () => {
  const { response, change } = opened()
  change('{"topic":"home"}', '[["secret"]]')
  expect(response.sent).toHaveLength(1)
  change('{"topic":"home"}')
  expect(response.sent).toHaveLength(2)
})

test('a browser that does not read is cut, and nothing is kept for it', () => {
  const { response, change, ends, isFollowing } = opened()
  response.isRead = false
  for (let i = 0; i < 200 && isFollowing(); i++) change(`{"topic":"home","text":"${'x'.repeat(1_000)}"}`)
  expect(response.isDestroyed).toBe(true)
  expect(isFollowing()).toBe(false)
  expect(ends()).toBe(1)
  expect(response.writableLength).toBeLessThan(2 * 64 * 1024)
})

test('a browser that reads is never cut', () => {
  const { response, change } = opened()
  for (let i = 0; i < 500; i++) change(`{"topic":"home","text":"${'x'.repeat(1_000)}"}`)
  expect(response.isDestroyed).toBe(false)
  expect(response.sent).toHaveLength(501)
})

test('a quiet stream has a heartbeat, and none after its end', async () => {
  const { stream, response, clock } = opened()
  await clock.advance(15_000)
  expect(response.sent.at(-1)).toBe(': beat\n\n')
  stream.bye('Stopping')
  const { length } = response.sent
  await clock.advance(60_000)
  expect(response.sent).toHaveLength(length)
  expect(response.isEnded).toBe(true)
})
