// A cluster whose API server answers no question about rights never shows as an empty fleet.
import { expect, test } from 'vitest'
import { ApiError, failure } from '#kube/errors.ts'
import { silentLogger } from '#lib/log.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { AccessBook } from './access.ts'
import type { ConnectionState } from './cluster-cache.ts'
import type { Fleet } from './fleet.ts'
import type { SignedIn } from './sessions.ts'

type Answer = 'Yes' | 'No' | 'None'

async function accessWhen(answer: Answer, state: ConnectionState, how: 'Link' | 'Token') {
  const cluster = { name: 'test', state, message: undefined, list: () => [], readState: () => 'Read' }
  const create = () =>
    answer === 'None'
      ? Promise.reject(new Error('timeout'))
      : Promise.resolve({ status: { allowed: answer === 'Yes' } })
  const person = {
    person: { name: 'ada', groups: [], how },
    identity: 'ada',
    clientOf: () => ({ create }),
  } as unknown as SignedIn
  const book = new AccessBook({ clusters: [cluster] } as unknown as Fleet, new VirtualClock(), silentLogger)
  const { clusters, readable } = await book.of(person)
  return { states: clusters.map((c) => c.state), isUnknown: readable.get('test')?.isUnknown }
}

test('each person is asked for once in a minute, however many people and clusters there are', async () => {
  let asked = 0
  const clusters = Array.from({ length: 5 }, (_, n) => ({
    name: `c-${n}`,
    state: 'Connected',
    message: undefined,
    list: () => [],
    readState: () => 'Read',
  }))
  const create = () => {
    asked++
    return Promise.resolve({ status: { allowed: true } })
  }
  const people = Array.from({ length: 300 }, (_, n) => ({
    person: { name: `p-${n}`, groups: [], how: 'Token' },
    identity: `p-${n}`,
    clientOf: () => ({ create }),
  })) as unknown as readonly SignedIn[]
  const clock = new VirtualClock()
  const book = new AccessBook({ clusters } as unknown as Fleet, clock, silentLogger)
  for (const who of people) await book.of(who)
  const first = asked
  for (const who of people) await book.of(who)
  expect(asked).toBe(first)
  await clock.advance(61_000)
  for (const who of people) await book.of(who)
  expect(asked).toBe(2 * first)
})

test.each<readonly [Answer, ConnectionState, 'Link' | 'Token', readonly string[], true | undefined]>([
  ['Yes', 'Connected', 'Token', ['Connected'], undefined],
  ['No', 'Connected', 'Token', [], undefined],
  ['No', 'Unreachable', 'Token', [], undefined],
  ['No', 'Unreachable', 'Link', ['Unreachable'], undefined],
  ['None', 'Connected', 'Token', ['Unreachable'], true],
  ['None', 'Connected', 'Link', ['Unreachable'], true],
  ['None', 'Unreachable', 'Token', ['Unreachable'], true],
])('answer %s of a cluster that is %s, signed in by %s', async (answer, state, how, states, isUnknown) => {
  expect(await accessWhen(answer, state, how)).toEqual({ states, isUnknown })
})

const forbidden = new ApiError(failure(403, 'no'), { action: 'create', target: 'reviews' })

/** A cluster whose API server answers, and behaves differently a minute later. */
function twoTurns(how: 'Link' | 'Token') {
  const cluster = { name: 'test', state: 'Connected', message: undefined, list: () => [], readState: () => 'Read' }
  let answer: () => Promise<unknown> = () => Promise.resolve({ status: { allowed: true } })
  const person = {
    person: { name: 'ada', groups: [], how },
    identity: 'ada',
    clientOf: () => ({ create: () => answer() }),
  } as unknown as SignedIn
  const clock = new VirtualClock()
  const book = new AccessBook({ clusters: [cluster] } as unknown as Fleet, clock, silentLogger)
  const later = (next: () => Promise<unknown>): Promise<void> => {
    answer = next
    return clock.advance(61_000)
  }
  return { book, person, clock, later }
}

const timeout = () => Promise.reject(new Error('timeout'))

test('a silent API server: the person of the link sees what was read before, with its age, and may write nothing', async () => {
  const { book, person, clock, later } = twoTurns('Link')
  const before = await book.of(person)
  const answeredAt = clock.now()
  await later(timeout)
  const { clusters, readable, view } = await book.of(person)
  expect(clusters).toEqual([
    {
      ...before.clusters[0],
      state: 'Unreachable',
      message: 'the cluster does not answer',
      answeredAt,
      holds: [],
      canLift: false,
      canApprove: false,
    },
  ])
  expect(readable.get('test')).toMatchObject({ isUnknown: true, kinds: before.readable.get('test')?.kinds })
  expect(view).not.toBe(before.view)
})

test.each<readonly [string, 'Link' | 'Token', () => Promise<unknown>]>([
  ['a token', 'Token', timeout],
  ['the link, refused now', 'Link', () => Promise.reject(forbidden)],
])('nothing is shown any more to a person with %s', async (_, how, answer) => {
  const { book, person, later } = twoTurns(how)
  await book.of(person)
  await later(answer)
  const { clusters, readable } = await book.of(person)
  expect(clusters[0]?.topics).toEqual([])
  expect(readable.get('test')?.kinds.size).toBe(0)
})

test('an API server that did not answer is asked again without anyone who waits for it, and counts as soon as it answers', async () => {
  const { book, person, later } = twoTurns('Token')
  await later(timeout)
  expect((await book.of(person)).readable.get('test')?.isUnknown).toBe(true)
  let open: ((review: unknown) => void) | undefined
  const asked = new Promise((resolve) => (open = resolve))
  await later(() => asked)
  expect((await book.of(person)).readable.get('test')?.isUnknown).toBe(true)
  const waiting = book.of(person, 'Waits')
  open?.({ status: { allowed: true } })
  expect((await waiting).readable.get('test')?.isUnknown).toBeUndefined()
  expect((await book.of(person)).readable.get('test')?.isUnknown).toBeUndefined()
})
