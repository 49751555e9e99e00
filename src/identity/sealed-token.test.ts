import { expect, test } from 'vitest'
import { newPrivateKey } from '#lib/x509/signing-request.ts'
import { openToken, sealToken, tokenPublicKey } from './sealed-token.ts'

const UID = '0b5c2a3e-0000-4000-8000-000000000001'
const TOKEN = { token: 'header.claims.signature', lifeSeconds: 3_600, askAgainSeconds: 300 }

test('the host with the key opens its token, and the same key always names the same one', async () => {
  const key = await newPrivateKey()
  expect(tokenPublicKey(key)).toMatch(/^[\w-]{43}$/)
  expect(tokenPublicKey(key)).toBe(tokenPublicKey(key))
  expect(openToken(key, UID, sealToken(tokenPublicKey(key), UID, TOKEN))).toEqual(TOKEN)
})

/** Replaces a character inside the sealed bytes: the last character may contain unused bits. */
const changedAt = (text: string, at: number): string =>
  `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`

test('another key, another Machine and a changed text open nothing', async () => {
  const [key, other] = await Promise.all([newPrivateKey(), newPrivateKey()])
  const sealed = sealToken(tokenPublicKey(key), UID, TOKEN)
  expect(openToken(other, UID, sealed)).toBeUndefined()
  expect(openToken(key, UID.replace('1', '2'), sealed)).toBeUndefined()
  expect(openToken(key, UID, changedAt(sealed, sealed.length - 10))).toBeUndefined()
  expect(openToken(key, UID, '')).toBeUndefined()
})

test.each([
  { token: '' },
  { token: 'a', lifeSeconds: 0, askAgainSeconds: 1 },
  { ...TOKEN, askAgainSeconds: 1e9 },
  'text',
])('what is sealed but is no token is not taken: %j', async (value) => {
  const key = await newPrivateKey()
  expect(openToken(key, UID, sealToken(tokenPublicKey(key), UID, value as never))).toBeUndefined()
})
