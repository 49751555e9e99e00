// Which manager owns which fields after a write: prepares a request for the managedFields machinery.
import { timestamp } from '#lib/clock.ts'
import type { KubeObject, ManagedFieldsEntry } from '#api/schema/object.ts'
import { apiVersionOf } from '#api/schema/resource.ts'
import type { Draft } from '../builtin/kind.ts'
import type { WriteOptions } from '../http/query.ts'
import { fieldSetOfPaths, trackUpdate, type FieldSet } from '../machinery.ts'
import { withMetadata, withoutKeys } from '../meta/identity.ts'
import type { Served } from '../registry/served.ts'
import { managerOf, type Call } from './context.ts'

export interface Managing {
  readonly manager: string
  readonly subresource: string
  readonly time: string
}

export const managing = (call: Call, options: WriteOptions, subresource: string): Managing => ({
  manager: managerOf(call, options.fieldManager),
  subresource,
  time: timestamp(call.parts.clock.now()),
})

/** Endpoints that write the status and nothing else. */
export const STATUS_ENDPOINTS: ReadonlySet<string> = new Set(['status', 'approval'])

const STATUS_ONLY = fieldSetOfPaths([['f:status']])

const SPEC_ONLY = fieldSetOfPaths([['f:spec']])

/** Fields that this endpoint does not write. */
function resetFields(served: Served, subresource: string): FieldSet | undefined {
  if (STATUS_ENDPOINTS.has(subresource)) return SPEC_ONLY
  return served.subresources.has('status') ? STATUS_ONLY : undefined
}

const versionSchemas = (call: Call): ReadonlyMap<string, Served['schema']> | undefined => {
  const { type, custom, behaviour } = call.served
  // the webhook's conversion of a field is unknown here: its owners are kept, and not compared
  if (!custom || behaviour.conversion !== undefined) return undefined
  const all = call.parts.registry.versions(type.group).map((v) => call.parts.registry.find(type.group, v, type.plural))
  return new Map(all.filter((s) => s !== undefined).map((s) => [apiVersionOf(s.type), s.schema]))
}

/** Schema and versions as the managedFields machinery wants them. */
export const versioningOf = (call: Call, subresource: string) => ({
  apiVersion: apiVersionOf(call.served.type),
  schema: call.served.schema,
  versions: versionSchemas(call),
  resetFields: resetFields(call.served, subresource),
})

const zeros = new WeakMap<Served, Draft | undefined>()

/** The empty object of a built-in kind. */
export function zeroObject(served: Served): Draft | undefined {
  if (served.custom) return undefined
  let zero = zeros.get(served)
  if (zero === undefined) {
    zero = served.behaviour.decode({}).object
    zeros.set(served, zero)
  }
  return zero
}

export function tracked(call: Call, live: KubeObject | undefined, next: Draft, who: Managing): Draft {
  const managedFields = trackUpdate({
    ...versioningOf(call, who.subresource),
    live: live ?? zeroObject(call.served),
    next,
    manager: who.manager,
    subresource: who.subresource,
    time: who.time,
  })
  return withManagedFields(next, managedFields)
}

function withManagedFields(object: Draft, managedFields: readonly ManagedFieldsEntry[] | undefined): Draft {
  const rest = withoutKeys(object.metadata, ['managedFields'])
  return withMetadata(
    object,
    managedFields === undefined || managedFields.length === 0 ? rest : { ...rest, managedFields },
  )
}
