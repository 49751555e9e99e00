// Reads objects of one kind with the fewest requests that the rights allow: in the whole cluster, in a namespace, or one by one. Unreadable objects
// are unknown.
import { defined } from '#lib/defined.ts'
import { inParallel } from '#lib/pool.ts'
import { API_GROUP } from '#api/kind.ts'
import type { KubeClient } from '#kube/client.ts'
import { isApiError } from '#kube/errors.ts'
import { isKubeNodeError } from '#lib/errors.ts'
import { deliveryErrors } from './delivery-errors.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { keyOfRef, refOf, refText, type ObjectRef } from './object-ref.ts'
import { listWanted } from '#kube/list-all.ts'
import type { ResourceTypes } from './resource-types.ts'

/** By `refText`. Unknown means neither present nor deleted. */
export type Read = ReadonlyMap<string, KubeObject | 'Absent' | 'Unknown'>

/**
 * Up to this many objects of a kind are read one by one; more are listed. A foreign kind may have any number of objects besides those that git
 * declares.
 */
const GET_UP_TO = 8
/** For our kinds, git declares nearly all objects, except those that programs create. */
const GET_UP_TO_OF_OURS = 1
const MADE_BY_PROGRAMS: ReadonlySet<string> = new Set([
  'Machine',
  'ComponentConfig',
  'OperationPermit',
  'RemedyOperationJob',
])
/** Concurrent requests while reading objects one by one. */
const PARALLEL = 16

const getUpTo = ({ group, kind }: ResourceType): number =>
  group === API_GROUP && !MADE_BY_PROGRAMS.has(kind) ? GET_UP_TO_OF_OURS : GET_UP_TO

interface Reader {
  readonly client: KubeClient
  readonly type: ResourceType
  readonly signal: AbortSignal | undefined
}

export interface Reading {
  readonly client: KubeClient
  readonly types: ResourceTypes
  readonly signal?: AbortSignal
}

/** Reads references of any kinds. `apiVersionOf` returns the version in which an object is declared, if it is. */
export async function readRefs(
  { client, types, signal }: Reading,
  refs: readonly ObjectRef[],
  apiVersionOf: (ref: ObjectRef) => string | undefined = () => undefined,
): Promise<Read> {
  const out = new Map<string, KubeObject | 'Absent' | 'Unknown'>()
  for (const group of Map.groupBy(refs, (r) => `${r.group}/${r.kind}`).values()) {
    const [first] = group
    if (first === undefined) continue
    const version = apiVersionOf(first)
    const type = await typeOrWhy(() =>
      version === undefined ? types.ofGroup(first.group, first.kind, signal) : types.of(version, first.kind, signal),
    )
    const found = typeof type === 'string' ? type : await readKind({ client, type, signal }, group)
    for (const ref of group)
      out.set(refText(ref), typeof found === 'string' ? found : (found.get(refText(ref)) ?? 'Unknown'))
  }
  return out
}

/** A kind that is not served has no objects. If the server does not answer, it may have any number. */
async function typeOrWhy(read: () => Promise<ResourceType | undefined>): Promise<ResourceType | 'Absent' | 'Unknown'> {
  try {
    return (await read()) ?? 'Absent'
  } catch (error) {
    if (isApiError(error)) return 'Unknown'
    if (isKubeNodeError(error) && error.code === deliveryErrors.KN1315_apply.code) return 'Absent'
    throw error
  }
}

export async function readKind(reader: Reader, refs: readonly ObjectRef[]): Promise<Read> {
  if (refs.length <= getUpTo(reader.type)) return getEach(reader, refs)
  const all = await listed(reader, undefined, refs)
  if (all !== undefined) return pick(refs, all)
  const parts: Read[] = []
  for (const [namespace, group] of Map.groupBy(refs, (r) => r.namespace)) {
    const isFew = namespace === '' || group.length <= getUpTo(reader.type)
    const there = isFew ? undefined : await listed(reader, namespace, group)
    parts.push(there === undefined ? await getEach(reader, group) : pick(group, there))
  }
  return new Map(parts.flatMap((part) => [...part]))
}

const pick = (refs: readonly ObjectRef[], there: ReadonlyMap<string, KubeObject>): Read =>
  new Map(refs.map((r) => [refText(r), there.get(refText(r)) ?? 'Absent']))

/**
 * Of all objects, those that are wanted are kept. Undefined if listing is forbidden: a source may have rights in its namespaces only.
 */
async function listed(
  { client, type, signal }: Reader,
  namespace: string | undefined,
  refs: readonly ObjectRef[],
): Promise<ReadonlyMap<string, KubeObject> | undefined> {
  const wanted = new Set(refs.map(refText))
  const found = await unlessForbidden(() =>
    listWanted(client, type, defined({ signal, namespace }), (object) => {
      const text = refText({ ...refOf(object), group: type.group })
      return wanted.has(text) ? [[text, object] as const] : []
    }),
  )
  return found === 'Forbidden' ? undefined : new Map(found)
}

/** One forbidden object proves nothing about the others. */
async function getEach({ client, type, signal }: Reader, refs: readonly ObjectRef[]): Promise<Read> {
  const out = new Map<string, KubeObject | 'Absent' | 'Unknown'>()
  await inParallel(refs, PARALLEL, async (ref) => {
    const found = await unlessForbidden(() => client.get(type, keyOfRef(ref), signal === undefined ? {} : { signal }))
    out.set(refText(ref), found === 'Forbidden' ? 'Unknown' : (found ?? 'Absent'))
  })
  return out
}

async function unlessForbidden<T>(read: () => Promise<T>): Promise<T | 'Forbidden'> {
  try {
    return await read()
  } catch (error) {
    if (isForbidden(error)) return 'Forbidden'
    throw error
  }
}

const isForbidden = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'status' in error && error.status === 403
