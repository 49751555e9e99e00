import { expect, test } from 'vitest'
import { maskSecretsIn } from './mask-text.ts'

test.each([
  ['a password', 'cannot log in with password=hunter2 as root', 'cannot log in with password=[secret] as root'],
  ['a field of JSON', '{"user":"a","client_secret":"s3cr3t x"}', '{"user":"a","client_secret":[secret]}'],
  ['a flag', 'usage: x --auth-token abcdef --port 1', 'usage: x --auth-token [secret] --port 1'],
  ['a header', 'Authorization: Bearer abc.def-ghi', 'Authorization: [secret] [secret]'],
  ['a bearer alone', 'sent bearer abcdefgh', 'sent bearer [secret]'],
  ['an address with a password', 'GET https://me:pw@host/x failed', 'GET https://[secret]@host/x failed'],
  ['a JSON web token', 'got eyJhbGciOiJI.eyJzdWIi.c2ln', 'got [secret]'],
  ['a key', 'a\n-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\nb', 'a\n[secret]\nb'],
  ['the rest of a key', `${'Ab1+'.repeat(12)}\nEND`, '[secret]\nEND'],
  ['a key of a cloud', 'with AKIAABCDEFGHIJKLMNOP.', 'with [secret].'],
])('masked: %s', (_, text, masked) => {
  expect(maskSecretsIn(text)).toBe(masked)
})

test.each([
  'Error: listen EADDRINUSE: address already in use 127.0.0.1:8080',
  'sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  'open /etc/kubernetes/kubelet.yaml: no such file or directory',
  'see https://example.org/docs#token',
])('left as it is: %s', (text) => {
  expect(maskSecretsIn(text)).toBe(text)
})

test.each([
  ['a value whose quote does not end', 'token="abc def', 'token=[secret]'],
  ['a name inside a longer one', 'x-my.api_key.v2 : abc', 'x-my.api_key.v2 : [secret]'],
  ['names in a row', 'token=password=x pwd: y', 'token=[secret] pwd: [secret]'],
  ['flags with their value on the next line', '-x --my-secret-file\n  abc', '-x --my-secret-file [secret]'],
  ['half of a JSON web token', 'got eyJhbGciOiJI.eyJzd', 'got [secret]'],
])('also masked: %s', (_, text, masked) => {
  expect(maskSecretsIn(text)).toBe(masked)
})

// A mask that tries a name from each character needs hours for the first ones, so this test would not end.
test.each([
  'token.',
  'token',
  '--token',
  '-token-',
  '-',
  'a.',
  'a-eyJ',
  '-eyJaaaaaaaa',
  'a://b:',
  'token="',
  "token='",
  'token: ',
  'token ',
  'basic ',
  'authorization:',
  '-----BEGIN A',
  '-----BEGIN A-----',
  '-----END ',
  'gh',
  '-sk-',
  'A+',
  ' ',
  '\n',
])('S12 a text of nothing but %j is masked in linear time', (piece) => {
  const text = piece.repeat(Math.ceil(65_536 / piece.length))
  for (const whole of [text, `${text}!`, `token${text}`, `--token${text}`])
    for (let n = 0; n < 5; n++) expect(maskSecretsIn(whole).length).toBeGreaterThan(0)
})
