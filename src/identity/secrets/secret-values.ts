// Secret values in component configurations: reads the referenced Secrets, and names their content by a keyed hash, so that a change shows up in the
// name without revealing the value. A value leaves this module only to be sealed.
import { createHmac, randomBytes } from 'node:crypto'
import type { SecretPlace } from '#api/kinds/component-config.ts'
import { LABELS, SYSTEM_NAMESPACE } from '#api/names.ts'
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { canonicalJson } from '#lib/json.ts'
import type { KubeClient } from '#kube/client.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { type Secret, secretType } from '#nodes/objects.ts'
import { hasSecretRefs, type SecretReference, type WithReferences } from './secret-refs.ts'
import { secretsErrors } from './secrets-errors.ts'

/** Holds the key of the hashes. Many users may read the object, and a weak value could be guessed from a plain hash. */
const HASH_KEY_SECRET = 'kubenode-sealing'
const HASH_KEY_BYTES = 32
const HASH_CHARS = 16

/** Secrets are not watched, so polling finds changes; reads within this time share one. */
export const SECRET_AGE_MS = 15_000
/** Sealed and base64-encoded, the value must fit where it is read. */
const MAX_VALUE_BYTES = 64 * 1_024
/** Used when a reference names no key. */
const DEFAULT_KEY = 'value'
/** KubeNode's own Secrets are excluded: certificates, kubeconfigs, the key of the hashes. */
const OWN_PREFIX = 'kubenode-'

export type FoundValue =
  | { readonly kind: 'Value'; readonly value: string }
  | { readonly kind: 'Missing'; readonly why: string }

export type Found =
  | { readonly kind: 'Found'; readonly sealed: readonly SecretPlace[] }
  | { readonly kind: 'Missing'; readonly why: string }

/** Components with all secret values get `sealed`; the others stay unchanged, and the first of them is reported. */
export interface Resolved<T> {
  readonly components: readonly (T & { readonly sealed?: readonly SecretPlace[] })[]
  readonly missing?: string
}

export interface SecretValuesTools {
  readonly client: Pick<KubeClient, 'get' | 'create'>
  readonly clock: Pick<Clock, 'monotonic'>
}

export class SecretValues {
  readonly #tools: SecretValuesTools
  readonly #read = new Map<string, { readonly at: number; readonly secret: Secret | undefined }>()
  #key: Buffer | undefined

  constructor(tools: SecretValuesTools) {
    this.#tools = tools
  }

  /** The places of a component's secret values, named by their current content. */
  async places({ name, secretRefs = [] }: WithReferences, signal?: AbortSignal): Promise<Found> {
    const values: [string, string][] = []
    for (const ref of secretRefs) {
      const found = await this.value(ref.secret, signal)
      if (found.kind === 'Missing') return found
      values.push([ref.path, found.value])
    }
    const sealedIn = `${name}-${await this.#nameOf(values, signal)}`
    return { kind: 'Found', sealed: secretRefs.map(({ path, secret }) => ({ path, sealedIn, secret })) }
  }

  async resolve<T extends WithReferences & { readonly version: string }>(
    components: readonly T[],
    signal?: AbortSignal,
  ): Promise<Resolved<T>> {
    if (!hasSecretRefs(components)) return { components }
    const resolved: (T & { readonly sealed?: readonly SecretPlace[] })[] = []
    let missing: string | undefined
    for (const component of components) {
      const found = (component.secretRefs ?? []).length === 0 ? undefined : await this.places(component, signal)
      if (found?.kind === 'Missing') missing ??= `${component.name} ${component.version}: ${found.why}`
      resolved.push(found?.kind === 'Found' ? { ...component, sealed: found.sealed } : component)
    }
    return { components: resolved, ...defined({ missing }) }
  }

  /** The values of these places, if they still match the names. */
  async valuesAt(
    component: string,
    places: readonly SecretPlace[],
    signal?: AbortSignal,
  ): Promise<ReadonlyMap<string, string> | string> {
    const values = new Map<string, string>()
    for (const { path, secret } of places) {
      const found: FoundValue =
        secret === undefined ? { kind: 'Missing', why: 'no Secret is named' } : await this.value(secret, signal)
      if (found.kind === 'Missing') return found.why
      values.set(path, found.value)
    }
    const sealedIn = `${component}-${await this.#nameOf([...values], signal)}`
    if (places.every((p) => p.sealedIn === sealedIn)) return values
    return `the values in ${[...new Set(places.map((p) => p.secret?.name))].join(', ')} have changed`
  }

