// A Secret that a commit only has encrypted: what is visible of it, and its values after it is opened. Errors name paths, never values.
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { AgeIdentity } from './age.ts'
import { parseTree, plainOf } from './document.ts'
import { base64, encryptedTree, isSealedValue, openTree, unsealedPaths, type EncryptedTree } from './open.ts'

const FIELDS: ReadonlySet<string> = new Set([
  'apiVersion',
  'kind',
  'metadata',
  'type',
  'data',
  'stringData',
  'immutable',
])

/** As in the file, with encrypted values. Throws the problem; needs no key. */
export function sealedSecret(text: string): KubeObject {
  const encrypted = encryptedTree(parseTree(text))
  const [unsealed] = unsealedPaths(encrypted)
  if (unsealed !== undefined) throw new Error(`has a value at ${unsealed} that is not encrypted, and should be`)
  const secret = plainOf(encrypted.tree)
  requireSecret(secret)
  const visible = [...valuesOf(secret)].find(([, value]) => value !== '' && !isSealedValue(value))
  // A rule that leaves a Secret's values readable is a mistake.
  if (visible !== undefined) throw new Error(`has a value at ${visible[0]} that its rules leave readable`)
  const hidden = Object.entries(secret.metadata).find(([, value]) => isSealedValue(value))
  if (hidden !== undefined || isSealedValue(secret['type']) || isSealedValue(secret.kind))
    throw new Error('has encrypted metadata; encrypt it with --encrypted-regex "^(data|stringData)$"')
  return secret
}

/**
 * The encrypted entry that lists where a Secret may be applied: lines of CLUSTER/NAMESPACE/NAME. The MAC of sops covers values in order but no field
 * names, so someone without the key could move a file. This entry is bound to its own name, and is in no other file.
 */
export const PLACES_ENTRY = 'kubenode.for'

export interface OpenedSecret {
  /** Without the entry. */
  readonly object: KubeObject
  /** Where it may be applied; undefined: the file does not list places. */
  readonly places?: readonly string[]
}

/** Throws the problem. Returns nothing until the MAC over all values is verified. */
export async function openSecret(text: string, identities: readonly AgeIdentity[]): Promise<OpenedSecret> {
  const encrypted = encryptedTree(parseTree(text))
  const secret = plainOf(await openTree(encrypted, identities))
  requireSecret(secret)
  const stored = asStored(secret)
  const { [PLACES_ENTRY]: listed, ...data } = stored['data'] as Readonly<Record<string, string>>
  if (listed === undefined) {
    if (hasLooseNames(encrypted))
      throw new Error(
        `has its name and namespace outside of its MAC (mac_only_encrypted): encrypt it without that, or with an entry ${PLACES_ENTRY}`,
      )
    return { object: stored }
  }
  const places = Buffer.from(listed, 'base64')
    .toString('utf8')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  return { object: { ...stored, data }, places }
}

const hasLooseNames = ({ metadata }: EncryptedTree): boolean => metadata.get('mac_only_encrypted') === true

/** Whether a line matches this place; `*` is any cluster, `prod-*` matches a prefix. */
export function isPlace(
  line: string,
  cluster: string,
  { metadata: { namespace = '', name = '' } }: KubeObject,
): boolean {
  const [where = '', ...rest] = line.split('/')
  const isThere = where.endsWith('*') ? cluster.startsWith(where.slice(0, -1)) : where === cluster
  return isThere && rest.join('/') === `${namespace}/${name}`
}

/** Servers store stringData as data; this form can be compared with the live object. */
function asStored({ stringData, data, ...rest }: KubeObject): KubeObject {
  const stored = new Map<string, string>()
  for (const [key, value] of textsOf(data)) {
    const bytes = base64(value.replace(/\s/g, ''))
    if (bytes === undefined) throw new Error(`has a value at data.${key} that is no base64; use stringData for text`)
    stored.set(key, bytes.toString('base64'))
  }
  for (const [key, value] of textsOf(stringData)) stored.set(key, Buffer.from(value).toString('base64'))
  return { ...rest, data: Object.fromEntries(stored) }
}

const textsOf = (values: unknown): readonly (readonly [string, string])[] =>
  Object.entries(isObject(values) ? values : {}) as [string, string][]

function requireSecret(value: unknown): asserts value is KubeObject {
  const metadata = isObject(value) ? value['metadata'] : undefined
  if (!isObject(value) || value['apiVersion'] !== 'v1' || value['kind'] !== 'Secret' || !isObject(metadata))
    throw new Error('is no Secret of v1')
  const unknown = Object.keys(value).find((key) => !FIELDS.has(key))
  if (unknown !== undefined) throw new Error(`has the field ${unknown.slice(0, 80)}, which a Secret does not have`)
  for (const field of ['name', 'namespace'])
    if (typeof metadata[field] !== 'string' || metadata[field] === '') throw new Error(`has no metadata.${field}`)
  for (const field of ['data', 'stringData'])
    if (value[field] !== undefined && !isObject(value[field])) throw new Error(`has a ${field} that is no map`)
  // The MAC of sops covers no bytes of an empty text: without the key, one could be placed over an encrypted value.
  const twice = textsOf(value['data']).find(([key]) => Object.hasOwn(Object(value['stringData']), key))
  if (twice !== undefined) throw new Error(`has ${twice[0].slice(0, 100)} in data and in stringData; keep one of them`)
  for (const [path, text] of valuesOf(value))
    if (typeof text !== 'string') throw new Error(`has a value at ${path} that is no text`)
}

function* valuesOf(secret: Record<string, unknown> | KubeObject): Generator<readonly [path: string, value: unknown]> {
  for (const field of ['data', 'stringData']) {
    const values = (secret as Record<string, unknown>)[field]
    if (isObject(values))
      for (const [key, value] of Object.entries(values)) yield [`${field}.${key.slice(0, 100)}`, value]
  }
}
