import { expect, test } from 'vitest'
import { isOwnHost } from './host-header.ts'

test.each([
  ['localhost', '127.0.0.1', true],
  ['LOCALHOST:9464', '127.0.0.1', true],
  ['127.0.0.1:9464', '127.0.0.1', true],
  ['127.8.9.10', '127.8.9.10', true],
  ['[::1]:9464', '::1', true],
  ['10.0.0.7:9464', '10.0.0.7', true],
  ['10.0.0.7', '::ffff:10.0.0.7', true],
  ['metrics.example.com', '10.0.0.7', true],
  ['10.0.0.8', '10.0.0.7', false],
  ['evil.example', '127.0.0.1', false],
  ['localhost.evil.example', '127.0.0.1', false],
  ['127.0.0.1.evil.example', '127.0.0.1', false],
  ['localhost@evil.example', '127.0.0.1', false],
  ['evil.example#localhost', '127.0.0.1', false],
  ['localhost, evil.example', '127.0.0.1', false],
  ['localhost:9464:1', '127.0.0.1', false],
  ['', '127.0.0.1', false],
  ['x'.repeat(400), '127.0.0.1', false],
  [undefined, '127.0.0.1', false],
  ['undefined', undefined, false],
])('S18 the Host header %j at %s: %s', (header, address, own) => {
  expect(isOwnHost(header, address, ['Metrics.example.com'])).toBe(own)
})
