import { expect, test } from 'vitest'
import { unverifiedClaims, unverifiedEnd } from './token-claims.ts'

const token = (claims: string): string => `e30.${Buffer.from(claims).toString('base64url')}.x`

test('a token says what it says, and when it ends', () => {
  expect(unverifiedClaims(token('{"sub":"ada","exp":7}'))).toEqual({ sub: 'ada', exp: 7 })
  expect(unverifiedEnd(token('{"exp":7}'))).toBe(7_000)
})

test.each(['', 'opaque', 'a.b', token('[]'), token('null'), token('{'), token('"x"')])('%j says nothing', (text) => {
  expect(unverifiedClaims(text)).toBeUndefined()
  expect(unverifiedEnd(text)).toBeUndefined()
})

test.each(['{}', '{"exp":"7"}', '{"exp":1e999}', '{"exp":null}'])('%s has no end', (claims) => {
  expect(unverifiedEnd(token(claims))).toBeUndefined()
})
