// What the API does to an object on its way in, whatever its kind: names, uid, generation, concurrency, immutable metadata, finalizers. Pure.
import { defined } from '#lib/defined.ts'
import { isObject, jsonEqual } from '#lib/json.ts'
import type { KubeObject, ObjectMeta } from '#api/schema/object.ts'
import { apiVersionOf, qualifiedPlural, type ResourceType } from '#api/schema/resource.ts'
import { failure } from '#kube/errors.ts'
import type { Status } from '#api/schema/object.ts'
import type { FakeKind } from './kinds.ts'

/** Thrown inside the fake; its client gives it the context of the call. */
export class Refusal extends Error {
  readonly status: Status
  constructor(status: Status) {
    super(status.message)
    this.status = status
  }
}

export const refuse = (code: number, message: string, details?: Status['details'], reason?: string): Refusal =>
  new Refusal(failure(code, message, details, reason))

const detailsOf = (t: ResourceType, name: string): NonNullable<Status['details']> => ({
  name,
  ...(t.group === '' ? {} : { group: t.group }),
  kind: t.plural,
})

export const notFound = (t: ResourceType, name: string): Refusal =>
  refuse(404, `${qualifiedPlural(t)} "${name}" not found`, detailsOf(t, name))

export const alreadyExists = (t: ResourceType, name: string): Refusal =>
  refuse(409, `${qualifiedPlural(t)} "${name}" already exists`, detailsOf(t, name), 'AlreadyExists')

export const conflict = (t: ResourceType, name: string, why: string): Refusal =>
  refuse(409, `Operation cannot be fulfilled on ${qualifiedPlural(t)} "${name}": ${why}`, detailsOf(t, name))

export interface InvalidField {
  readonly field: string
  readonly message: string
  readonly reason?: string
}

export function invalid(t: ResourceType, name: string, problems: readonly InvalidField[]): Refusal {
  const kind = t.group === '' ? t.kind : `${t.kind}.${t.group}`
  const listed = problems.map((p) => `${p.field}: ${p.message}`)
  const text = listed.length === 1 ? listed[0] : `[${listed.join(', ')}]`
  return refuse(422, `${kind} "${name}" is invalid: ${text}`, {
    ...detailsOf(t, name),
    kind: t.kind,
    causes: problems.map((p) => ({ reason: p.reason ?? 'FieldValueInvalid', message: p.message, field: p.field })),
  })
}

const MODIFIED = 'the object has been modified; please apply your changes to the latest version and try again'
const NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/
const MAX_NAME = 253
/** The API server cuts generateName so that its five letters still fit into a label-sized name. */
const MAX_GENERATED_BASE = 58
const LETTERS = 'bcdfghjklmnpqrstvwxz2456789'

export function generatedName(base: string, below: (n: number) => number): string {
  let name = base.slice(0, MAX_GENERATED_BASE)
  for (let i = 0; i < 5; i++) name += LETTERS[below(LETTERS.length)]
  return name
}

/** RBAC names are free; all others are DNS subdomains. */
export function checkName(t: ResourceType, name: string): void {
  if (t.group === 'rbac.authorization.k8s.io') return
  if (name.length > MAX_NAME || !NAME.test(name))
    throw invalid(t, name, [
      {
        field: 'metadata.name',
        message: `Invalid value: ${JSON.stringify(name)}: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character`,
      },
    ])
}

export function checkKind(t: ResourceType, object: unknown): asserts object is KubeObject {
  if (!isObject(object)) throw refuse(400, 'the object provided is not a JSON object')
  if (object['kind'] !== t.kind || object['apiVersion'] !== apiVersionOf(t))
    throw refuse(
      400,
      `the API version in the data (${String(object['apiVersion'])}, kind ${String(object['kind'])}) does not match the expected API version (${apiVersionOf(t)}, kind ${t.kind})`,
    )
  if (object['metadata'] !== undefined && !isObject(object['metadata']))
    throw refuse(400, 'metadata is not a JSON object')
}

export interface Stamp {
  readonly uid: string
  readonly time: string
  readonly name: string
  readonly namespace: string | undefined
}

