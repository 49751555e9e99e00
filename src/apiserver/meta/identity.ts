// The metadata that the server writes: names, uids, times, generations, and fields that a client may not change.
import { jsonEqual } from '#lib/json.ts'
import { timestamp } from '#lib/clock.ts'
import type { KubeObject, ObjectMeta, OwnerReference } from '#api/schema/object.ts'
import type { Draft } from '../builtin/kind.ts'

/** No vowels and no digits that resemble them, so that no words appear. */
const LETTERS = 'bcdfghjklmnpqrstvwxz2456789'
const SUFFIX_LENGTH = 5
/** Room for the suffix within 63 characters. */
const MAX_PREFIX = 63 - SUFFIX_LENGTH

export function generatedName(prefix: string, random: () => number): string {
  let suffix = ''
  for (let i = 0; i < SUFFIX_LENGTH; i++) suffix += LETTERS[Math.floor(random() * LETTERS.length)]
  return prefix.slice(0, MAX_PREFIX) + suffix
}

export const withMetadata = (object: Draft, metadata: ObjectMeta): Draft => ({ ...object, metadata })

/** The same metadata without the keys named. */
export function withoutKeys(meta: ObjectMeta, keys: readonly string[]): ObjectMeta {
  const out: Record<string, unknown> = { ...meta }
  for (const k of keys) delete out[k]
  return out
}

export interface Birth {
  readonly name: string
  readonly namespace: string
  readonly uid: string
  readonly now: number
  readonly generation: boolean
}

/** Metadata of a new object; server-made fields from the client are dropped. For kinds without generations, the generation is not server-made. */
export function bornMetadata(meta: ObjectMeta, birth: Birth): ObjectMeta {
  const {
    name: _n,
    generateName,
    namespace: _ns,
    labels,
    annotations,
    ownerReferences,
    finalizers,
    managedFields,
    generation,
  } = meta
  return {
    name: birth.name,
    ...(generateName === undefined ? {} : { generateName }),
    ...(birth.namespace === '' ? {} : { namespace: birth.namespace }),
    uid: birth.uid,
    ...(birth.generation ? { generation: 1 } : generation === undefined ? {} : { generation }),
    creationTimestamp: timestamp(birth.now),
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
    ...(ownerReferences === undefined ? {} : { ownerReferences: withoutRepeated(ownerReferences) }),
    ...(finalizers === undefined ? {} : { finalizers }),
    ...(managedFields === undefined ? {} : { managedFields }),
  }
}

/** Owners are a set by value; a repeated one is dropped. */
function withoutRepeated(owners: readonly OwnerReference[]): readonly OwnerReference[] {
  const seen = new Map<string, OwnerReference[]>()
  return owners.filter((o) => {
    const alike = seen.get(o.uid)
    if (alike === undefined) seen.set(o.uid, [o])
    else if (alike.some((before) => jsonEqual(before, o))) return false
    else alike.push(o)
    return true
  })
}

/** Uids that stand more than once among the owners. */
export function repeatedOwners(owners: readonly OwnerReference[] | undefined): readonly string[] {
  const seen = new Set<string>()
  const repeated = new Set<string>()
  for (const { uid } of owners ?? []) (seen.has(uid) ? repeated : seen).add(uid)
  return [...repeated]
}

/** Metadata of a changed object: server-made fields that the client left out or may not set come from the old one. */
export function keptMetadata(meta: ObjectMeta, old: ObjectMeta): ObjectMeta {
  const out: Record<string, unknown> = { ...meta }
  const keep = (key: keyof ObjectMeta) => {
    if (old[key] === undefined) delete out[key]
    else out[key] = old[key]
  }
  keep('generation')
  keep('creationTimestamp')
  delete out['selfLink']
  if (meta.uid === undefined || meta.uid === '') keep('uid')
  if (meta.deletionTimestamp === undefined) keep('deletionTimestamp')
  if (meta.deletionGracePeriodSeconds === undefined) keep('deletionGracePeriodSeconds')
  if (meta.namespace === undefined) keep('namespace')
  if (meta.ownerReferences !== undefined) out['ownerReferences'] = withoutRepeated(meta.ownerReferences)
  return out
}

/** Anything but metadata differs; status too, where it has an endpoint of its own. */
export function specChanged(object: KubeObject, old: KubeObject, hasStatusEndpoint: boolean): boolean {
  for (const key of new Set([...Object.keys(object), ...Object.keys(old)])) {
    if (key === 'metadata' || key === 'apiVersion' || key === 'kind' || (key === 'status' && hasStatusEndpoint))
      continue
    if (!jsonEqual(object[key], old[key])) return true
  }
  return false
}
