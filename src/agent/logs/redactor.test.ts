import { expect, test } from 'vitest'
import { LOG_LINE_CHARS } from '#api/protocol/log-bounds.ts'
import { Redactor } from './redactor.ts'

const KEY_LINE = 'MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7'
const shown = (lines: readonly string[], values: readonly string[] = []) => new Redactor(values).lines(lines).join('\n')

test.each([
  ['an assignment', ['password=hunter2 user=ada'], 'hunter2'],
  ['a bearer header', ['Authorization: Bearer abcdef0123456789'], 'abcdef0123456789'],
  ['a JWT', ['got eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln'], 'eyJhbGci'],
  ['a private key on one line', [`-----BEGIN PRIVATE KEY-----${KEY_LINE}-----END PRIVATE KEY-----`], KEY_LINE],
  ['a user in an address', ['https://ada:lovelace@example.org'], 'lovelace'],
])('masks %s', (_, lines, secret) => {
  expect(shown(lines)).toContain('[secret]')
  expect(shown(lines)).not.toContain(secret)
})

test('a block over many lines, and over many calls, is one mask', () => {
  const redactor = new Redactor([])
  const first = redactor.lines(['before', '-----BEGIN EC PRIVATE KEY-----', KEY_LINE])
  const rest = redactor.lines(['c2hvcnQ=', '-----END EC PRIVATE KEY-----', 'after'])
  expect([...first, ...rest]).toEqual(['before', '[secret]', 'after'])
})

test('a block without an end hides a bounded number of lines', () => {
  const lines = new Redactor([]).lines(['-----BEGIN X-----', ...Array.from({ length: 500 }, (_, n) => `line ${n}`)])
  expect(lines.at(-1)).toBe('line 499')
  expect(lines.length).toBeLessThan(110)
})

const VALUE = 'correct horse/"battery"'
test.each([
  ['as it is', `key is ${VALUE}.`],
  ['in JSON', JSON.stringify({ key: VALUE })],
  ['in an address', `?k=${encodeURIComponent(VALUE)}`],
  ['in base64', `data: ${Buffer.from(VALUE).toString('base64')}`],
])('masks a secret value of the component %s', (_, line) => {
  expect(shown([line], [VALUE])).toContain('[secret]')
  expect(shown([line], [VALUE])).not.toMatch(/horse|Y29ycm/)
})

test('each line of a longer secret value is masked', () => {
  expect(shown(['here: second-part'], ['first-part\nsecond-part'])).toBe('here: [secret]')
})

test('what steers a terminal is left out, and long lines are shortened after they were masked', () => {
  expect(shown(['\u001b[31mred\u001b[0m\u0007 \u001b]0;title'])).toBe('red ]0;title')
  const long = `${'x'.repeat(LOG_LINE_CHARS - 20)} the-secret-value-of-this-component`
  const line = shown([long], ['the-secret-value-of-this-component'])
  expect(line.length).toBeLessThanOrEqual(LOG_LINE_CHARS)
  expect(line).not.toContain('the-secret')
})

test('many lines take linear time: a flood of names of secrets is masked', () => {
  const lines = Array.from({ length: 3_000 }, (_, n) => `token token token secret=${n}${'a'.repeat(100)}`)
  expect(new Redactor(['value-one', 'value-two']).lines(lines)).toHaveLength(3_000)
})