/** A new object as it will be stored, still without its resourceVersion. */
export function created(kind: FakeKind, input: KubeObject, stamp: Stamp): KubeObject {
  const { metadata, ...rest } = input
  const { resourceVersion: _rv, deletionTimestamp: _dt, deletionGracePeriodSeconds: _dg, ...meta } = metadata
  const out: Record<string, unknown> = {
    ...rest,
    metadata: {
      ...meta,
      name: stamp.name,
      ...defined({ namespace: stamp.namespace }),
      uid: stamp.uid,
      creationTimestamp: stamp.time,
      generation: 1,
    },
  }
  if (typeof kind.statusOnCreate === 'object') out['status'] = kind.statusOnCreate
  else if (kind.status && kind.statusOnCreate !== 'kept') delete out['status']
  return out as unknown as KubeObject
}

/** Refuses an update made from an older copy, or meant for another object of the same name. */
export function checkConcurrency(t: ResourceType, live: KubeObject, input: KubeObject): void {
  const name = live.metadata.name ?? ''
  const { uid, resourceVersion } = input.metadata ?? {}
  if (uid !== undefined && uid !== '' && uid !== live.metadata.uid)
    throw conflict(
      t,
      name,
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${live.metadata.uid}`,
    )
  if (resourceVersion !== undefined && resourceVersion !== '' && resourceVersion !== live.metadata.resourceVersion)
    throw conflict(t, name, MODIFIED)
}

/** An update as it will be stored, still without its resourceVersion: fields that the caller may not change come from the live object. */
export function updated(
  kind: FakeKind,
  live: KubeObject,
  input: KubeObject,
  subresource: string | undefined,
): KubeObject {
  const isStatus = subresource === 'status' || subresource === 'approval'
  const next: Record<string, unknown> = isStatus ? { ...live } : { ...input }
  if (isStatus) setOrDrop(next, 'status', input['status'])
  else if (kind.status) setOrDrop(next, 'status', live['status'])
  const wanted = isStatus ? live.metadata : (input.metadata ?? {})
  next['metadata'] = keptMetadata(live.metadata, wanted, input.metadata?.managedFields ?? live.metadata.managedFields)
  const merged = next as unknown as KubeObject
  checkFinalizers(kind.type, live, merged)
  if (!specChanged(kind, live, merged)) return merged
  return { ...merged, metadata: { ...merged.metadata, generation: (live.metadata.generation ?? 0) + 1 } }
}

function setOrDrop(target: Record<string, unknown>, key: string, value: unknown): void {
  if (value === undefined) delete target[key]
  else target[key] = value
}

const SERVER_OWNED = [
  'name',
  'namespace',
  'uid',
  'creationTimestamp',
  'generation',
  'resourceVersion',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'generateName',
] as const

function keptMetadata(live: ObjectMeta, wanted: ObjectMeta, managedFields: ObjectMeta['managedFields']): ObjectMeta {
  const out: Record<string, unknown> = { ...wanted }
  for (const key of SERVER_OWNED) setOrDrop(out, key, live[key])
  setOrDrop(out, 'managedFields', managedFields)
  return out
}

function checkFinalizers(t: ResourceType, live: KubeObject, next: KubeObject): void {
  if (live.metadata.deletionTimestamp === undefined) return
  const had = live.metadata.finalizers ?? []
  const added = (next.metadata.finalizers ?? []).filter((f) => !had.includes(f))
  if (added.length > 0)
    throw invalid(t, live.metadata.name ?? '', [
      {
        field: 'metadata.finalizers',
        message: `Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{${added.map((f) => JSON.stringify(f)).join(', ')}}`,
        reason: 'FieldValueForbidden',
      },
    ])
}

function specChanged(kind: FakeKind, a: KubeObject, b: KubeObject): boolean {
  const keys = new Set([...Object.keys(a), ...Object.keys(b)])
  keys.delete('metadata')
  if (kind.status) keys.delete('status')
  return [...keys].some((k) => !jsonEqual(a[k], b[k]))
}

/** Nothing but times of managedFields differs: such a write is none, and the revision stays. */
export function isSame(a: KubeObject, b: KubeObject): boolean {
  return jsonEqual(withoutManagedTimes(a), withoutManagedTimes(b))
}

function withoutManagedTimes(o: KubeObject): unknown {
  const { managedFields, ...meta } = o.metadata
  return { ...o, metadata: { ...meta, managedFields: managedFields?.map((entry) => ({ ...entry, time: undefined })) } }
}
