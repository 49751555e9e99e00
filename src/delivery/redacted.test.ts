// A server's message about a Secret is shown without its values.
import { expect, test } from 'vitest'
import { redacted } from './redacted.ts'

const b64 = (text: string) => Buffer.from(text).toString('base64')
const secret = (data: Record<string, string>) => ({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a' }, data })

test.each([
  ['encoded', `Invalid value: "${b64('hunter22')}"`, 'Invalid value: "***"'],
  ['decoded', 'Invalid value: "hunter22": too easy', 'Invalid value: "***": too easy'],
  ['not at all', 'namespaces "shop" not found', 'namespaces "shop" not found'],
])('a value that is quoted %s is hidden', (_, message, shown) => {
  expect(redacted(message, secret({ a: b64('hunter22') }))).toBe(shown)
})

test('a value with quotes and lines is hidden as servers quote it', () => {
  const value = 'two "words"\nand more'
  expect(redacted(`Invalid value: ${JSON.stringify(value)}`, secret({ a: b64(value) }))).toBe('Invalid value: "***"')
})

test('of a short value the whole message is hidden, since it is part of too many words', () => {
  expect(redacted('value "ab" is wrong', secret({ a: b64('ab') }))).toMatch(/message may contain a value/)
})

test('a longer value is hidden before one that is part of it', () => {
  const both = secret({ a: b64('secret'), b: b64('secret-of-two') })
  expect(redacted('got secret-of-two', both)).toBe('got ***')
})

test('other objects keep their messages', () => {
  expect(redacted('value "abcd"', { ...secret({ a: b64('abcd') }), kind: 'ConfigMap' })).toBe('value "abcd"')
})
