import { expect, test } from 'vitest'
import { silentLogger } from '#lib/log.ts'
import type { RawRequest } from '#kube/client.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { KEPT_MS, MetricsAccess } from './metrics-access.ts'

/** An API server that knows the tokens that begin with `good`, and lets `good-1` read. */
function access({ status = 201 } = {}) {
  const clock = new VirtualClock(0)
  const asked: unknown[] = []
  let letGo: () => void = () => undefined
  const held = new Promise<void>((resolve) => void (letGo = resolve))
  let isHeld = false
  const raw = async ({ path, body }: RawRequest) => {
    const { spec } = body as { readonly spec: Readonly<Record<string, unknown>> }
    asked.push(spec)
    if (isHeld) await held
    const token = typeof spec['token'] === 'string' ? spec['token'] : ''
    const user = { username: token, groups: ['system:authenticated'], extra: { 'example.org/of': ['x'] } }
    const answer = path.endsWith('tokenreviews')
      ? { authenticated: token.startsWith('good'), user }
      : { allowed: spec['user'] === 'good-1' }
    return { status, headers: {}, text: JSON.stringify({ status: answer }) }
  }
  const of = new MetricsAccess({ client: { raw }, clock, log: silentLogger })
  return { of, clock, asked, hold: () => void (isHeld = true), letGo: () => letGo() }
}

test.each([
  ['good-1', 'Allowed'],
  ['good-2', 'Denied'],
  ['bad', 'Unauthenticated'],
  ['x'.repeat(20_000), 'Unauthenticated'],
])('the token %.10s: %s', async (token, expected) => {
  expect(await access().of.ofToken(token)).toBe(expected)
})

test('what the API server says of a user is what it is asked about', async () => {
  const { of, asked } = access()
  await of.ofToken('good-1')
  expect(asked[1]).toEqual({
    user: 'good-1',
    groups: ['system:authenticated'],
    extra: { 'example.org/of': ['x'] },
    nonResourceAttributes: { path: '/metrics', verb: 'get' },
  })
})

test.each([500, 403, 429])('an answer with %i is unknown, and asked for again', async (status) => {
  const { of, asked } = access({ status })
  expect([await of.ofToken('good-1'), await of.ofToken('good-1')]).toEqual(['Unknown', 'Unknown'])
  expect(asked).toHaveLength(2)
})

test('made-up tokens do not push out a scraper, and are themselves forgotten', async () => {
  const { of, asked } = access()
  await of.ofToken('good-1')
  for (let i = 0; i < 1_000; i++) await of.ofToken(`bad-${i}`)
  const before = asked.length
  expect(await of.ofToken('good-1')).toBe('Allowed')
  expect(await of.ofToken('bad-999')).toBe('Unauthenticated')
  expect(asked).toHaveLength(before)
  await of.ofToken('bad-0')
  expect(asked).toHaveLength(before + 1)
})

test('a flood of tokens becomes no flood of reviews', async () => {
  const { of, asked, hold, letGo } = access()
  hold()
  const answers = Array.from({ length: 50 }, (_, i) => of.ofToken(`bad-${i}`))
  await Promise.resolve()
  expect(asked).toHaveLength(8)
  letGo()
  expect((await Promise.all(answers)).filter((a) => a === 'Unknown')).toHaveLength(42)
})

test('an answer is forgotten after a minute', async () => {
  const { of, asked, clock } = access()
  await of.ofToken('good-1')
  await clock.advance(KEPT_MS)
  await of.ofToken('good-1')
  expect(asked).toHaveLength(4)
})
