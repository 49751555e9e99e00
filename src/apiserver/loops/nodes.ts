// Node lifecycle: a node whose lease has not been renewed becomes Unknown and is tainted; taints follow its conditions.
// When most are silent at once it is the network, and nothing is tainted for eviction.
import { timestamp } from '#lib/clock.ts'
import { isObject, jsonEqual } from '#lib/json.ts'
import type { KubeObject } from '#schema/object.ts'
import type { ServerParts } from '../handlers/context.ts'
import { storeObject } from '../storage/internal-write.ts'

/** As the real node lifecycle controller has it. */
const GRACE_MS = 50_000
/** Of all nodes; above it many silent nodes are a network problem. */
const MOST = 0.55
const UNREACHABLE = 'node.kubernetes.io/unreachable'
const NOT_READY = 'node.kubernetes.io/not-ready'
const UNSCHEDULABLE = 'node.kubernetes.io/unschedulable'
const OWN = new Set([UNREACHABLE, NOT_READY, UNSCHEDULABLE])

type Fields = Readonly<Record<string, unknown>>
const fields = (v: unknown): Fields => (isObject(v) ? v : {})
const listOf = (v: unknown): readonly Fields[] => (Array.isArray(v) ? v.filter(isObject) : [])
const conditionsOf = (o: KubeObject): readonly Fields[] => listOf(fields(o['status'])['conditions'])
const readyOf = (o: KubeObject): string =>
  String(conditionsOf(o).find((c) => c['type'] === 'Ready')?.['status'] ?? 'Unknown')

/** When a node was last heard of: its lease, or its own heartbeat. */
function lastSeen({ store }: ServerParts, node: KubeObject): number {
  const name = node.metadata.name ?? ''
  const lease = store.get({ resource: 'coordination.k8s.io/leases', namespace: 'kube-node-lease', name })?.value
  const renewed = Date.parse(String(fields(lease?.['spec'])['renewTime'] ?? ''))
  const ready = conditionsOf(node).find((c) => c['type'] === 'Ready')
  const beaten = Date.parse(String(ready?.['lastHeartbeatTime'] ?? ''))
  const born = Date.parse(node.metadata.creationTimestamp ?? '')
  return Math.max(...[renewed, beaten, born].filter((t) => !Number.isNaN(t)))
}

export async function watchNodes(parts: ServerParts): Promise<void> {
  const now = parts.clock.now()
  const nodes = Array.from(parts.store.collection('/nodes').list(undefined), (s) => s.value)
  // a node that never said it was ready has no kubelet that could fall silent
  const silent = new Set(
    nodes
      .filter((n) => conditionsOf(n).some((c) => c['type'] === 'Ready') && now - lastSeen(parts, n) > GRACE_MS)
      .map((n) => n.metadata.name),
  )
  const widespread = silent.size / Math.max(1, nodes.length) > MOST && silent.size > 1
  for (const n of nodes) {
    const at = { resource: '/nodes', namespace: '', name: n.metadata.name ?? '' }
    await storeObject(parts.store, at, (o) => {
      const heard = silent.has(o.metadata.name) ? unheard(o, now) : o
      return tainted(heard, now, !widespread)
    })
  }
}

const REPORTED = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure']

function unheard(o: KubeObject, now: number): KubeObject {
  const conditions = conditionsOf(o)
  if (!conditions.some((c) => REPORTED.includes(String(c['type'])) && c['status'] !== 'Unknown')) return o
  const next = conditions.map((c) =>
    REPORTED.includes(String(c['type'])) && c['status'] !== 'Unknown'
      ? {
          ...c,
          status: 'Unknown',
          reason: 'NodeStatusUnknown',
          message: 'Kubelet stopped posting node status.',
          lastTransitionTime: timestamp(now),
        }
      : c,
  )
  return { ...o, status: { ...fields(o['status']), conditions: next } }
}

function tainted(o: KubeObject, now: number, evicts: boolean): KubeObject {
  const spec = fields(o['spec'])
  const before = listOf(spec['taints'])
  const ready = readyOf(o)
  const wanted: Fields[] = []
  const key = ready === 'True' ? undefined : ready === 'False' || conditionsOf(o).length === 0 ? NOT_READY : UNREACHABLE
  if (key !== undefined) {
    wanted.push({ key, effect: 'NoSchedule' })
    // a node that has not reported yet is only kept from new pods
    if (evicts && conditionsOf(o).length > 0) wanted.push({ key, effect: 'NoExecute' })
  }
  if (spec['unschedulable'] === true) wanted.push({ key: UNSCHEDULABLE, effect: 'NoSchedule' })
  const kept = before.filter((t) => !OWN.has(String(t['key'])) || wanted.some((w) => same(w, t)))
  const added = wanted.filter((w) => !before.some((t) => same(w, t))).map((w) => ({ ...w, timeAdded: timestamp(now) }))
  const taints = [...kept, ...added]
  if (jsonEqual(taints, before)) return o
  const { taints: _, ...rest } = spec
  return { ...o, spec: taints.length === 0 ? rest : { ...rest, taints } }
}

const same = (a: Fields, b: Fields): boolean => a['key'] === b['key'] && a['effect'] === b['effect']
