// PATCH in its four formats.
import { assertNever } from '#lib/errors.ts'
import { isDeeperThan, isObject } from '#lib/json.ts'
import { invalid as invalidField } from '../schema/field-error.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { apiVersionOf } from '#api/schema/resource.ts'
import { goText } from '#lib/go-text.ts'
import type { Draft } from '../builtin/kind.ts'
import { goSyntaxError, hasDuplicateKeys, scanDuplicates } from '../codec/json-scan.ts'
import { formatJson, parseJson } from '../codec/json.ts'
import { DecodeError } from '../codec/typed.ts'
import { mediaType, parseYaml, readBody } from '../http/body.ts'
import { writeOptions, type WriteOptions } from '../http/query.ts'
import {
  applyJsonPatch,
  applyMergePatch,
  applyServerSide,
  conflictCauses,
  conflictMessage,
  PatchError,
  strategicMerge,
} from '../machinery.ts'
import type { Served } from '../registry/served.ts'
import {
  badRequest,
  conflict,
  internal,
  invalid,
  nothingServed,
  notFound,
  Refusal,
  tooLarge,
  unprocessable,
  unsupportedPatch,
} from '../status/refusal.ts'
import type { Answer, Call } from './context.ts'
import { checkNames, fieldProblems } from './decode.ts'
import { objectAnswer } from './encode.ts'
import { changeObject } from './change-object.ts'
import { createObject } from './create-object.ts'
import type { Written } from './judge.ts'
import { managing, versioningOf, zeroObject } from './managed.ts'
import { groupResource, placeOf } from './stored-place.ts'

type PatchKind = 'json' | 'merge' | 'strategic' | 'apply'

const KINDS: Readonly<Record<string, PatchKind | undefined>> = {
  'application/json-patch+json': 'json',
  'application/merge-patch+json': 'merge',
  'application/strategic-merge-patch+json': 'strategic',
  'application/apply-patch+yaml': 'apply',
}

/** The language of the patch; refused when this kind does not speak it. */
export function patchKindOf({ request, served }: Pick<Call, 'request' | 'served'>): PatchKind {
  const kind = KINDS[mediaType(request)]
  if (kind === undefined || (kind === 'strategic' && served.custom)) throw unsupportedPatch(served.custom)
  return kind
}

export async function handlePatch(call: Call): Promise<Answer> {
  const kind = patchKindOf(call)
  if (call.path.name === '') throw nothingServed()
  const options = writeOptions(call.query, { options: 'PatchOptions', apply: kind === 'apply' })
  const text = (await readBody(call.request)).toString('utf8')
  const { stored, created } =
    kind === 'apply' ? await apply(call, options, text) : await patch(call, options, { kind, text })
  return objectAnswer(call, created ? 201 : 200, stored)
}

export interface PatchBody {
  readonly kind: Exclude<PatchKind, 'apply'>
  readonly text: string
}

async function patch(call: Call, options: WriteOptions, body: PatchBody): Promise<Written> {
  const { served, path } = call
  const patched = readPatch(body)
  const changed = await changeObject(call, placeOf(served, path.namespace, path.name), {
    options,
    tracking: 'plain',
    managing: managing(call, options, path.subresource),
    subresource: path.subresource,
    next: (old) => patchedObject(call, options, { body, patched, old }),
  })
  if (changed === undefined) throw notFound(groupResource(served), path.name)
  return changed
}

export interface ReadPatch {
  readonly value: unknown
  readonly duplicates: readonly string[]
}

