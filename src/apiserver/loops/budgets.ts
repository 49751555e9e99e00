// The status of pod disruption budgets: how many pods are expected and healthy, and how many may be disturbed.
import { timestamp } from '#lib/clock.ts'
import { isObject, jsonEqual } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { ServerParts } from '../handlers/context.ts'
import { selectorMatcher } from '../selectors/label-selector.ts'
import type { LabelSelector } from '#api/schema/labels.ts'
import { storeObject } from '../storage/internal-write.ts'

/** A disrupted pod that still exists after this counts again. */
const DISRUPTION_MS = 2 * 60_000

type Fields = Readonly<Record<string, unknown>>
const fields = (v: unknown): Fields => (isObject(v) ? v : {})
const listOf = (v: unknown): readonly Fields[] => (Array.isArray(v) ? v.filter(isObject) : [])

export async function countBudgets(parts: ServerParts): Promise<void> {
  const { store, clock } = parts
  for (const s of store.collection('policy/poddisruptionbudgets').snapshot()) {
    const matcher = selectorMatcher(fields(s.value['spec'])['selector'] as LabelSelector | undefined)
    const pods = Array.from(store.collection('/pods').list(s.namespace), (p) => p.value).filter(
      (p) => matcher(p.metadata.labels) && isActive(p),
    )
    await storeObject(store, s, (b) => counted(b, pods, expectedOf(parts, pods), clock.now()))
  }
}

const isActive = (p: KubeObject): boolean => !['Succeeded', 'Failed'].includes(String(fields(p['status'])['phase']))
const isReady = (p: KubeObject): boolean =>
  listOf(fields(p['status'])['conditions']).some((c) => c['type'] === 'Ready' && c['status'] === 'True')

/** The replicas that the controllers of the pods want, as far as known; else the existing pods. */
function expectedOf({ store, registry }: ServerParts, pods: readonly KubeObject[]): number {
  let expected = 0
  const seen = new Set<string>()
  for (const p of pods) {
    const owner = (p.metadata.ownerReferences ?? []).find((o) => o.controller === true)
    const served = owner === undefined ? undefined : registry.findKind(owner.apiVersion, owner.kind)
    if (owner === undefined || served === undefined) {
      expected++
      continue
    }
    if (seen.has(owner.uid)) continue
    seen.add(owner.uid)
    const found = store.get({
      resource: served.resource,
      namespace: p.metadata.namespace ?? '',
      name: owner.name,
    })?.value
    const replicas = fields(found?.['spec'])['replicas']
    expected +=
      typeof replicas === 'number'
        ? replicas
        : pods.filter((q) => (q.metadata.ownerReferences ?? []).some((o) => o.uid === owner.uid)).length
  }
  return expected
}

/** Percentages of the wanted are rounded up: towards keeping pods. */
function amount(value: unknown, of: number): number {
  if (typeof value === 'number') return value
  const percent = Number.parseInt(String(value), 10)
  return Math.ceil((percent * of) / 100)
}

function counted(b: KubeObject, pods: readonly KubeObject[], expected: number, now: number): KubeObject {
  const spec = fields(b['spec'])
  const before = fields(b['status'])
  const going = Object.entries(fields(before['disruptedPods'])).filter(([name, at]) => {
    const pod = pods.find((p) => p.metadata.name === name)
    return (
      pod !== undefined && pod.metadata.deletionTimestamp === undefined && now - Date.parse(String(at)) < DISRUPTION_MS
    )
  })
  const leaving = new Set(going.map(([name]) => name))
  const healthy = pods.filter(
    (p) => isReady(p) && p.metadata.deletionTimestamp === undefined && !leaving.has(p.metadata.name ?? ''),
  ).length
  const desired =
    spec['maxUnavailable'] !== undefined
      ? Math.max(0, expected - amount(spec['maxUnavailable'], expected))
      : amount(spec['minAvailable'] ?? 1, expected)
  const allowed = expected === 0 ? 0 : Math.max(0, healthy - desired)
  const sufficient = allowed > 0
  const conditions = listOf(before['conditions'])
  const old = conditions.find((c) => c['type'] === 'DisruptionAllowed')
  const state = sufficient ? 'True' : 'False'
  const condition = {
    type: 'DisruptionAllowed',
    status: state,
    observedGeneration: b.metadata.generation ?? 0,
    lastTransitionTime: old?.['status'] === state ? old['lastTransitionTime'] : timestamp(now),
    reason: sufficient ? 'SufficientPods' : 'InsufficientPods',
    message: '',
  }
  const status = {
    ...(going.length === 0 ? {} : { disruptedPods: Object.fromEntries(going) }),
    observedGeneration: b.metadata.generation ?? 0,
    disruptionsAllowed: allowed,
    currentHealthy: healthy,
    desiredHealthy: desired,
    expectedPods: expected,
    conditions: [...conditions.filter((c) => c !== old), condition],
  }
  return jsonEqual(status, before) ? b : { ...b, status }
}
