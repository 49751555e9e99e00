import { expect, test } from 'vitest'
import { isLoopbackHost, parseReference } from './reference.ts'
import { parseChallenge } from './registry-auth.ts'

const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`

test.each([
  ['ghcr.io/acme/kubenode:0.1.0', { host: 'ghcr.io', repository: 'acme/kubenode', tag: '0.1.0' }],
  ['localhost/kubenode', { host: 'localhost', repository: 'kubenode' }],
  ['127.0.0.1:5000/a/b_c/d-e:x', { host: '127.0.0.1:5000', repository: 'a/b_c/d-e', tag: 'x' }],
  [`[::1]:5000/a@${DIGEST}`, { host: '[::1]:5000', repository: 'a', digest: DIGEST }],
  [`r.example/a:1@${DIGEST}`, { host: 'r.example', repository: 'a', tag: '1', digest: DIGEST }],
])('%s is a reference', (text, expected) => expect(parseReference(text)).toEqual(expected))

test.each([
  'kubenode',
  'acme/kubenode:1',
  'ghcr.io/Acme/kubenode',
  'ghcr.io/../kubenode',
  'ghcr.io/a//b',
  'ghcr.io/a:',
  'ghcr.io/a:1:2',
  'ghcr.io/a@sha256:12',
  `ghcr.io/a@${DIGEST}@${DIGEST}`,
  'user:secret@ghcr.io/a',
  'ghcr.io:999999/a',
  'https://ghcr.io/a',
  `ghcr.io/${'a'.repeat(600)}`,
])('%s is refused', (text) => expect(() => parseReference(text)).toThrow('KN13011'))

test.each([
  ['localhost', true],
  ['localhost:5000', true],
  ['127.8.9.1:1', true],
  ['[::1]:5000', true],
  ['localhost.example', false],
  ['127.0.0.1.example:80', false],
  ['10.0.0.1:5000', false],
])('whether %s is this host: %s', (host, expected) => expect(isLoopbackHost(host)).toBe(expected))

test('a challenge is read with its parameters', () => {
  expect(parseChallenge('Bearer realm="https://a.example/token",service="r",scope="repository:x:pull,push"')).toEqual({
    scheme: 'bearer',
    parameters: { realm: 'https://a.example/token', service: 'r', scope: 'repository:x:pull,push' },
  })
  expect(parseChallenge('Basic realm="x"')).toEqual({ scheme: 'basic', parameters: { realm: 'x' } })
  expect(parseChallenge('Digest realm="x"')).toBeUndefined()
  expect(parseChallenge('')).toBeUndefined()
})
