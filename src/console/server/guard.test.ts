// Tests which requests come from this page.
import { expect, test } from 'vitest'
import { type Asked, denied } from './guard.ts'

const asked: Asked = {
  method: 'POST',
  host: '127.0.0.1:7000',
  localAddress: '127.0.0.1',
  origin: 'http://127.0.0.1:7000',
  site: 'same-origin',
  contentType: 'application/json',
  scheme: 'http',
}

test('the page itself may ask and write', () => {
  expect(denied(asked, [], true)).toBeUndefined()
  expect(denied({ ...asked, method: 'GET', origin: undefined, contentType: undefined }, [], true)).toBeUndefined()
})

test('a program that is no browser states no site', () =>
  expect(denied({ ...asked, origin: undefined, site: undefined }, [], true)).toBeUndefined())

test.each<readonly [string, Partial<Asked>, string]>([
  ['a name that was rebound to loopback', { host: 'evil.example:7000' }, 'WrongHost'],
  ['no host', { host: undefined }, 'WrongHost'],
  ['a host with a path in it', { host: '127.0.0.1/x' }, 'WrongHost'],
  ['another site', { site: 'cross-site' }, 'CrossSite'],
  ['another port of this host', { site: 'same-site', origin: 'http://127.0.0.1:9999' }, 'CrossSite'],
  ['another origin without fetch metadata', { site: undefined, origin: 'http://127.0.0.1:9999' }, 'CrossSite'],
  ['an opaque origin', { site: undefined, origin: 'null' }, 'CrossSite'],
  ['a form', { contentType: 'application/x-www-form-urlencoded' }, 'NotJson'],
  ['text that a form may send', { contentType: 'text/plain' }, 'NotJson'],
  ['a preflight', { method: 'OPTIONS' }, 'MethodNotAllowed'],
  ['a method that changes', { method: 'DELETE' }, 'MethodNotAllowed'],
])('%s is refused', (_, change, code) => {
  expect(denied({ ...asked, ...change }, [], true)?.code).toBe(code)
})

test('another site may link to the page, and ask for no data', () => {
  const link = { ...asked, method: 'GET', site: 'cross-site', origin: undefined }
  expect(denied(link, [], false)).toBeUndefined()
  expect(denied(link, [], true)?.code).toBe('CrossSite')
})

test('a name that was given is one of this server', () =>
  expect(
    denied(
      { ...asked, host: 'console.example', site: 'same-origin', origin: 'http://console.example' },
      ['console.example'],
      true,
    ),
  ).toBeUndefined())
