// What changes from one rendering to another: cluster by cluster, object by object, field by field. Pure. Never contains values of Secrets.
import { createHmac } from 'node:crypto'
import { API_GROUP } from '#api/kind.ts'
import { cluster as clusterKind } from '#api/kinds/cluster.ts'
import { defined } from '#lib/defined.ts'
import { MAX_JSON_DEPTH, isDeeperThan, isObject, jsonEqual } from '#lib/json.ts'
import { sha256OfJson } from '#lib/sha256.ts'
import { listingProblems } from '#declared/listing-problems.ts'
import { declaredOnHub, isDeclaredOnHub } from '#delivery/declared-on-hub.ts'
import {
  type SetLoss,
  type UncountedSet,
  declaredGrowth,
  declaredLoss,
  isMachineSet,
  singleMachinesLost,
  uncountedSets,
} from '#delivery/machine-loss.ts'
import { compareRefs, refText, type ObjectRef } from '#delivery/object-ref.ts'
import { placedText, type DesiredObject, type RenderedTarget, type Targets } from '#delivery/desired.ts'
import { isSealedValue } from './sops/open.ts'

export interface FieldChange {
  /** `spec.components[beacon].version`. */
  readonly path: string
  readonly before?: unknown
  readonly after?: unknown
}

export interface ObjectChange {
  readonly change: 'added' | 'changed' | 'removed'
  readonly ref: ObjectRef
  readonly object: string
  /** The first changed fields, for changed objects. */
  readonly fields: readonly FieldChange[]
  /** Number of further changed fields. */
  readonly more: number
  /** A cluster rejects the object unless its installer listed it for git; the comparison cannot know that. */
  readonly isListedOnly?: true
}

export interface ClusterDifference {
  readonly cluster: string
  readonly added: number
  readonly changed: number
  readonly removed: number
  readonly unchanged: number
  readonly changes: readonly ObjectChange[]
  readonly problems: readonly string[]
  readonly machines: MachineChanges
  /** The Cluster leaves the hub but its control plane stays: nothing in it is changed or deleted. */
  readonly isLeft?: true
}

/** By the declared numbers of machines; the actual numbers may differ. */
export interface MachineChanges {
  readonly deleted: number
  readonly sets: readonly SetLoss[]
  /** Machines that were declared one by one. */
  readonly single: readonly string[]
  /** Additional machines declared by sets; absent if none. */
  readonly created?: number
  /** Sets that may lose more, in neither number; absent if none. */
  readonly uncounted?: readonly UncountedSet[]
}

/** Limit for one object; the commit has the rest. */
const MAX_FIELDS = 50

export function differenceOf(before: Targets, after: Targets): readonly ClusterDifference[] {
  const names = [...new Set([...before.keys(), ...after.keys()])].toSorted((a, b) => (a < b ? -1 : 1))
  const left = clustersLeft(before, after)
  return names.map((name) =>
    left.has(name)
      ? leftDifference(name, before.get(name))
      : clusterDifference(name, before.get(name), after.get(name)),
  )
}

/** Clusters that a commit removes together with their objects, but whose control planes are not deleted. */
function clustersLeft(before: Targets, after: Targets): ReadonlySet<string> {
  const removed = declaredOnHub(clusterKind, before).filter(
    ({ metadata: { name = '' } }) => !isDeclaredOnHub(clusterKind, name, after),
  )
  const kept = removed.filter(({ spec }) => spec.controlPlane === undefined || spec.deletionPolicy !== 'Delete')
  return new Set(kept.flatMap(({ metadata: { name = '' } }) => (after.has(name) ? [] : [name])))
}

const leftDifference = (cluster: string, before: RenderedTarget | undefined): ClusterDifference => ({
  cluster,
  added: 0,
  changed: 0,
  removed: 0,
  unchanged: before?.objects.length ?? 0,
  changes: [],
  problems: [],
  machines: { deleted: 0, sets: [], single: [] },
  isLeft: true,
})

/** What the fields alone do not tell, as text for users. */
export const noteTexts = ({ isLeft, changes }: ClusterDifference): readonly string[] => [
  ...(isLeft === true
    ? ['leaves the fleet: its machines and all its objects stay as they are, and no commit changes them any more']
    : []),
  ...changes.flatMap(readsElsewhere),
]

/** Where a source finds what it declares. */
const PLACE = /^spec\.(url|path|ref)(\.|$)/

function readsElsewhere({ change, ref, object, fields }: ObjectChange): readonly string[] {
  const places = fields.filter(({ path }) => PLACE.test(path)).map(({ path }) => path)
  if (change !== 'changed' || ref.group !== API_GROUP || ref.kind !== 'FleetSource' || places.length === 0) return []
  return [
    `${object} reads from another place (${places.join(', ')}): sync then declares what is there, which this plan does not show, and deletes in all its clusters what is not, within the prune guard`,
  ]
}