export function readPatch({ kind, text }: PatchBody): ReadPatch {
  let value: unknown
  try {
    value = parseJson(text)
  } catch (e) {
    if (e instanceof SyntaxError) throw badRequest(`error decoding patch: ${goSyntaxError(text) ?? e.message}`)
    throw e
  }
  if (isDeeperThan(value)) throw badRequest('error decoding patch: it is nested too deeply')
  // an empty patch changes nothing
  if (value === null && kind !== 'merge') return { value: kind === 'json' ? [] : {}, duplicates: [] }
  if (value === null) throw badRequest('Invalid JSON Patch')
  if (kind !== 'json' && !isObject(value))
    throw badRequest(
      `error decoding patch: json: cannot unmarshal ${Array.isArray(value) ? 'array' : typeof value} into Go value of type map[string]interface {}`,
    )
  if (kind === 'json' && !Array.isArray(value))
    throw badRequest(
      `error decoding patch: json: cannot unmarshal ${isObject(value) ? 'object' : typeof value} into Go value of type []handlers.jsonPatchOp`,
    )
  return { value, duplicates: hasDuplicateKeys(text, value) ? scanDuplicates(text, parseJson).duplicates : [] }
}

/** The value after the patch, not yet read as an object of the kind. */
export function patchedValue(
  served: Pick<Served, 'schema'>,
  kind: PatchBody['kind'],
  old: unknown,
  value: unknown,
): unknown {
  try {
    switch (kind) {
      case 'json':
        return applyJsonPatch(old, value)
      case 'merge':
        return applyMergePatch(old, value)
      case 'strategic':
        return strategicMerge(served.schema, old, value)
      default:
        return assertNever(kind)
    }
  } catch (e) {
    if (!(e instanceof PatchError)) throw e
    switch (e.kind) {
      case 'NotAPatch':
        throw badRequest(`error decoding patch: ${e.statusMessage}`)
      case 'TooMany':
        throw tooLarge(e.statusMessage)
      case 'DoesNotApply':
        throw unprocessable()
      case 'Internal':
        throw internal(e.statusMessage)
      default:
        return assertNever(e.kind)
    }
  }
}

interface PatchStep {
  readonly body: PatchBody
  readonly patched: ReadPatch
  readonly old: KubeObject
}

function patchedObject(call: Call, options: WriteOptions, { body, patched, old }: PatchStep): Draft {
  const { served, path } = call
  const value = patchedValue(served, body.kind, old, patched.value)
  /** The real server shows the whole result, or for a strategic patch the patch itself. */
  const shown = () => (body.kind === 'strategic' ? goText(patched.value) : formatJson(value))
  const refuse = (detail: string) => invalid({ group: '', kind: '' }, '', [invalidField('patch', shown(), detail)])
  if (!isObject(value)) throw refuse('json: cannot unmarshal non-object')
  const stranger = body.kind === 'strategic' || served.custom ? undefined : strangerOf(call, value)
  if (stranger !== undefined) throw refuse(stranger)
  try {
    const { object, unknownFields } = served.behaviour.decode(value)
    const problems = fieldProblems(patched.duplicates, unknownFields)
    if (problems.length > 0 && options.fieldValidation === 'Strict')
      throw refuse(`strict decoding error: ${problems.join(', ')}`)
    if (options.fieldValidation === 'Warn') for (const p of problems) call.warnings.add(p)
    checkNames(object, served.type.namespaced ? path.namespace : '', path.name)
    return object
  } catch (e) {
    if (e instanceof DecodeError) throw refuse(e.message)
    throw e
  }
}

const SCHEME = 'pkg/runtime/scheme.go:111'

/** A patch must not change the kind of an object. Returns the problem, if it would. */
function strangerOf({ served, parts }: Call, value: Readonly<Record<string, unknown>>): string | undefined {
  const { type } = served
  const kind = String(value['kind'] ?? '') || type.kind
  const apiVersion = String(value['apiVersion'] ?? '') || apiVersionOf(type)
  if (kind === type.kind && apiVersion === apiVersionOf(type)) return undefined
  const known = parts.registry.findKind(apiVersion, kind)
  return known === undefined
    ? `no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion)} in scheme ${JSON.stringify(SCHEME)}`
    : `converting (${apiVersion}.${kind}) to (${apiVersionOf(type)}.${type.kind}): unknown conversion`
}

