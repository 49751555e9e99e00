// Tests what is shown of a cluster whose API server answers no question about rights: never an empty fleet.
import { expect, test } from 'vitest'
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