export const hasDifference = (all: readonly ClusterDifference[]): boolean => all.some((d) => d.changes.length > 0)

function clusterDifference(
  cluster: string,
  before: RenderedTarget | undefined,
  after: RenderedTarget | undefined,
): ClusterDifference {
  const olds = byRef(before)
  const news = byRef(after)
  // Invalid declared objects stay as they are: neither changed nor removed.
  const rejected = new Set((after?.rejected ?? []).map((r) => refText(r.ref)))
  const changes: ObjectChange[] = []
  let unchanged = 0
  for (const [key, now] of news) {
    const old = olds.get(key)
    if (old === undefined) changes.push({ change: 'added', ref: now.ref, object: key, fields: [], more: 0 })
    else if (old.digest === now.digest) unchanged++
    else changes.push(changed(key, old, now))
  }
  // What the base declares, but not validly, an earlier commit may have applied.
  const refs = new Map([...(before?.rejected ?? []), ...olds.values()].map(({ ref }) => [refText(ref), ref]))
  for (const [key, ref] of refs)
    if (!news.has(key) && !rejected.has(key)) changes.push({ change: 'removed', ref, object: key, fields: [], more: 0 })
  const shown = changes.map((c) => withListing(c, news.get(c.object)))
  shown.sort((a, b) => compareRefs(a.ref, b.ref))
  const count = (change: ObjectChange['change']) => shown.filter((c) => c.change === change).length
  const problems = (after?.rejected ?? []).map((r) => `${placedText(r)}: ${r.problem}`)
  return {
    cluster,
    added: count('added'),
    changed: count('changed'),
    removed: count('removed'),
    unchanged,
    changes: shown,
    problems,
    machines: machineChanges(before, after),
  }
}

const withListing = (change: ObjectChange, now: DesiredObject | undefined): ObjectChange =>
  now !== undefined && listingProblems(now.object).length > 0 ? { ...change, isListedOnly: true } : change

function machineChanges(before: RenderedTarget | undefined, after: RenderedTarget | undefined): MachineChanges {
  const olds = before?.objects ?? []
  // Invalid declared objects stay as they are.
  const wrong = new Set((after?.rejected ?? []).map((r) => refText(r.ref)))
  const news = [...(after?.objects ?? []), ...olds.filter(({ ref }) => wrong.has(refText(ref)))]
  const invalid = (before?.rejected ?? []).map(({ ref }) => ref).filter((ref) => !wrong.has(refText(ref)))
  const uncounted = uncountedSets(olds, news, invalid)
  const names = new Set(uncounted.map(({ set }) => set))
  const isCounted = ({ ref }: DesiredObject): boolean => !isMachineSet(ref) || !names.has(ref.name)
  const sets = declaredLoss(olds, news).filter(({ set }) => !names.has(set))
  const single = singleMachinesLost(olds, news)
  const created = declaredGrowth(olds.filter(isCounted), news.filter(isCounted))
  return {
    deleted: sets.reduce((n, { deleted }) => n + deleted, single.length),
    sets,
    single,
    ...(created > 0 && { created }),
    ...(uncounted.length > 0 && { uncounted }),
  }
}

const byRef = (target: RenderedTarget | undefined): ReadonlyMap<string, DesiredObject> =>
  new Map((target?.objects ?? []).map((o) => [refText(o.ref), o]))

const isSecretRef = ({ kind, group }: ObjectRef): boolean => kind === 'Secret' && group === ''

type Shown = Pick<DesiredObject, 'ref' | 'object'>

/** Both values as users may view them, before and after. */
export function withoutSecretValues(old: Shown | undefined, now: Shown | undefined): readonly [unknown, unknown] {
  const secrets = [old, now].map((one) => (one !== undefined && isSecretRef(one.ref) ? one.object : undefined))
  const key = secrets.some((s) => s !== undefined) ? hashKey(secrets) : ''
  const [before, after] = secrets.map((secret) => secret && masked(secret, key))
  return [before ?? old?.object, after ?? now?.object]
}

function changed(key: string, old: DesiredObject, now: DesiredObject): ObjectChange {
  const isSecret = isSecretRef(now.ref)
  const fields: FieldChange[] = []
  collect(...withoutSecretValues(old, now), '', fields)
  // The list of fields is cut off: an author's labels and annotations must not push out the other fields.
  fields.sort((a, b) => Number(isOfMetadata(a)) - Number(isOfMetadata(b)))
  const shown: readonly FieldChange[] = fields.length === 0 && isSecret ? [{ path: 'data' }] : fields
  return {
    change: 'changed',
    ref: now.ref,
    object: key,
    fields: shown.slice(0, MAX_FIELDS),
    more: Math.max(0, fields.length - MAX_FIELDS),
  }
}

const isOfMetadata = ({ path }: FieldChange): boolean => /^metadata(\.|$)/.test(path)

