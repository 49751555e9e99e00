// The scale subresource: a replica count read and set the same way for every kind that has one.
import { isObject } from '#lib/json.ts'
import { invalid as invalidField } from '../schema/field-error.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { Draft, ScalePaths } from '../builtin/kind.ts'
import { jsonPathReader } from '../crd/json-path.ts'
import type { Answer, Call, Handler } from '../handlers/context.ts'
import { convertedView, encoded } from '../handlers/encode.ts'
import { patchedValue, patchKindOf, readPatch } from '../handlers/patch.ts'
import { changeObject } from '../handlers/change-object.ts'
import { managing } from '../handlers/managed.ts'
import { groupResource, placeOf } from '../handlers/stored-place.ts'
import { readBody, readSent } from '../http/body.ts'
import { writeOptions, type WriteOptions } from '../http/query.ts'
import { conflictCauses, conflictMessage, hasPath, type FieldSet } from '../machinery.ts'
import { selectorText } from '../selectors/label-selector.ts'
import {
  badRequest,
  conflict,
  internal,
  internalError,
  invalid,
  MODIFIED,
  notFound,
  Refusal,
} from '../status/refusal.ts'

interface Scale {
  readonly kind: 'Scale'
  readonly apiVersion: 'autoscaling/v1'
  readonly metadata: Readonly<Record<string, unknown>>
  readonly spec: { readonly replicas?: number }
  readonly status: { readonly replicas: number; readonly selector?: string }
}

function scaleOf(object: KubeObject, paths: ScalePaths, custom: boolean): Scale {
  const one = (path: string | undefined): unknown => (path === undefined ? undefined : jsonPathReader(path)(object)[0])
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata
  const replicas = one(paths.specReplicasPath)
  if (custom && typeof replicas !== 'number')
    throw internalError(`the spec replicas field ${JSON.stringify(paths.specReplicasPath)} does not exist`)
  const selector = one(paths.labelSelectorPath)
  const text = typeof selector === 'string' ? selector : isObject(selector) ? selectorText(selector) : ''
  const status = one(paths.statusReplicasPath)
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, ...(namespace === undefined ? {} : { namespace }), uid, resourceVersion, creationTimestamp },
    // zero is left out, as everywhere
    spec: typeof replicas === 'number' && replicas !== 0 ? { replicas } : {},
    status: { replicas: typeof status === 'number' ? status : 0, ...(text === '' ? {} : { selector: text }) },
  }
}

function pathsOf({ served }: Call): ScalePaths {
  const { scale } = served
  if (scale === undefined) throw internal('the kind has no scale')
  return scale
}

async function get(call: Call): Promise<Answer> {
  const { served, path, parts } = call
  const stored = parts.store.get(placeOf(served, path.namespace, path.name))
  if (stored === undefined) throw notFound(groupResource(served), path.name)
  return encoded(call, 200, scaleOf(await convertedView(served, stored), pathsOf(call), served.custom))
}

async function update(call: Call): Promise<Answer> {
  const options = writeOptions(call.query, { options: 'UpdateOptions', apply: false })
  const { value } = await readSent(call, 'Scale')
  return change(call, options, () => value ?? {})
}

async function patch(call: Call): Promise<Answer> {
  const kind = patchKindOf(call)
  const options = writeOptions(call.query, { options: 'PatchOptions', apply: kind === 'apply' })
  const text = (await readBody(call.request)).toString('utf8')
  const language = kind === 'apply' ? 'merge' : kind
  const read = readPatch({ kind: language, text })
  if (kind === 'apply') checkApplied(read.value)
  return change(call, options, (old, object) => {
    if (kind === 'apply' && !options.force)
      refuseConflicts(call, options.fieldManager, { old, object, applied: read.value })
    const next = patchedValue({ schema: {} }, language, old, read.value)
    return isObject(next) ? next : {}
  })
}

