// Scale and eviction: the two subresources of the fake that are more than a part of the object.
import { coreKind } from '#kube/core-kinds.ts'
import { isObject } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ObjectKey, ResourceType } from '#api/schema/resource.ts'
import type { DeleteOptions, WriteOptions } from '#kube/client.ts'
import { matchesLabels } from '#kube/selector.ts'
import type { LabelSelector } from '#api/schema/labels.ts'
import type { Core } from './core.ts'
import type { Call } from './faults.ts'
import { refuse } from './object-rules.ts'
import { patch, remove } from './writes.ts'

export function scaleOf(core: Core, type: ResourceType, live: KubeObject): KubeObject {
  const { scale } = core.kind(type)
  if (scale === undefined) throw refuse(404, 'the server could not find the requested resource', { kind: type.plural })
  const { managedFields: _m, labels: _l, annotations: _a, ...metadata } = live.metadata
  return {
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata,
    spec: { replicas: numberAt(live, scale.specPath) },
    status: { replicas: scale.statusPath === undefined ? 0 : numberAt(live, scale.statusPath) },
  }
}

const stepsOf = (path: string): readonly string[] => path.replace(/^\./, '').split('.')

function numberAt(object: unknown, path: string): number {
  let at: unknown = object
  for (const step of stepsOf(path)) at = isObject(at) ? at[step] : undefined
  return typeof at === 'number' ? at : 0
}

export function scale(
  core: Core,
  type: ResourceType,
  key: ObjectKey,
  replicas: number,
  options: WriteOptions,
  call: Call | undefined,
): KubeObject {
  const kind = core.kind(type)
  if (kind.scale === undefined)
    throw refuse(404, 'the server could not find the requested resource', { kind: type.plural })
  if (!Number.isInteger(replicas) || replicas < 0)
    throw refuse(
      422,
      `Scale "${key.name}" is invalid: spec.replicas: Invalid value: ${replicas}: must be greater than or equal to 0`,
    )
  const value = stepsOf(kind.scale.specPath).reduceRight<unknown>((inner, step) => ({ [step]: inner }), replicas)
  const { subresource: _, ...rest } = options
  const scaled = patch(core, type, key, { type: 'merge', value: value as { [k: string]: number } }, rest, call)
  return scaleOf(core, type, scaled)
}

const POD = coreKind('Pod')
const BUDGET = coreKind('PodDisruptionBudget')

/** Deletes the pod unless a budget forbids it. The count of a budget is computed from the pods that are there, so no controller is needed. */
export function evict(core: Core, pod: ObjectKey, options: DeleteOptions, call: Call | undefined): void {
  const namespace = pod.namespace ?? 'default'
  const live = core.mustFind(POD, namespace, pod.name)
  if (countsForBudgets(live)) checkBudgets(core, live, namespace)
  remove(core, POD, { namespace, name: pod.name }, options, call)
}

function checkBudgets(core: Core, live: KubeObject, namespace: string): void {
  const binding = inNamespace(core, BUDGET, namespace).filter((b) => selects(b, live))
  if (binding.length > 1)
    throw refuse(
      500,
      'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    )
  const budget = binding[0]
  if (budget === undefined) return
  const allowed = disruptionsAllowed(
    budget,
    inNamespace(core, POD, namespace).filter((p) => selects(budget, p)),
  )
  // Evicting a pod that is not ready does not reduce the healthy ones, as long as the budget itself is met.
  if (allowed > 0 || (allowed === 0 && !isReady(live))) return
  throw refuse(429, "Cannot evict pod as it would violate the pod's disruption budget.", {
    causes: [
      { reason: 'DisruptionBudget', message: `The disruption budget ${budget.metadata.name} does not allow it` },
    ],
  })
}

function inNamespace(core: Core, type: ResourceType, namespace: string): readonly KubeObject[] {
  const kind = core.kinds().find((k) => k.type.kind === type.kind && k.type.group === type.group)
  if (kind === undefined) return []
  return [...core.revisions.objects(`${type.group}/${type.plural}`).values()].filter(
    (o) => o.metadata.namespace === namespace,
  )
}

function selects(budget: KubeObject, pod: KubeObject): boolean {
  const spec = budget['spec']
  const selector = isObject(spec) ? (spec['selector'] as LabelSelector | undefined) : undefined
  return selector !== undefined && matchesLabels(selector, pod.metadata.labels)
}

function countsForBudgets(pod: KubeObject): boolean {
  const status = pod['status']
  const phase = isObject(status) ? status['phase'] : undefined
  return (
    pod.metadata.deletionTimestamp === undefined && phase !== 'Succeeded' && phase !== 'Failed' && phase !== 'Pending'
  )
}

function isReady(pod: KubeObject): boolean {
  const status = pod['status']
  const conditions = isObject(status) && Array.isArray(status['conditions']) ? (status['conditions'] as unknown[]) : []
  return (
    pod.metadata.deletionTimestamp === undefined &&
    conditions.some((c) => isObject(c) && c['type'] === 'Ready' && c['status'] === 'True')
  )
}

/** Below zero when the budget is not met as it is. */
function disruptionsAllowed(budget: KubeObject, pods: readonly KubeObject[]): number {
  const spec = isObject(budget['spec']) ? budget['spec'] : {}
  const expected = pods.length
  const healthy = pods.filter(isReady).length
  const wanted =
    spec['minAvailable'] === undefined
      ? expected - share(spec['maxUnavailable'] ?? 1, expected)
      : share(spec['minAvailable'], expected)
  return healthy - Math.max(0, wanted)
}

/** A count, or a percentage that a server rounds up both ways. */
function share(value: unknown, of: number): number {
  if (typeof value === 'number') return value
  const percent = /^([0-9]{1,3})%$/.exec(String(value))
  return percent === null ? 0 : Math.ceil((Number(percent[1]) * of) / 100)
}
