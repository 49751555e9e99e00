import { createPrivateKey, X509Certificate } from 'node:crypto'
import { expect, test } from 'vitest'
import { planned } from './own-authority.ts'

const NOW = Date.parse('2026-11-21T00:00:00Z')
const DAY_MS = 86_400_000
const HOSTS = ['artifacts.example.org', '10.0.0.7']
const first = planned({}, HOSTS, NOW)

test('what is made is a pair for every name, signed by the authority', () => {
  const own = new X509Certificate(first.cert)
  expect(own.checkPrivateKey(createPrivateKey(first.key))).toBe(true)
  expect(own.verify(new X509Certificate(first.ca).publicKey)).toBe(true)
  expect([own.checkHost('artifacts.example.org'), own.checkIP('10.0.0.7')]).toEqual(HOSTS)
})

test('nothing changes while it is good, and the authority stays when the rest is renewed', () => {
  expect(planned(first, HOSTS, NOW + 59 * DAY_MS)).toBe(first)
  const renewed = planned(first, HOSTS, NOW + 61 * DAY_MS)
  expect([renewed.ca === first.ca, renewed.cert === first.cert]).toEqual([true, false])
})

test('F16 what a clock far ahead made is replaced when it is right again, under the same authority', () => {
  const ofFuture = planned(first, HOSTS, NOW + 300 * DAY_MS)
  const back = planned(ofFuture, HOSTS, NOW)
  expect([back.ca === first.ca, back.cert === ofFuture.cert]).toEqual([true, false])
  expect(planned(back, HOSTS, NOW)).toBe(back)
})

test.each([
  ['for another name', first, ['other.example.org']],
  ['with a key of another', { ...first, key: planned({}, HOSTS, NOW).key }, HOSTS],
  ['signed by another', { ...first, cert: planned({}, HOSTS, NOW).cert }, HOSTS],
  ['that is damaged', { ...first, cert: 'x' }, HOSTS],
  ['without a certificate', { ca: first.ca, caKey: first.caKey }, HOSTS],
])('a pair %s is replaced under the same authority', (_, held, hosts) => {
  const now = planned(held, hosts, NOW)
  expect(now.ca).toBe(first.ca)
  expect(new X509Certificate(now.cert).verify(new X509Certificate(first.ca).publicKey)).toBe(true)
  expect(planned(now, hosts, NOW)).toBe(now)
})

test('an authority that is damaged is made again', () => {
  expect(planned({ ...first, ca: 'x' }, HOSTS, NOW).ca).toMatch(/^-----BEGIN CERTIFICATE/)
})

test.each([
  ['is emptied', {}],
  ['lost its authority', { cert: first.cert, key: first.key }],
  ['has a damaged authority', { ...first, ca: 'x' }],
])('a Secret that %s gets the authority back that is in use', (_, held) => {
  const now = planned(held, HOSTS, NOW, first)
  expect([now.ca, now.caKey]).toEqual([first.ca, first.caKey])
  expect(planned(now, HOSTS, NOW, first)).toBe(now)
})

test('an authority that a person put into the Secret is taken over', () => {
  const other = planned({}, HOSTS, NOW)
  expect(planned(other, HOSTS, NOW, first)).toBe(other)
})
