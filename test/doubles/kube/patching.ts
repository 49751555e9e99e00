// Where the fake meets the schema machinery: patches, server-side apply, the tracking of who wrote which field, and the check of custom resources.
import { defined } from '#lib/defined.ts'
import { assertNever } from '#lib/errors.ts'
import { conflictCauses, conflictMessage } from '#apiserver/schema/apply/conflict.ts'
import { applyServerSide } from '#apiserver/schema/apply/apply-server-side.ts'
import { fieldSetOfPaths, type FieldSet } from '#apiserver/schema/apply/field-set.ts'
import { trackUpdate } from '#apiserver/schema/apply/track-update.ts'
import { applyDefaults } from '#api/schema/default.ts'
import { toCause } from '#apiserver/schema/field-error.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { applyJsonPatch } from '#apiserver/schema/patch/json-patch.ts'
import { applyMergePatch } from '#apiserver/schema/patch/merge-patch.ts'
import { PatchError } from '#apiserver/schema/patch/patch-error.ts'
import { strategicMerge } from '#apiserver/schema/patch/strategic-merge.ts'
import { prune } from '#api/schema/prune.ts'
import { apiVersionOf } from '#api/schema/resource.ts'
import type { Schema } from '#api/schema/schema.ts'
import { createValidator, type Validator } from '#apiserver/schema/validate.ts'
import type { ApplyOptions, Patch } from '#kube/client.ts'
import type { FakeKind } from './kinds.ts'
import { invalid, refuse } from './object-rules.ts'

export interface Tracking {
  readonly manager: string
  readonly subresource: string | undefined
  readonly time: string
}

/** Made ready once per schema; a schema object never changes. */
const validators = new WeakMap<Schema, Validator>()

function validatorOf(schema: Schema): Validator {
  let made = validators.get(schema)
  if (made === undefined) {
    made = createValidator(schema)
    validators.set(schema, made)
  }
  return made
}

/** Prunes, defaults and validates, as a server does with a custom resource. CEL rules are the server's alone. */
export function checkSchema(kind: FakeKind, next: KubeObject, live: KubeObject | undefined): KubeObject {
  const { schema } = kind
  if (schema === undefined || kind.mergeOnly === true) return next
  const known = prune(schema, next, { embeddedRoot: true }).value
  const filled = applyDefaults(schema, known) as KubeObject
  const errors = validatorOf(schema).validate(filled, live === undefined ? {} : { old: live })
  if (errors.length === 0) return filled
  throw invalid(
    kind.type,
    next.metadata.name ?? '',
    errors.map((e) => {
      const { field = '', message = '', reason } = toCause(e)
      return { field, message, ...defined({ reason }) }
    }),
  )
}

export function patchedObject(kind: FakeKind, live: KubeObject, change: Patch): KubeObject {
  try {
    switch (change.type) {
      case 'json':
        return applyJsonPatch(live, change.operations) as KubeObject
      case 'merge':
        return applyMergePatch(live, change.value) as KubeObject
      case 'strategic':
        // A server knows how to merge built-in kinds only.
        if (kind.mergeOnly !== true && kind.schema !== undefined)
          throw refuse(
            415,
            'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml',
          )
        return strategicMerge(kind.schema, live, change.value) as KubeObject
      default:
        return assertNever(change)
    }
  } catch (e) {
    if (e instanceof PatchError) throw refuse(e.httpCode, e.statusMessage)
    throw e
  }
}

const STATUS: FieldSet = fieldSetOfPaths([['f:status']])
const ALL_BUT_STATUS: FieldSet = fieldSetOfPaths([['f:spec'], ['f:data'], ['f:metadata']])

/** Fields that the endpoint does not write get no owner from a write through it. */
function resetFields(kind: FakeKind, subresource: string | undefined): FieldSet | undefined {
  if (subresource === 'status') return ALL_BUT_STATUS
  return kind.status ? STATUS : undefined
}

export function appliedObject(
  kind: FakeKind,
  live: KubeObject | undefined,
  applied: KubeObject,
  options: ApplyOptions,
  time: string,
): KubeObject {
  const result = applyServerSide({
    apiVersion: apiVersionOf(kind.type),
    kind: kind.type.kind,
    schema: kind.schema,
    resetFields: resetFields(kind, options.subresource),
    live,
    applied,
    manager: options.fieldManager,
    force: options.force === true,
    subresource: options.subresource,
    time,
  })
  switch (result.kind) {
    case 'Applied':
      return result.object
    case 'Conflict':
      throw refuse(409, conflictMessage(result.conflicts), {
        name: applied.metadata.name ?? '',
        kind: kind.type.plural,
        causes: conflictCauses(result.conflicts),
      })
    case 'Invalid':
      throw refuse(result.httpCode, result.message)
    default:
      return assertNever(result)
  }
}

export function trackedObject(
  kind: FakeKind,
  live: KubeObject | undefined,
  next: KubeObject,
  { manager, subresource, time }: Tracking,
): KubeObject {
  const managedFields = trackUpdate({
    apiVersion: apiVersionOf(kind.type),
    schema: kind.schema,
    resetFields: resetFields(kind, subresource),
    live,
    next,
    manager,
    subresource,
    time,
  })
  const { managedFields: _, ...metadata } = next.metadata
  return { ...next, metadata: managedFields === undefined ? metadata : { ...metadata, managedFields } }
}
