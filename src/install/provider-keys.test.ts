// Keys between controllers and a provider in its own pod.
import { X509Certificate } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Values } from './load.ts'
import { withProviderKeys } from './provider-keys.ts'

const NOW = Date.parse('2026-11-22T00:00:00Z')
const DAY_MS = 86_400_000
const settings: Values = { cluster: 'prod-1', providerPods: [{ name: 'aws', options: {} }] }

interface Keys {
  readonly ca: string
  readonly cert: string
  readonly key: string
  readonly token: string
}
const keysOf = (values: Values): Readonly<Record<string, Keys>> => (values['providerKeys'] ?? {}) as never

test('settings without providers in pods stay as they are', () => {
  const plain: Values = { cluster: 'prod-1' }
  expect(withProviderKeys(plain, {}, NOW)).toBe(plain)
})

test('the first installation makes a certificate for the Service, its authority and a token', () => {
  const { aws } = keysOf(withProviderKeys(settings, {}, NOW))
  const cert = new X509Certificate(aws?.cert ?? '')
  expect(cert.checkHost('kubenode-provider-aws.kubenode-system.svc')).toBeDefined()
  expect(cert.verify(new X509Certificate(aws?.ca ?? '').publicKey)).toBe(true)
  expect(aws?.token.length).toBeGreaterThanOrEqual(32)
})

test('later installations keep the keys, also with a values file that lacks them', () => {
  const first = withProviderKeys(settings, {}, NOW)
  expect(withProviderKeys(settings, first, NOW + 2_000 * DAY_MS)).toEqual(first)
  expect(withProviderKeys(first, first, NOW + DAY_MS)).toEqual(first)
})

test.each<[string, (kept: Keys) => unknown, number]>([
  ['near their end', (kept) => kept, 3_600],
  ['of another provider', (kept) => ({ ...kept, ...keysOf(withProviderKeys(own, {}, NOW))['own'] }), 1],
  ['that lack a part', (kept) => ({ ...kept, token: undefined }), 1],
  ['that are damaged', (kept) => ({ ...kept, key: 'x' }), 1],
])('keys %s are replaced', (_, change, days) => {
  const first = keysOf(withProviderKeys(settings, {}, NOW))['aws'] as Keys
  const next = keysOf(withProviderKeys(settings, { providerKeys: { aws: change(first) } }, NOW + days * DAY_MS))['aws']
  expect(next?.cert).not.toBe(first.cert)
  expect(next?.token).not.toBe(first.token)
})

const own: Values = { providerPods: [{ name: 'own', options: {} }] }

test('a provider with a Secret of its own gets none, and one that is removed loses its keys', () => {
  const pods = [{ name: 'aws', options: {}, servingSecret: 'mine' }]
  const first = withProviderKeys(settings, {}, NOW)
  expect(keysOf(withProviderKeys({ ...settings, providerPods: pods }, first, NOW))).toEqual({})
})
