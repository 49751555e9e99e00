// managedFields of an object after any write that is not an apply: the writer owns what it changed.
import { isObject } from '#lib/json.ts'
import type { KubeObject, ManagedFieldsEntry } from '#api/schema/object.ts'
import { EMPTY_SET, difference, isEmptySet, union } from './field-set.ts'
import {
  type Managed,
  capUpdaters,
  ownerId,
  readManagedFields,
  withOwned,
  writeManagedFields,
} from './managed-fields.ts'
import { VersionMismatch, type Versioning, changesByVersion, reconciled, takeOver } from './ownership.ts'

type JsonMap = Readonly<Record<string, unknown>>

export interface UpdateRequest extends Versioning {
  /** Before the write; for a create nothing, or the zero object of a kind whose required fields are always written. */
  readonly live: JsonMap | undefined
  readonly next: JsonMap
  readonly manager: string
  readonly subresource?: string | undefined
  /** RFC 3339, whole seconds. */
  readonly time: string
}

/** Undefined when there are none to write. Never throws: on failure the previous entries are kept. */
export function trackUpdate(request: UpdateRequest): readonly ManagedFieldsEntry[] | undefined {
  const { live, next, subresource } = request
  const managed = managedBefore(live, next, subresource ?? '')
  if (managed.size === 0 && metaOf(live)['uid'] !== undefined) return undefined
  try {
    return writeManagedFields(updatedOwners(request, managed))
  } catch (e) {
    if (!(e instanceof VersionMismatch)) throw e
    return metaOf(live)['managedFields'] as KubeObject['metadata']['managedFields']
  }
}

/** Also for the fields that were there before the first apply. */
export function updatedOwners(request: UpdateRequest, before: Managed): Managed {
  const { next, apiVersion, time } = request
  const live = request.live ?? {}
  const manager = request.manager === '' ? 'unknown' : request.manager
  const self = { manager, operation: 'Update', apiVersion, subresource: request.subresource ?? '' } as const
  const id = ownerId(self)
  const changesIn = changesByVersion(request, live, next)
  const { managed } = takeOver(reconciled(request, live, before), id, changesIn)
  const changes = changesIn(apiVersion)
  const last = managed.get(id)
  const left = difference(last?.fields ?? EMPTY_SET, changes.removed)
  if (!isEmptySet(changes.changed)) {
    const fields = union(left, changes.changed)
    withOwned(managed, { ...self, time, fields, ...(last?.stored === undefined ? {} : { stored: last.stored }) })
  } else if (last !== undefined) withOwned(managed, { ...last, fields: left })
  return capUpdaters(managed)
}

/** A subresource cannot set managedFields. Elsewhere a client may send them: none or malformed ones keep the previous ones, an empty list or entry clears them. */
function managedBefore(live: JsonMap | undefined, next: JsonMap, subresource: string): Managed {
  const stored = metaOf(live)['managedFields']
  const sent = metaOf(next)['managedFields']
  if (subresource !== '' || sent === stored || sent === undefined || sent === null) return readStored(stored)
  if (isReset(sent)) return new Map()
  try {
    return readManagedFields(sent, 'client', stored)
  } catch (e) {
    if (!(e instanceof SyntaxError)) throw e
    return readStored(stored)
  }
}

function readStored(entries: unknown): Managed {
  try {
    return readManagedFields(entries, 'storage')
  } catch (e) {
    if (!(e instanceof SyntaxError)) throw e
    return new Map()
  }
}

function isReset(entries: unknown): boolean {
  if (!Array.isArray(entries)) return false
  const [first] = entries as readonly unknown[]
  return entries.length === 0 || (entries.length === 1 && isObject(first) && Object.keys(first).length === 0)
}

const metaOf = (object: JsonMap | undefined): JsonMap => {
  const metadata = object?.['metadata']
  return isObject(metadata) ? metadata : {}
}