  async value({ name, key = DEFAULT_KEY }: SecretReference['secret'], signal?: AbortSignal): Promise<FoundValue> {
    const full = `Secret ${SYSTEM_NAMESPACE}/${name}`
    const missing = (why: string): FoundValue => ({ kind: 'Missing', why })
    if (name.startsWith(OWN_PREFIX)) return missing(`${full} is KubeNode's own; no component may have it`)
    const secret = await this.#secret(name, signal)
    if (secret === undefined) return missing(`${full} not found`)
    if (secret.type !== undefined && secret.type !== 'Opaque')
      return missing(`${full} is of type ${secret.type}; only Opaque ones are given to components`)
    // The right to commit a set does not include reading every Secret here: a Secret's owner must permit its use.
    if (secret.metadata.labels?.[LABELS.forComponents] !== 'true')
      return missing(`${full} is not for components; label it ${LABELS.forComponents}=true if it is`)
    const data = secret.data ?? {}
    const text = Object.hasOwn(data, key) ? data[key] : undefined
    if (text === undefined) return missing(`${full} has no key ${key}`)
    const bytes = Buffer.from(text, 'base64')
    if (bytes.length > MAX_VALUE_BYTES)
      return missing(`${full} has ${bytes.length} bytes at ${key}, and ${MAX_VALUE_BYTES} are the most`)
    return { kind: 'Value', value: bytes.toString('utf8') }
  }

  async #secret(name: string, signal: AbortSignal | undefined): Promise<Secret | undefined> {
    const now = this.#tools.clock.monotonic()
    const known = this.#read.get(name)
    if (known !== undefined && now - known.at < SECRET_AGE_MS) return known.secret
    for (const [old, { at }] of this.#read) if (now - at >= SECRET_AGE_MS) this.#read.delete(old)
    const secret = await this.#get(name, signal)
    this.#read.set(name, { at: now, secret })
    return secret
  }

  #get(name: string, signal: AbortSignal | undefined): Promise<Secret | undefined> {
    return this.#tools.client.get(secretType, { namespace: SYSTEM_NAMESPACE, name }, signal && { signal })
  }

  async #nameOf(values: readonly (readonly [string, string])[], signal: AbortSignal | undefined): Promise<string> {
    this.#key ??= await this.#hashKey(signal)
    const sorted = values.toSorted(([a], [b]) => (a < b ? -1 : 1))
    return createHmac('sha256', this.#key)
      .update(canonicalJson(sorted.map(([path, value]) => [path, value])))
      .digest('hex')
      .slice(0, HASH_CHARS)
  }

  /** Created once. If two clients create it at the same moment, the loser reads the winner's. */
  async #hashKey(signal: AbortSignal | undefined): Promise<Buffer> {
    const found = keyIn(await this.#get(HASH_KEY_SECRET, signal))
    if (found !== undefined) return found
    const made: Secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { namespace: SYSTEM_NAMESPACE, name: HASH_KEY_SECRET },
      type: 'Opaque',
      data: { key: randomBytes(HASH_KEY_BYTES).toString('base64') },
    }
    await outcomeOf(() => this.#tools.client.create(secretType, made, signal && { signal }))
    const now = keyIn(await this.#get(HASH_KEY_SECRET, signal))
    if (now !== undefined) return now
    throw new KubeNodeError(
      secretsErrors.KN3061({
        systemNamespace: SYSTEM_NAMESPACE,
        hashKeySecret: HASH_KEY_SECRET,
        hashKeyBytes: HASH_KEY_BYTES,
      }),
      { retry: 'later' },
    )
  }
}

function keyIn(secret: Secret | undefined): Buffer | undefined {
  const key = Buffer.from(secret?.data?.['key'] ?? '', 'base64')
  return key.length === HASH_KEY_BYTES ? key : undefined
}
