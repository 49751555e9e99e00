// What the Node of a machine shall look like: labels and taints that its Machine declares, and no others of ours. Keys of other people are never touched. Pure.
import { ANNOTATIONS, LABELS, TAINTS } from '#api/names.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { isObject, jsonEqual } from '#lib/json.ts'
import type { Node, Taint } from '#nodeops/objects.ts'
import type { Mutation } from '#runtime/compare-and-swap.ts'

interface OwnedKeys {
  readonly labels: readonly string[]
  /** `key:effect`. */
  readonly taints: readonly string[]
}

const taintId = (t: Pick<Taint, 'key' | 'effect'>): string => `${t.key}:${t.effect}`

export function wantedLabels({ spec }: Machine): Readonly<Record<string, string>> {
  const { pool, zone, rack, class: hardware } = spec
  return {
    ...(pool !== undefined && { [LABELS.pool]: pool }),
    ...(zone !== undefined && { [LABELS.zone]: zone }),
    ...(rack !== undefined && { [LABELS.rack]: rack }),
    ...(hardware !== undefined && { [LABELS.class]: hardware }),
    ...spec.labels,
  }
}

/** Taints with a life of their own: a Machine cannot declare them. */
const RESERVED: ReadonlySet<string> = new Set<string>([TAINTS.cordon, TAINTS.componentsPending, TAINTS.outOfService])

const wantedTaints = ({ spec }: Machine): readonly Taint[] => (spec.taints ?? []).filter((t) => !RESERVED.has(t.key))

/** What we put there earlier. What cannot be read was not ours: then nothing is taken away. */
function ownedKeys(node: Node): OwnedKeys {
  const text = node.metadata.annotations?.[ANNOTATIONS.owned]
  const value = text === undefined ? undefined : parsed(text)
  const list = (v: unknown): readonly string[] => (Array.isArray(v) ? v.filter((x) => typeof x === 'string') : [])
  return isObject(value) ? { labels: list(value['labels']), taints: list(value['taints']) } : { labels: [], taints: [] }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export interface NodeWish {
  readonly machine: Machine
  /** The required components are in: the startup taint goes, and does not come back. */
  readonly areComponentsIn: boolean
}

/** The Node as it should be, or `Keep`. */
export function syncedNode(node: Node, { machine, areComponentsIn }: NodeWish): Mutation<Node> {
  const owned = ownedKeys(node)
  const labels = wantedLabels(machine)
  const taints = wantedTaints(machine)
  const wantedIds = new Set(taints.map(taintId))
  const isLeft = (t: Taint) =>
    !wantedIds.has(taintId(t)) &&
    !owned.taints.includes(taintId(t)) &&
    !(areComponentsIn && t.key === TAINTS.componentsPending)
  const foreign = Object.entries(node.metadata.labels ?? {}).filter(([k]) => !owned.labels.includes(k))
  const keys: OwnedKeys = { labels: Object.keys(labels).sort(), taints: [...wantedIds].sort() }
  const ownsAny = keys.labels.length + keys.taints.length > 0
  const { [ANNOTATIONS.owned]: _, ...annotations } = node.metadata.annotations ?? {}
  const next: Node = {
    ...node,
    metadata: {
      ...node.metadata,
      labels: { ...Object.fromEntries(foreign), ...labels },
      annotations: ownsAny ? { ...annotations, [ANNOTATIONS.owned]: JSON.stringify(keys) } : annotations,
    },
    spec: { ...node.spec, taints: [...(node.spec?.taints ?? []).filter(isLeft), ...taints] },
  }
  return isSame(node, next) ? { kind: 'Keep' } : { kind: 'Write', object: next }
}

const isSame = (a: Node, b: Node): boolean =>
  jsonEqual(a.metadata.labels ?? {}, b.metadata.labels) &&
  jsonEqual(a.metadata.annotations ?? {}, b.metadata.annotations) &&
  jsonEqual(sorted(a), sorted(b))

/** The order of taints means nothing; when they were added is the server's word. */
const sorted = (node: Node): readonly string[] =>
  (node.spec?.taints ?? []).map((t) => `${taintId(t)}=${t.value ?? ''}`).sort()
