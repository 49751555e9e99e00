// Reads and writes a MachineComponentSet's kept revisions: ControllerRevisions with the declared components. A record's name is the digest of its content: one
// whose name and content differ was not written by a set.
import { isObject } from '#lib/json.ts'
import { withoutEnd } from '#lib/without-ends.ts'
import type { KubeObject } from '../schema/object.ts'
import type { SecretPlace } from '../kinds/component-config.ts'
import type { MachineComponentSetSpec } from '../kinds/machine-component-set.ts'
import { sha256OfJson } from '#lib/sha256.ts'

/** `sealed`: its secret values at the time of reading; different values are another revision. */
export type RevisedComponent = MachineComponentSetSpec['components'][number] & {
  readonly sealed?: readonly SecretPlace[]
}

export interface SetRevision {
  readonly name: string
  /** Later revisions have larger numbers; 0 if the record has none. */
  readonly number: number
  readonly components: readonly RevisedComponent[]
}

const HASH_CHARS = 12
/** Leaves room for the hash; the set's own name may have the maximum length. */
const MOST_NAME_CHARS = 200

export function revisionHash(components: readonly RevisedComponent[]): string {
  const sorted = components.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  return sha256OfJson(sorted).slice(0, HASH_CHARS)
}

export const shortened = (name: string): string => withoutEnd(name.slice(0, MOST_NAME_CHARS), /[-.]/)

export const revisionNameOf = (set: string, components: readonly RevisedComponent[]): string =>
  `${shortened(set)}-${revisionHash(components)}`

interface Content {
  readonly components: readonly RevisedComponent[]
  readonly hash: string
}
/** Read for each machine in each reconcile; a record's data is replaced, never changed in place. */
const READ = new WeakMap<object, Content | 'Unreadable'>()

function contentOf(data: unknown): Content | undefined {
  if (!isObject(data)) return undefined
  const known = READ.get(data)
  if (known !== undefined) return known === 'Unreadable' ? undefined : known
  const components: unknown = data['components']
  const isWhole = Array.isArray(components) && components.every(isComponent)
  const content = isWhole ? { components, hash: revisionHash(components) } : undefined
  READ.set(data, content ?? 'Unreadable')
  return content
}

/**
 * Undefined for a record that cannot be read completely, or whose name does not match its content. A partial one would be another revision: components missing
 * from it would be removed from machines.
 */
export function readSetRevision(record: KubeObject | undefined): SetRevision | undefined {
  const content = contentOf(record?.['data'])
  if (record === undefined || content === undefined) return undefined
  const { name = '' } = record.metadata
  if (!name.endsWith(`-${content.hash}`)) return undefined
  const number = record['revision']
  return { name, number: typeof number === 'number' ? number : 0, components: content.components }
}

/** Compares uid and kind: a new set may have a deleted one's name. */
export const isRecordOf = (
  { metadata }: KubeObject,
  set: { readonly kind: string; readonly metadata: KubeObject['metadata'] },
): boolean => metadata.ownerReferences?.some((o) => o.kind === set.kind && o.uid === set.metadata.uid) === true

/** The record's content; `readSetRevision` reads the same back. */
export const writeSetRevision = (
  number: number,
  components: readonly RevisedComponent[],
): { readonly revision: number; readonly data: { readonly components: readonly RevisedComponent[] } } => ({
  revision: number,
  data: { components },
})

const isPlaces = (value: unknown): boolean =>
  value === undefined || (Array.isArray(value) && value.every((p) => isObject(p) && typeof p['path'] === 'string'))

function isComponent(value: unknown): value is RevisedComponent {
  if (!isObject(value)) return false
  const { name, version, values, secretRefs, sealed } = value
  const isNamed = typeof name === 'string' && name !== '' && typeof version === 'string' && version !== ''
  return isNamed && (values === undefined || isObject(values)) && isPlaces(secretRefs) && isPlaces(sealed)
}
