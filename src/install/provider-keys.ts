// The keys with which the controllers and a provider in its own pod authenticate each other: created by the first installation, kept by later ones, replaced
// before they expire.
import { randomBytes } from 'node:crypto'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { isObject } from '#lib/json.ts'
import { fieldsOf } from '#lib/fields.ts'
import { isUsable, newServingCertificate } from '#runtime/tls/serving-certificate.ts'
import type { Values } from './load.ts'

/** Only an installation renews them, and a cluster may run for years without one. */
const LIFE_DAYS = 3_650
const TOKEN_BYTES = 32

interface ProviderKeys {
  readonly ca: string
  readonly cert: string
  readonly key: string
  readonly token: string
}

/** Adds keys for each provider that needs them. Other problems in the settings are found later. */
export function withProviderKeys(values: Values, stored: Values, now: number): Values {
  const { providerPods, providerKeys } = values
  if (!Array.isArray(providerPods) || providerPods.length === 0) return values
  const before = { ...fieldsOf(stored['providerKeys']), ...fieldsOf(providerKeys) }
  const needed = providerPods.flatMap((pod: unknown) =>
    isObject(pod) && typeof pod['name'] === 'string' && pod['servingSecret'] === undefined ? [pod['name']] : [],
  )
  return {
    ...values,
    providerKeys: Object.fromEntries(needed.map((name) => [name, keptOrMade(name, before[name], now)])),
  }
}

function keptOrMade(name: string, kept: unknown, now: number): ProviderKeys {
  const host = `kubenode-provider-${name}.${SYSTEM_NAMESPACE}.svc`
  if (isKeys(kept) && isUsable(kept, [host], now)) return kept
  const made = newServingCertificate({ commonName: `kubenode-provider-${name}`, hosts: [host] }, now, LIFE_DAYS)
  return { ...made, token: randomBytes(TOKEN_BYTES).toString('base64url') }
}

const isKeys = (value: unknown): value is ProviderKeys =>
  isObject(value) && ['ca', 'cert', 'key', 'token'].every((field) => typeof value[field] === 'string')