/** Only readers of the repository can compute it: encrypted values are random, and the key is a digest of all of them before and after. */
const hashKey = (objects: readonly (DesiredObject['object'] | undefined)[]): string =>
  sha256OfJson(objects.map((object) => ({ data: object?.['data'], stringData: object?.['stringData'] })))

function masked(object: DesiredObject['object'], key: string): unknown {
  const { data, stringData, ...rest } = object
  const [sealedData, sealedText] = [data, stringData].map((values) => maskedValues(values, key))
  return { ...rest, ...defined({ data: sealedData, stringData: sealedText }) }
}

const HASH_DIGITS = 8

/**
 * Shows a keyed hash for a value that is encrypted in git: it shows whether the value changes in this plan, but cannot be compared with other values.
 * Plain values get no hash at all.
 */
function maskedValues(values: unknown, key: string): Readonly<Record<string, string>> | undefined {
  if (!isObject(values)) return undefined
  const sealed = Object.entries(values).filter(([, value]) => isSealedValue(value))
  if (sealed.length === 0) return undefined
  const tagOf = (value: unknown) => createHmac('sha256', key).update(String(value)).digest('hex').slice(0, HASH_DIGITS)
  return Object.fromEntries(sealed.map(([name, value]) => [name, `*** (${tagOf(value)})`]))
}

function collect(before: unknown, after: unknown, path: string, out: FieldChange[]): void {
  if (jsonEqual(before, after)) return
  if (isObject(before) && isObject(after)) {
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
      const [a, b] = [before, after].map((o) => (Object.hasOwn(o, key) ? o[key] : undefined))
      collect(a, b, path === '' ? key : `${path}.${key}`, out)
    }
    return
  }
  const [oldJson, newJson] = [jsonIn(before), jsonIn(after)]
  // Different texts with the same meaning are still a change, for example when one has a duplicate key: show the texts.
  if (oldJson !== undefined && newJson !== undefined && !jsonEqual(oldJson, newJson)) {
    collect(oldJson, newJson, path, out)
    return
  }
  const [olds, news] = [named(before), named(after)] as const
  const [a, b] = olds === undefined || news === undefined ? changedPart(before, after) : [olds, news]
  if (a !== undefined && b !== undefined) {
    const order = [[...a.keys()], [...b.keys()]].map((keys) => keys.filter((k) => a.has(k) && b.has(k)))
    if (!jsonEqual(order[0], order[1])) out.push({ path: `${path} (order)`, before: order[0], after: order[1] })
    for (const key of new Set([...a.keys(), ...b.keys()])) collect(a.get(key), b.get(key), `${path}[${key}]`, out)
    return
  }
  out.push({ path, ...defined({ before, after }) })
}

/** Larger texts are shown as text. */
const MAX_JSON_CHARS = 256 * 1024

/** ConfigMaps hold configuration as text. For JSON text, show the fields that change. */
function jsonIn(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*\{/.test(value) || value.length > MAX_JSON_CHARS) return undefined
  try {
    const parsed: unknown = JSON.parse(value)
    return isDeeperThan(parsed, MAX_JSON_DEPTH) || !isComplete(parsed, value) ? undefined : parsed
  } catch {
    // The text only starts like JSON.
    return undefined
  }
}

/** False with duplicate keys, or numbers with too many digits: another reader may find differences that the fields do not show. */
const isComplete = (parsed: unknown, text: string): boolean =>
  JSON.stringify(parsed) === text.replace(/("(?:[^"\\]|\\.)*")|\s+/g, '$1')

type Entries = ReadonlyMap<string | number, unknown>

/** Compares objects without names by position and skips equal ones at both ends, so that an added one shows up as one change. */
function changedPart(before: unknown, after: unknown): readonly [Entries, Entries] | readonly [undefined, undefined] {
  if (!areObjects(before) || !areObjects(after)) return [undefined, undefined]
  const most = Math.min(before.length, after.length)
  let start = 0
  while (start < most && jsonEqual(before[start], after[start])) start++
  let end = 0
  while (end < most - start && jsonEqual(before.at(-1 - end), after.at(-1 - end))) end++
  const part = (list: readonly unknown[]): Entries =>
    new Map(list.slice(start, list.length - end).map((e, i) => [start + i, e]))
  return [part(before), part(after)]
}

const areObjects = (list: unknown): list is readonly unknown[] =>
  Array.isArray(list) && list.length > 0 && list.every(isObject)

/** Entries by name, if every entry has a unique one, so that a new first entry does not change all others. */
function named(list: unknown): Entries | undefined {
  if (!Array.isArray(list)) return undefined
  const entries = list.map((e: unknown) =>
    isObject(e) && typeof e['name'] === 'string' ? ([e['name'], e] as const) : undefined,
  )
  if (entries.some((e) => e === undefined)) return undefined
  const map = new Map(entries.filter((e) => e !== undefined))
  return map.size === list.length ? map : undefined
}
