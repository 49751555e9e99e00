// What a commit may not declare: kinds and fields that belong to programs or to the server. Pure.
import { API_GROUP } from '#api/kind.ts'
import { ANNOTATIONS } from '#api/names.ts'
import type { ErrorMessage } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { declaredErrors } from './declared-errors.ts'

export interface OwnershipProblem {
  /** JSON pointer into the object. */
  readonly pointer: string
  readonly message: ErrorMessage
  /** Users may create such an object, but not through a commit. */
  readonly isForPeople: boolean
}

/** A forged one would be trusted: an Inventory makes sync delete, a permit or a ledger allows disruption. */
const MADE_BY_PROGRAMS: ReadonlySet<string> = new Set([
  'ComponentConfig',
  'DefenderLedger',
  'FleetBrake',
  'Inventory',
  'MaintenanceEvent',
  'OperationPermit',
  'Release',
  'RemedyOperationJob',
])
/** These record who decided, which a commit cannot. */
const MADE_BY_PEOPLE: ReadonlySet<string> = new Set(['Approval', 'OperationalHold'])

/** Programs use these annotations as their own notes. */
const NOTES: ReadonlySet<string> = new Set([
  ANNOTATIONS.commit,
  ANNOTATIONS.committed,
  ANNOTATIONS.source,
  ANNOTATIONS.cordon,
  ANNOTATIONS.blocked,
  ANNOTATIONS.completed,
  ANNOTATIONS.owned,
  ANNOTATIONS.letGo,
])

/** A finalizer that no program removes blocks deletion forever; an owner reference ties the deletion to another object. */
const DELETION_FIELDS = ['finalizers', 'ownerReferences'] as const
const SERVER_FIELDS = [
  'creationTimestamp',
  'deletionGracePeriodSeconds',
  'deletionTimestamp',
  'generateName',
  'generation',
  'managedFields',
  'resourceVersion',
  'selfLink',
  'uid',
] as const

/** Generators write `status: {}`, `finalizers: []` and `creationTimestamp: null`, which mean nothing. */
const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  (Array.isArray(value) && value.length === 0) ||
  (isObject(value) && Object.keys(value).length === 0)

/** The first problem of an object with a valid name. */
export function ownershipProblem(object: KubeObject): OwnershipProblem | undefined {
  const { apiVersion, kind } = object
  const metadata = object.metadata as unknown as Readonly<Record<string, unknown>>
  const found = (pointer: string, message: ErrorMessage, isForPeople = false) => ({ pointer, message, isForPeople })
  if (apiVersion.startsWith(`${API_GROUP}/`)) {
    if (MADE_BY_PROGRAMS.has(kind)) return found('/kind', declaredErrors.KN3090({ kind }))
    if (MADE_BY_PEOPLE.has(kind)) return found('/kind', declaredErrors.KN3090_decision({ kind }), true)
  }
  if (!isEmpty(object['status'])) return found('/status', declaredErrors.KN3090_field({ field: 'status' }))
  for (const field of DELETION_FIELDS)
    if (!isEmpty(metadata[field])) return found(`/metadata/${field}`, declaredErrors.KN3090_deletion({ field }))
  for (const field of SERVER_FIELDS)
    if (!isEmpty(metadata[field]))
      return found(`/metadata/${field}`, declaredErrors.KN3090_field({ field: `metadata.${field}` }))
  const note = Object.keys(isObject(metadata['annotations']) ? metadata['annotations'] : {}).find((a) => NOTES.has(a))
  return note === undefined
    ? undefined
    : found('/metadata/annotations', declaredErrors.KN3090_field({ field: `annotation ${note}` }))
}
