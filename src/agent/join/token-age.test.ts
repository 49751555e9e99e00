import { expect, test } from 'vitest'
import { tokenCondition } from './token-age.ts'

const ISSUED = Date.parse('2026-05-01T12:00:00Z') / 1_000
const jwt = (claims: object): string => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.x`
const MINUTE = 60_000
const held = (token: string) => ({ token, sinceMs: 1_000, receivedAt: ISSUED * 1_000 })
const after = (token: string, minutes: number) => tokenCondition(held(token), 1_000 + minutes * MINUTE)

const OF_AN_HOUR = jwt({ iat: ISSUED, exp: ISSUED + 3_600 })

test('a token is late after half of its life, and the condition says until when it works', () => {
  expect(after(OF_AN_HOUR, 29)).toBeUndefined()
  expect(after(OF_AN_HOUR, 30)).toEqual({
    type: 'TokenExpiring',
    status: 'True',
    reason: 'TokenNotReplaced',
    message:
      'the token of its agent was not replaced in time and expires at 2026-05-01 13:00:00 UTC, after which the agent is silent until there is a new one; check that the approver runs',
    lastTransitionTime: '2026-05-01T12:30:00Z',
  })
  // It does not change while it lasts, so it is written once.
  expect(after(OF_AN_HOUR, 59)).toEqual(after(OF_AN_HOUR, 30))
})

test('a shorter token is late earlier', () => {
  const short = jwt({ iat: ISSUED, exp: ISSUED + 600 })
  expect([after(short, 4), after(short, 5)?.type]).toEqual([undefined, 'TokenExpiring'])
})

test.each(['', 'x', 'e30.bm90anNvbg.x', jwt({}), jwt({ iat: 5, exp: 5 }), jwt({ iat: 'a', exp: 'b' })])(
  'a token that does not say its life (%j) counts as one of an hour',
  (token) => {
    expect(after(token, 29)).toBeUndefined()
    expect(after(token, 31)?.message).toContain('expires at an unknown time')
  },
)
