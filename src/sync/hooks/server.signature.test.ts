import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { isAuthentic } from './server.ts'

const TOKEN = 'a token of the webhook'
const BODY = Buffer.from('{"ref":"refs/heads/main"}')
const signed = (body: Uint8Array = BODY, token = TOKEN) =>
  `sha256=${createHmac('sha256', token).update(body).digest('hex')}`

test.each<[string, Record<string, string>, string | undefined, boolean]>([
  ['a signature of the body', { 'x-hub-signature-256': signed() }, TOKEN, true],
  ['the token of GitLab', { 'x-gitlab-token': TOKEN }, TOKEN, true],
  ['both', { 'x-hub-signature-256': signed(), 'x-gitlab-token': TOKEN }, TOKEN, true],
  ['nothing', {}, TOKEN, false],
  ['a signature of another body', { 'x-hub-signature-256': signed(Buffer.from('{}')) }, TOKEN, false],
  ['a signature with another token', { 'x-hub-signature-256': signed(BODY, 'another token of it') }, TOKEN, false],
  ['a signature in another form', { 'x-hub-signature-256': signed().toUpperCase() }, TOKEN, false],
  ['half a signature', { 'x-hub-signature-256': signed().slice(0, 40) }, TOKEN, false],
  ['the old signature with SHA-1', { 'x-hub-signature': 'sha1=00' }, TOKEN, false],
  ['another token', { 'x-gitlab-token': `${TOKEN}x` }, TOKEN, false],
  ['a wrong one beside a right one', { 'x-hub-signature-256': signed(), 'x-gitlab-token': 'no' }, TOKEN, false],
  ['what fits a source without a token', { 'x-hub-signature-256': signed(BODY, 'x'.repeat(16)) }, undefined, false],
  ['an empty token', { 'x-gitlab-token': '', 'x-hub-signature-256': signed(BODY, '') }, '', false],
  ['a token that is too short', { 'x-gitlab-token': 'short' }, 'short', false],
])('S17 a webhook with %s', (_, headers, token, isGood) => {
  expect(isAuthentic(headers, BODY, token)).toBe(isGood)
})
