// Removes KubeNode's taints, labels, annotations and conditions from a Node and keeps all others. Pure.
import { ANNOTATIONS, FIELD_MANAGERS, TAINTS } from '#api/names.ts'
import { fieldsOf, listOf } from '#lib/fields.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { FENCE_ANNOTATION } from '#nodes/fence.ts'

type Map = Readonly<Record<string, unknown>>

const without = <T>(map: Readonly<Record<string, T>>, keys: readonly string[]): Readonly<Record<string, T>> =>
  Object.fromEntries(Object.entries(map).filter(([k]) => !keys.includes(k)))

/** The machine controller's record of what it added. An unreadable record names nothing. */
function ownedKeys(node: KubeObject): Readonly<Record<'labels' | 'annotations' | 'taints', readonly string[]>> {
  let noted: Map = {}
  try {
    noted = fieldsOf(JSON.parse(node.metadata.annotations?.[ANNOTATIONS.owned] ?? '{}'))
  } catch {
    // Then nothing is known to be KubeNode's.
  }
  const texts = (v: unknown) => listOf(v).filter((x) => typeof x === 'string')
  return { labels: texts(noted['labels']), annotations: texts(noted['annotations']), taints: texts(noted['taints']) }
}

const OUR_ANNOTATIONS = [ANNOTATIONS.cordon, ANNOTATIONS.owned, ANNOTATIONS.machineUid, FENCE_ANNOTATION]

/** Undefined if the Node has no KubeNode entries. The status is written separately. */
export function nodeWithoutUs(node: KubeObject): KubeObject | undefined {
  const owned = ownedKeys(node)
  const { labels = {}, annotations = {} } = node.metadata
  const isFencedByUs = annotations[FENCE_ANNOTATION] !== undefined
  const ourTaints: readonly string[] = [
    TAINTS.cordon,
    TAINTS.componentsPending,
    ...(isFencedByUs ? [TAINTS.outOfService] : []),
    ...owned.taints,
  ]
  const spec = fieldsOf(node['spec'])
  const taints = listOf(spec['taints'])
  const leftTaints = taints.filter((t) => !ourTaints.includes(String(fieldsOf(t)['key'])))
  const leftLabels = without(labels, owned.labels)
  const leftAnnotations = without(annotations, [...OUR_ANNOTATIONS, ...owned.annotations])
  const isSame =
    leftTaints.length === taints.length &&
    Object.keys(leftLabels).length === Object.keys(labels).length &&
    Object.keys(leftAnnotations).length === Object.keys(annotations).length
  if (isSame) return undefined
  const { taints: _, ...rest } = spec
  return {
    ...node,
    metadata: { ...node.metadata, labels: leftLabels, annotations: leftAnnotations },
    spec: { ...rest, ...(leftTaints.length > 0 && { taints: leftTaints }) },
  }
}

/** The kubelet reports these; without a kubelet, an agent's entries are meaningless. */
const OF_KUBELET: ReadonlySet<string> = new Set([
  'Ready',
  'MemoryPressure',
  'DiskPressure',
  'PIDPressure',
  'NetworkUnavailable',
])
const OUR_MANAGERS: ReadonlySet<string> = new Set(Object.values(FIELD_MANAGERS))

/** Drops conditions that agents own by managedFields. Undefined if there are none. */
export function statusWithoutUs(node: KubeObject): KubeObject | undefined {
  const ours = new Set(
    (node.metadata.managedFields ?? []).filter((m) => OUR_MANAGERS.has(m.manager ?? '')).flatMap(conditionTypes),
  )
  const status = fieldsOf(node['status'])
  const conditions = listOf(status['conditions'])
  const left = conditions.filter((c) => {
    const type = String(fieldsOf(c)['type'])
    return OF_KUBELET.has(type) || !ours.has(type)
  })
  return left.length === conditions.length ? undefined : { ...node, status: { ...status, conditions: left } }
}

const KEY = /^k:(\{.*\})$/

function conditionTypes({ fieldsV1 }: { readonly fieldsV1?: unknown }): readonly string[] {
  const status = fieldsOf(fieldsOf(fieldsV1)['f:status'])
  return Object.keys(fieldsOf(status['f:conditions'])).flatMap((key) => {
    const [, json] = KEY.exec(key) ?? []
    if (json === undefined) return []
    const { type } = fieldsOf(JSON.parse(json))
    return typeof type === 'string' ? [type] : []
  })
}