/** What is applied must say that it is a scale. */
function checkApplied(value: unknown): void {
  const applied = isObject(value) ? value : {}
  const [apiVersion, kind] = [String(applied['apiVersion'] ?? ''), String(applied['kind'] ?? '')]
  if (apiVersion !== 'autoscaling/v1' || kind !== 'Scale')
    throw badRequest(`invalid object type: ${apiVersion.includes('/') ? '' : '/'}${apiVersion}, Kind=${kind}`)
}

interface AppliedScale {
  readonly old: Scale
  readonly object: KubeObject
  readonly applied: unknown
}

/** Setting another count does not take ownership from its previous manager. */
function refuseConflicts(call: Call, manager: string, { old, object, applied }: AppliedScale): void {
  const spec = isObject(applied) && isObject(applied['spec']) ? applied['spec'] : {}
  if (spec['replicas'] === undefined || spec['replicas'] === (old.spec.replicas ?? 0)) return
  const path = ['f:spec', 'f:replicas']
  const stored = pathsOf(call)
    .specReplicasPath.split('.')
    .filter((s) => s !== '')
    .map((s) => `f:${s}`)
  const conflicts = (object.metadata.managedFields ?? [])
    .filter((m) => m.manager !== manager && hasPath(m.fieldsV1 as FieldSet, stored))
    .map((m) => ({
      manager: m.manager ?? '',
      operation: m.operation === 'Apply' ? ('Apply' as const) : ('Update' as const),
      apiVersion: 'autoscaling/v1',
      subresource: m.subresource ?? '',
      path,
      field: '.spec.replicas',
    }))
  if (conflicts.length > 0)
    throw new Refusal({
      message: conflictMessage(conflicts),
      reason: 'Conflict',
      details: { causes: conflictCauses(conflicts) },
      code: 409,
    })
}

async function change(
  call: Call,
  options: WriteOptions,
  next: (old: Scale, object: KubeObject) => Readonly<Record<string, unknown>>,
): Promise<Answer> {
  const { served, path } = call
  const paths = pathsOf(call)
  const changed = await changeObject(call, placeOf(served, path.namespace, path.name), {
    options,
    tracking: 'plain',
    managing: managing(call, options, 'scale'),
    subresource: 'scale',
    next: (old) => withReplicas(call, old, next(scaleOf(old, paths, false), old)),
  })
  if (changed === undefined) throw notFound(groupResource(served), path.name)
  return encoded(call, 200, scaleOf(await convertedView(served, changed.stored), paths, served.custom))
}

function withReplicas(call: Call, old: KubeObject, scale: Readonly<Record<string, unknown>>): Draft {
  const { served, path } = call
  const meta = isObject(scale['metadata']) ? scale['metadata'] : {}
  const spec = isObject(scale['spec']) ? scale['spec'] : {}
  const replicas = spec['replicas'] ?? 0
  const name = meta['name'] ?? ''
  if (name !== path.name)
    throw badRequest(
      name === ''
        ? `the name of the object (${path.name} based on URL) was undeterminable: name must be provided`
        : `the name of the object (${String(name)}) does not match the name on the URL (${path.name})`,
    )
  if (typeof replicas !== 'number' || !Number.isInteger(replicas))
    throw badRequest(
      `Scale in version "v1" cannot be handled as a Scale: json: cannot unmarshal ${typeof replicas} into Go struct field ScaleSpec.spec.replicas of type int32`,
    )
  if (replicas < 0)
    throw invalid({ group: 'autoscaling', kind: 'Scale' }, path.name, [
      invalidField('spec.replicas', replicas, 'must be greater than or equal to 0'),
    ])
  const asked = meta['resourceVersion'] ?? ''
  if (asked !== '' && asked !== old.metadata.resourceVersion) throw conflict(groupResource(served), path.name, MODIFIED)
  const steps = pathsOf(call)
    .specReplicasPath.split('.')
    .filter((s) => s !== '')
  return withValue(old, steps, replicas) as Draft
}

function withValue(object: unknown, [step, ...rest]: readonly string[], value: unknown): unknown {
  if (step === undefined) return value
  const map = isObject(object) ? object : {}
  return { ...map, [step]: withValue(map[step], rest, value) }
}

export const scaleHandlers: Readonly<Record<string, Handler>> = { get, update, patch }
