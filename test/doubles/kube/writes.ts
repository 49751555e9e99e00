// Every write of the fake API as a synchronous function: check, compute the next object, commit (or not, on a dry run).
import { timestamp } from '#lib/clock.ts'
import { cloneJson, isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { type ObjectKey, type ResourceType } from '#api/schema/resource.ts'
import type { ApplyOptions, DeleteOptions, Patch, WriteOptions } from '#kube/client.ts'
import type { Core } from './core.ts'
import type { Call } from './faults.ts'
import type { FakeKind } from './kinds.ts'
import {
  alreadyExists,
  checkConcurrency,
  checkKind,
  checkName,
  conflict,
  created,
  generatedName,
  invalid,
  isSame,
  refuse,
  updated,
} from './object-rules.ts'
import { appliedObject, checkSchema, patchedObject, trackedObject } from './patching.ts'

/** A server tries that often to find a free name. */
const GENERATE_TRIES = 8
/** A pod's default grace period. */
const DEFAULT_GRACE_SECONDS = 30

const managerOf = (options: WriteOptions): string => options.fieldManager ?? 'kubenode'

export function create(
  core: Core,
  type: ResourceType,
  object: unknown,
  options: WriteOptions,
  call: Call | undefined,
): KubeObject {
  const kind = core.kind(type)
  checkKind(type, object)
  const input = cloneJson(object)
  if (input.metadata?.resourceVersion) throw refuse(400, 'resourceVersion should not be set on objects to be created')
  const namespace = namespaceOf(type, input)
  const name = newName(core, type, namespace, input)
  checkName(type, name)
  if (core.find(type, namespace, name) !== undefined) throw alreadyExists(type, name)
  const time = timestamp(core.clock.now())
  const fresh = checkSchema(kind, created(kind, input, { uid: core.uid(), time, name, namespace }), undefined)
  const tracked = trackedObject(kind, undefined, fresh, { manager: managerOf(options), subresource: undefined, time })
  return options.dryRun ? tracked : core.commit(kind, 'ADDED', tracked, call)
}

function namespaceOf(type: ResourceType, input: KubeObject): string | undefined {
  const namespace = input.metadata?.namespace
  if (!type.namespaced) {
    if (namespace) throw refuse(400, 'namespace should not be set on a cluster-scoped object')
    return undefined
  }
  return namespace === undefined || namespace === '' ? 'default' : namespace
}

function newName(core: Core, type: ResourceType, namespace: string | undefined, input: KubeObject): string {
  const { name, generateName } = input.metadata ?? {}
  if (name) return name
  if (!generateName)
    throw invalid(type, '', [
      {
        field: 'metadata.name',
        message: 'Required value: name or generateName is required',
        reason: 'FieldValueRequired',
      },
    ])
  for (let i = 0; i < GENERATE_TRIES; i++) {
    const candidate = generatedName(generateName, (n) => core.random.below(n))
    if (core.find(type, namespace, candidate) === undefined) return candidate
  }
  throw alreadyExists(type, generateName)
}

/** Unconditional PUTs are refused for custom resources by a real server, and by us for every kind: we never want one. */
export function update(
  core: Core,
  type: ResourceType,
  object: unknown,
  options: WriteOptions,
  call: Call | undefined,
): KubeObject {
  const kind = core.kind(type)
  checkKind(type, object)
  const input = cloneJson(object)
  checkSubresource(kind, options.subresource)
  const name = input.metadata?.name ?? ''
  const live = core.mustFind(type, type.namespaced ? namespaceOf(type, input) : undefined, name)
  checkConcurrency(type, live, input)
  if (!input.metadata.resourceVersion)
    throw invalid(type, name, [
      { field: 'metadata.resourceVersion', message: 'Invalid value: 0: must be specified for an update' },
    ])
  return put(core, kind, live, input, options, call)
}

export function patch(
  core: Core,
  type: ResourceType,
  key: ObjectKey,
  change: Patch,
  options: WriteOptions,
  call: Call | undefined,
): KubeObject {
  const kind = core.kind(type)
  checkSubresource(kind, options.subresource)
  const live = core.mustFind(type, namespaceOfKey(type, key), key.name)
  const next = patchedObject(kind, live, cloneJson(change))
  checkKind(type, next)
  if (next.metadata?.name !== key.name) throw refuse(400, 'the name of the object does not match the name on the URL')
  checkConcurrency(type, live, next)
  return put(core, kind, live, next, options, call)
}

const namespaceOfKey = (type: ResourceType, key: ObjectKey): string | undefined =>
  type.namespaced ? (key.namespace ?? 'default') : undefined

function checkSubresource(kind: FakeKind, subresource: string | undefined): void {
  if (subresource === undefined || (subresource === 'status' && kind.status)) return
  if (subresource === 'approval' && kind.type.kind === 'CertificateSigningRequest') return
  throw refuse(404, 'the server could not find the requested resource', {
    kind: kind.type.plural,
    group: kind.type.group,
  })
}

/** Shared by PUT and PATCH; the input is ours already and is a whole object. */
function put(
  core: Core,
  kind: FakeKind,
  live: KubeObject,
  input: KubeObject,
  options: WriteOptions,
  call: Call | undefined,
): KubeObject {
  const next = checkSchema(kind, updated(kind, live, input, options.subresource), live)
  const tracked = trackedObject(kind, live, next, {
    manager: managerOf(options),
    subresource: options.subresource,
    time: timestamp(core.clock.now()),
  })
  return store(core, kind, live, tracked, options.dryRun === true, call)
}

/** Commits when something changed; an object that lost its last finalizer while being deleted is removed. */
function store(
  core: Core,
  kind: FakeKind,
  live: KubeObject,
  next: KubeObject,
  dryRun: boolean,
  call: Call | undefined,
): KubeObject {
  if (isSame(live, next)) return live
  if (dryRun) return next
  const isDone =
    next.metadata.deletionTimestamp !== undefined &&
    (next.metadata.finalizers ?? []).length === 0 &&
    (next.metadata.deletionGracePeriodSeconds ?? 0) === 0
  return core.commit(kind, isDone ? 'DELETED' : 'MODIFIED', next, call)
}

export function apply(
  core: Core,
  type: ResourceType,
  object: unknown,
  options: ApplyOptions,
  call: Call | undefined,
): KubeObject {
  const kind = core.kind(type)
  checkKind(type, object)
  const input = cloneJson(object)
  checkSubresource(kind, options.subresource)
  const name = input.metadata?.name ?? ''
  checkName(type, name)
  if (input.metadata.managedFields !== undefined) throw refuse(400, 'metadata.managedFields must be nil')
  const namespace = namespaceOf(type, input)
  const live = core.find(type, namespace, name)
  if (live === undefined) return applyNew(core, kind, input, namespace, options, call)
  checkConcurrency(type, live, input)
  const merged = appliedObject(kind, live, input, options, timestamp(core.clock.now()))
  const next = withManagers(checkSchema(kind, updated(kind, live, merged, options.subresource), live), merged)
  return store(core, kind, live, next, options.dryRun === true, call)
}

/** An apply that gives up its last field leaves no entry, so the list may disappear. */
function withManagers(object: KubeObject, from: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata
  const { managedFields } = from.metadata
  return { ...object, metadata: managedFields === undefined ? metadata : { ...metadata, managedFields } }
}

function applyNew(
  core: Core,
  kind: FakeKind,
  input: KubeObject,
  namespace: string | undefined,
  options: ApplyOptions,
  call: Call | undefined,
): KubeObject {
  const type = kind.type
  const name = input.metadata.name ?? ''
  if (options.subresource !== undefined)
    throw refuse(404, `${type.plural} "${name}" not found`, { name, kind: type.plural })
  if (input.metadata.uid || input.metadata.resourceVersion)
    throw conflict(
      type,
      name,
      `uid mismatch: the provided object specified uid or resourceVersion, and no existing object was found`,
    )
  const time = timestamp(core.clock.now())
  const merged = appliedObject(kind, undefined, input, options, time)
  const fresh = checkSchema(kind, created(kind, merged, { uid: core.uid(), time, name, namespace }), undefined)
  return options.dryRun ? fresh : core.commit(kind, 'ADDED', fresh, call)
}

/** The remaining object (with finalizers or grace), or undefined when it was deleted at once. */
export function remove(
  core: Core,
  type: ResourceType,
  key: ObjectKey,
  options: DeleteOptions,
  call: Call | undefined,
): KubeObject | undefined {
  const kind = core.kind(type)
  const live = core.mustFind(type, namespaceOfKey(type, key), key.name)
  checkPreconditions(type, live, options)
  const finalizers = finalizersFor(live, options.propagationPolicy)
  const grace = graceSeconds(type, live, options.gracePeriodSeconds)
  if (finalizers.length === 0 && grace === 0) {
    if (!options.dryRun) core.commit(kind, 'DELETED', live, call)
    return undefined
  }
  const already = live.metadata.deletionTimestamp !== undefined
  const shortened = already && grace < (live.metadata.deletionGracePeriodSeconds ?? 0)
  const meta = {
    ...live.metadata,
    finalizers,
    ...(already && !shortened
      ? {}
      : {
          deletionTimestamp: timestamp(core.clock.now() + grace * 1_000),
          deletionGracePeriodSeconds: grace,
          generation: (live.metadata.generation ?? 0) + (already ? 0 : 1),
        }),
  }
  if (finalizers.length === 0) Reflect.deleteProperty(meta, 'finalizers')
  return store(core, kind, live, { ...live, metadata: meta }, options.dryRun === true, call)
}

function checkPreconditions(type: ResourceType, live: KubeObject, { preconditions }: DeleteOptions): void {
  const { uid, resourceVersion } = preconditions ?? {}
  const name = live.metadata.name ?? ''
  if (uid !== undefined && uid !== live.metadata.uid)
    throw conflict(
      type,
      name,
      `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${live.metadata.uid}`,
    )
  if (resourceVersion !== undefined && resourceVersion !== live.metadata.resourceVersion)
    throw conflict(
      type,
      name,
      `Precondition failed: ResourceVersion in precondition: ${resourceVersion}, ResourceVersion in object meta: ${live.metadata.resourceVersion}`,
    )
}

function finalizersFor(live: KubeObject, policy: DeleteOptions['propagationPolicy']): readonly string[] {
  const had = (live.metadata.finalizers ?? []).filter((f) => f !== 'orphan' && f !== 'foregroundDeletion')
  if (policy === undefined) return live.metadata.finalizers ?? []
  if (policy === 'Foreground') return [...had, 'foregroundDeletion']
  return policy === 'Orphan' ? [...had, 'orphan'] : had
}

/** Only a pod on a node ends gently: its kubelet finishes it with a second delete of grace 0. */
function graceSeconds(type: ResourceType, live: KubeObject, asked: number | undefined): number {
  const spec = live['spec']
  if (type.group !== '' || type.kind !== 'Pod' || !isObject(spec) || !spec['nodeName']) return 0
  const own = spec['terminationGracePeriodSeconds']
  return asked ?? (typeof own === 'number' ? own : DEFAULT_GRACE_SECONDS)
}
