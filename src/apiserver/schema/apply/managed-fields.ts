// metadata.managedFields between the stored form and the working form: reading, identity, order and cap of entries.
import { isObject, jsonEqual } from '#lib/json.ts'
import type { ManagedFieldsEntry } from '#api/schema/object.ts'
import { EMPTY_SET, type FieldSet, inServerOrder, isEmptySet, parseFieldSet, union } from './field-set.ts'

export interface Owner {
  readonly manager: string
  readonly operation: 'Apply' | 'Update'
  readonly apiVersion: string
  readonly subresource: string
}

export interface OwnedFields extends Owner {
  readonly time: string | undefined
  readonly fields: FieldSet
  /** The stored entry that this was read from; written back as it is while nothing changes. */
  readonly stored?: ManagedFieldsEntry
}

/** By identity, see `ownerId`. */
export type Managed = ReadonlyMap<string, OwnedFields>

/** As the real server: more updaters than this are folded together, the oldest first. */
export const MAX_UPDATE_MANAGERS = 10
const FOLDED_MANAGER = 'ancient-changes'

/** Updates through several versions are several owners; an applier is one owner in all versions. Also the order in which conflicts are listed. */
export function ownerId({ manager, operation, apiVersion, subresource }: Owner): string {
  return `${manager}\u0000${operation}\u0000${operation === 'Apply' ? '' : apiVersion}\u0000${subresource}`
}

/** Entries from a client are parsed again and made canonical; those in `stored`, if given, are used unchanged. Throws SyntaxError. */
export function readManagedFields(entries: unknown, from: 'storage' | 'client', stored?: unknown): Managed {
  const managed = new Map<string, OwnedFields>()
  if (entries === undefined || entries === null) return managed
  if (!Array.isArray(entries)) throw new SyntaxError('managedFields must be a list')
  for (const [i, entry] of entries.entries()) {
    const known: unknown = Array.isArray(stored) ? stored[i] : undefined
    const isKnown = known !== undefined && jsonEqual(known, entry)
    const owned = isKnown ? readEntry(known, i, 'storage') : readEntry(entry, i, from)
    managed.set(ownerId(owned), owned)
  }
  return managed
}

function readEntry(entry: unknown, index: number, from: 'storage' | 'client'): OwnedFields {
  if (!isObject(entry)) throw new SyntaxError(`managed fields entry ${index} must be a map`)
  const { operation, fieldsType, fieldsV1 } = entry
  if (operation !== 'Apply' && operation !== 'Update') throw new SyntaxError('operation must be `Apply` or `Update`')
  const apiVersion = textOf(entry['apiVersion'])
  if (apiVersion === '') throw new SyntaxError('apiVersion must not be empty')
  if (fieldsType !== 'FieldsV1') throw new SyntaxError(fieldsTypeProblem(fieldsType, index))
  return {
    manager: textOf(entry['manager']),
    operation,
    apiVersion,
    subresource: textOf(entry['subresource']),
    time: typeof entry['time'] === 'string' ? entry['time'] : undefined,
    fields: from === 'storage' && isObject(fieldsV1) ? (fieldsV1 as FieldSet) : parseFieldSet(fieldsV1),
    ...(from === 'storage' ? { stored: entry as unknown as ManagedFieldsEntry } : {}),
  }
}

const fieldsTypeProblem = (fieldsType: unknown, index: number): string =>
  fieldsType === undefined || fieldsType === ''
    ? `missing fieldsType in managed fields entry ${index}`
    : `invalid fieldsType ${JSON.stringify(fieldsType)} in managed fields entry ${index}`

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** True when two lists of entries say the same but for times: a write that changes no more than these is no write. */
export function sameButTimes(a: unknown, b: unknown): boolean {
  const timeless = (entries: unknown): unknown =>
    Array.isArray(entries) ? entries.map((e: unknown) => (isObject(e) ? { ...e, time: undefined } : e)) : entries
  return a === b || jsonEqual(timeless(a), timeless(b))
}

/** Undefined when no field has an owner: managedFields is then absent. */
export function writeManagedFields(managed: Managed): readonly ManagedFieldsEntry[] | undefined {
  if (managed.size === 0) return undefined
  return [...managed.values()].toSorted(compareOwned).map(writeEntry)
}

function writeEntry({
  manager,
  operation,
  apiVersion,
  subresource,
  time,
  fields,
  stored,
}: OwnedFields): ManagedFieldsEntry {
  if (stored !== undefined && stored.fieldsV1 === fields && stored.time === time) return stored
  return {
    ...(manager === '' ? {} : { manager }),
    operation,
    apiVersion,
    ...(time === undefined ? {} : { time }),
    fieldsType: 'FieldsV1',
    fieldsV1: stored?.fieldsV1 === fields ? fields : inServerOrder(fields),
    ...(subresource === '' ? {} : { subresource }),
  }
}

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Appliers before updaters, then by time in whole seconds, then by name. */
function compareOwned(a: OwnedFields, b: OwnedFields): number {
  return (
    compareTexts(a.operation, b.operation) ||
    secondsOf(a.time) - secondsOf(b.time) ||
    compareTexts(a.manager, b.manager) ||
    compareTexts(a.apiVersion, b.apiVersion) ||
    compareTexts(a.subresource, b.subresource)
  )
}

const secondsOf = (time: string | undefined): number => (time === undefined ? 0 : Math.floor(Date.parse(time) / 1000))

/** Folds the oldest updaters of each version into one, until there are no more than the cap allows. */
export function capUpdaters(managed: Managed): Managed {
  const updaters = [...managed].filter(([, owned]) => owned.operation === 'Update')
  let surplus = updaters.length - MAX_UPDATE_MANAGERS
  if (surplus <= 0) return managed
  updaters.sort(([idA, a], [idB, b]) => secondsOf(a.time) - secondsOf(b.time) || compareTexts(idA, idB))
  const out = new Map(managed)
  const firstOfVersion = new Map<string, string>()
  for (const [id, owned] of updaters) {
    if (surplus <= 0) break
    const first = firstOfVersion.get(owned.apiVersion)
    if (first === undefined) {
      firstOfVersion.set(owned.apiVersion, id)
      continue
    }
    const folded: Owner = {
      manager: FOLDED_MANAGER,
      operation: 'Update',
      apiVersion: owned.apiVersion,
      subresource: '',
    }
    const foldedId = ownerId(folded)
    const before = (out.get(foldedId) ?? out.get(first))?.fields ?? EMPTY_SET
    if (!out.has(foldedId)) out.delete(first)
    out.delete(id)
    out.set(foldedId, { ...folded, time: owned.time, fields: union(owned.fields, before) })
    surplus--
  }
  return out
}

/** Sets what an owner owns; an owner of nothing is removed. */
export function withOwned(managed: Map<string, OwnedFields>, owned: OwnedFields): void {
  const id = ownerId(owned)
  if (isEmptySet(owned.fields)) managed.delete(id)
  else managed.set(id, owned)
}