async function apply(call: Call, options: WriteOptions, text: string): Promise<Written> {
  const { served, path } = call
  const { value, duplicates, error } = await parseYaml(text, call.level.yamlBytes)
  if (error !== undefined) throw badRequest(`error decoding YAML: error converting YAML to JSON: ${error}`)
  if (value !== null && !isObject(value))
    throw badRequest(
      `error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${Array.isArray(value) ? 'array' : typeof value} into Go value of type map[string]interface {}`,
    )
  const applied = value ?? {}
  if (duplicates.length > 0 && options.fieldValidation === 'Strict')
    throw badRequest(
      `error strict decoding YAML: ${duplicates.map((d) => `duplicate field ${JSON.stringify(d)}`).join(', ')}`,
    )
  const who = managing(call, options, path.subresource)
  const changed = await changeObject(call, placeOf(served, path.namespace, path.name), {
    options,
    tracking: 'applied',
    managing: who,
    subresource: path.subresource,
    next: (old) => appliedObject(call, options, { applied: named(applied, path), live: old }),
  })
  if (changed !== undefined) return changed
  if (path.subresource !== '') throw notFound(groupResource(served), path.name)
  return createApplied(call, options, applied)
}

/** A configuration without a name gets that of the object it is applied to, if there is one. */
function named(applied: Record<string, unknown>, { name }: Call['path']): Record<string, unknown> {
  const metadata = isObject(applied['metadata']) ? applied['metadata'] : {}
  return (metadata['name'] ?? '') === '' ? { ...applied, metadata: { ...metadata, name } } : applied
}

async function createApplied(call: Call, options: WriteOptions, applied: Record<string, unknown>): Promise<Written> {
  const { served, path } = call
  const object = appliedObject(call, options, { applied, live: undefined })
  const uid = object.metadata.uid ?? ''
  if (uid !== '')
    throw conflict(
      groupResource(served),
      path.name,
      `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
    )
  return createObject(call, { object, options, tracking: { applied: true }, isUpsert: true })
}

interface ApplyStep {
  readonly applied: Record<string, unknown>
  readonly live: KubeObject | undefined
}

function appliedObject(call: Call, options: WriteOptions, { applied, live }: ApplyStep): Draft {
  const { served, path } = call
  const who = managing(call, options, path.subresource)
  const result = applyServerSide({
    ...versioningOf(call, path.subresource),
    live,
    applied,
    manager: options.fieldManager,
    force: options.force,
    subresource: path.subresource,
    time: who.time,
    kind: served.type.kind,
    zero: zeroObject(served),
  })
  switch (result.kind) {
    case 'Invalid':
      throw result.httpCode === 400 ? badRequest(result.message) : internal(result.message)
    case 'Conflict':
      throw new Refusal({
        message: conflictMessage(result.conflicts),
        reason: 'Conflict',
        details: { causes: conflictCauses(result.conflicts) },
        code: 409,
      })
    case 'Applied':
      break
    default:
      return assertNever(result)
  }
  checkAppliedNames(call, applied)
  try {
    const { object, unknownFields } = served.behaviour.decode(result.object)
    if (options.fieldValidation === 'Strict' && unknownFields.length > 0)
      throw badRequest(`strict decoding error: ${fieldProblems([], unknownFields).join(', ')}`)
    return object
  } catch (e) {
    if (e instanceof DecodeError)
      throw badRequest(
        `${served.type.kind} in version ${JSON.stringify(served.type.version)} cannot be handled as a ${served.type.kind}: ${e.message}`,
      )
    throw e
  }
}

function checkAppliedNames({ served, path }: Call, applied: Record<string, unknown>): void {
  const metadata = isObject(applied['metadata']) ? applied['metadata'] : {}
  checkNames({ metadata } as unknown as KubeObject, served.type.namespaced ? path.namespace : '', path.name)
}
