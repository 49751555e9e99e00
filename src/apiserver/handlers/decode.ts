// From the body of a create or an update to an object of the right kind, with the strictness that the client asked for.
import { apiVersionOf } from '#api/schema/resource.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { Draft } from '../builtin/kind.ts'
import { formatJson } from '../codec/json.ts'
import { DecodeError } from '../codec/typed.ts'
import type { ReadObject } from '../http/body.ts'
import type { FieldValidation } from '../http/query.ts'
import type { Registry } from '../registry/registry.ts'
import type { Served } from '../registry/served.ts'
import { badRequest } from '../status/refusal.ts'

const SCHEME = 'k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30'
const SHOWN_CHARACTERS = 30
/** More warnings than this help no user and overflow headers. */
const MAX_FIELD_WARNINGS = 100

export interface DecodeCall {
  readonly served: Served
  readonly registry: Registry
  readonly validation: FieldValidation
  readonly warnings: Set<string>
}

export function decodeObject(call: DecodeCall, { value, duplicates }: ReadObject): Draft {
  const { served } = call
  const given = value ?? {}
  checkKind(call, given)
  const wrap = (detail: string) => badRequest(`${handledAs(served, given)}: ${detail}`)
  try {
    const { object, unknownFields } = served.behaviour.decode(given)
    const problems = fieldProblems(duplicates, unknownFields)
    if (problems.length > 0 && call.validation === 'Strict') throw wrap(`strict decoding error: ${problems.join(', ')}`)
    if (call.validation === 'Warn') for (const p of problems.slice(0, MAX_FIELD_WARNINGS)) call.warnings.add(p)
    return object
  } catch (e) {
    if (e instanceof DecodeError) throw wrap(e.message)
    throw e
  }
}

export const fieldProblems = (duplicates: readonly string[], unknownFields: readonly string[]): readonly string[] => [
  ...duplicates.map((d) => `duplicate field ${JSON.stringify(d)}`),
  ...unknownFields.map((u) => `unknown field ${JSON.stringify(u)}`),
]

function handledAs(served: Served, given: { readonly [field: string]: unknown }): string {
  const kind = typeof given['kind'] === 'string' && given['kind'] !== '' ? given['kind'] : served.type.kind
  const apiVersion =
    typeof given['apiVersion'] === 'string' && given['apiVersion'] !== ''
      ? given['apiVersion']
      : apiVersionOf(served.type)
  const version = apiVersion.slice(apiVersion.lastIndexOf('/') + 1)
  return `${kind} in version ${JSON.stringify(version)} cannot be handled as a ${served.type.kind}`
}

function checkKind({ served, registry }: DecodeCall, given: { readonly [field: string]: unknown }): void {
  const { kind, apiVersion } = given
  const wanted = apiVersionOf(served.type)
  if (served.custom) return checkCustomKind(served, given)
  if (
    (kind === undefined || kind === '' || kind === served.type.kind) &&
    (apiVersion === undefined || apiVersion === '' || apiVersion === wanted)
  )
    return
  if (typeof (kind ?? '') !== 'string' || typeof (apiVersion ?? '') !== 'string')
    throw badRequest(
      `${handledAs(served, {})}: json: cannot unmarshal non-string into Go struct field TypeMeta of type string`,
    )
  const asKind = String(kind ?? '') || served.type.kind
  const asVersion = String(apiVersion ?? '') || wanted
  const known = registry.findKind(asVersion, asKind)
  if (known === undefined)
    throw badRequest(
      `${handledAs(served, given)}: no kind ${JSON.stringify(asKind)} is registered for version ${JSON.stringify(asVersion)} in scheme ${JSON.stringify(SCHEME)}`,
    )
  if (known.type.kind === served.type.kind)
    throw badRequest(`the API version in the data (${asVersion}) does not match the expected API version (${wanted})`)
  throw badRequest(
    `${handledAs(served, given)}: converting (${asVersion.replace('/', '')}.${asKind}) to (${served.type.group || 'core'}.${served.type.kind}): unknown conversion`,
  )
}

/** Validation finds another kind; a body that is no object of this version at all is refused here. */
function checkCustomKind(served: Served, given: { readonly [field: string]: unknown }): void {
  const { kind, apiVersion } = given
  const wanted = apiVersionOf(served.type)
  if (typeof kind !== 'string' || kind === '') {
    const body = formatJson(given)
    const shown = body.length <= SHOWN_CHARACTERS ? body : `${body.slice(0, SHOWN_CHARACTERS)} ...`
    throw badRequest(
      `the object provided is unrecognized (must be of type ${served.type.kind}): Object 'Kind' is missing in '${body}' (${shown})`,
    )
  }
  if (apiVersion !== wanted)
    throw badRequest(
      `the API version in the data (${typeof apiVersion === 'string' ? apiVersion : ''}) does not match the expected API version (${wanted})`,
    )
}

/** Names and namespaces of the body must be those of the path. */
export function checkNames(object: KubeObject, namespace: string, name: string | undefined): void {
  const meta = object.metadata
  if (name !== undefined) {
    if ((meta.name ?? '') === '')
      throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`)
    if (meta.name !== name)
      throw badRequest(`the name of the object (${meta.name}) does not match the name on the URL (${name})`)
  }
  if ((meta.namespace ?? '') !== '' && meta.namespace !== namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request')
}
