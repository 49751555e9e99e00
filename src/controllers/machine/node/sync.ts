// Computes the desired Node of a machine: with the labels, annotations and taints that its Machine declares, and without those that KubeNode set
// before. Keys of other programs are never touched. Pure.
import { ANNOTATIONS, LABELS, TAINTS } from '#api/names.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { isObject, jsonEqual } from '#lib/json.ts'
import { cordonOwners, withoutCordon } from '#nodes/cordon.ts'
import type { Node, Taint } from '#nodes/objects.ts'
import type { Mutation } from '#runtime/compare-and-swap.ts'
import { DELETE_OWNER, SWITCH_OWNER } from '../actions.ts'

interface OwnedKeys {
  readonly labels: readonly string[]
  readonly annotations: readonly string[]
  /** `key:effect`. */
  readonly taints: readonly string[]
}

const taintId = (t: Pick<Taint, 'key' | 'effect'>): string => `${t.key}:${t.effect}`

function wantedLabels({ spec }: Machine): Readonly<Record<string, string>> {
  const { pool, zone, rack, class: hardware } = spec
  return {
    ...(pool !== undefined && { [LABELS.pool]: pool }),
    ...(zone !== undefined && { [LABELS.zone]: zone }),
    ...(rack !== undefined && { [LABELS.rack]: rack }),
    ...(hardware !== undefined && { [LABELS.class]: hardware }),
    ...spec.labels,
  }
}

/** Taints that KubeNode manages. A Machine cannot declare them. */
const RESERVED: ReadonlySet<string> = new Set<string>([TAINTS.cordon, TAINTS.componentsPending, TAINTS.outOfService])

const wantedTaints = ({ spec }: Machine): readonly Taint[] => (spec.taints ?? []).filter((t) => !RESERVED.has(t.key))

/** KubeNode's own annotations have fixed meanings, and a Machine cannot declare them. */
const RESERVED_ANNOTATIONS: ReadonlySet<string> = new Set<string>(Object.values(ANNOTATIONS))

const wantedAnnotations = ({ spec }: Machine): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(spec.annotations ?? {}).filter(([k]) => !RESERVED_ANNOTATIONS.has(k)))

const NOTHING: OwnedKeys = { labels: [], annotations: [], taints: [] }

/** Keys that KubeNode set earlier. If the record is unreadable, assume none, so that nothing is removed. */
function ownedKeys(node: Node): OwnedKeys {
  const text = node.metadata.annotations?.[ANNOTATIONS.owned]
  const value = text === undefined ? undefined : parsed(text)
  const list = (v: unknown): readonly string[] => (Array.isArray(v) ? v.filter((x) => typeof x === 'string') : [])
  return isObject(value)
    ? { labels: list(value['labels']), annotations: list(value['annotations']), taints: list(value['taints']) }
    : NOTHING
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Only keys that KubeNode set itself are removed later. A key that already had the value belongs to another program. */
const claimed = (
  wanted: Readonly<Record<string, string>>,
  there: Readonly<Record<string, string>>,
  owned: readonly string[],
): readonly string[] =>
  Object.keys(wanted)
    .filter((k) => owned.includes(k) || there[k] !== wanted[k])
    .sort()

const without = (
  there: Readonly<Record<string, string>> | undefined,
  keys: readonly string[],
): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(there ?? {}).filter(([k]) => !keys.includes(k)))

export interface DesiredNode {
  readonly machine: Machine
  /** The required components are installed: the startup taint is removed for good. */
  readonly areComponentsIn: boolean
}

/** The desired Node, or `Keep`. */
export function syncedNode(node: Node, { machine, areComponentsIn }: DesiredNode): Mutation<Node> {
  const desired = {
    labels: wantedLabels(machine),
    annotations: wantedAnnotations(machine),
    taints: wantedTaints(machine),
  }
  return changed(node, desired, areComponentsIn)
}

/** The Node without KubeNode's changes, for a host that stays. A repair's cordon is left to its job, which ends it with the Machine. */
export const handedBackNode = (node: Node, nowMs: number): Mutation<Node> => {
  const unclaimed = withoutClaim(node)
  const left = changed(unclaimed, { labels: {}, annotations: {}, taints: [] }, true)
  const handedBack = withoutOwnCordons(left.kind === 'Write' ? left.object : unclaimed, nowMs)
  return handedBack === node ? { kind: 'Keep' } : { kind: 'Write', object: handedBack }
}

/** An unreadable claim belongs to another program and stays. */
function withoutOwnCordons(node: Node, nowMs: number): Node {
  const read = cordonOwners(node)
  const own = read.kind === 'Owners' ? Object.keys(read.owners).filter(isOwnCordon) : []
  return own.reduce((left, owner) => {
    const next = withoutCordon(left, owner, nowMs)
    return next.kind === 'Write' ? next.object : left
  }, node)
}

const isOwnCordon = (owner: string): boolean => owner === DELETE_OWNER || owner.startsWith(SWITCH_OWNER)

/** Marked with its machine's uid, so that policies can tell this machine's agent from that of an earlier machine with the same name. */
export const claimedNode = (node: Node, machineUid: string): Mutation<Node> => {
  const { annotations = {} } = node.metadata
  if (annotations[ANNOTATIONS.machineUid] === machineUid) return { kind: 'Keep' }
  const next = { ...annotations, [ANNOTATIONS.machineUid]: machineUid }
  return { kind: 'Write', object: { ...node, metadata: { ...node.metadata, annotations: next } } }
}

function withoutClaim(node: Node): Node {
  const { [ANNOTATIONS.machineUid]: claim, ...annotations } = node.metadata.annotations ?? {}
  return claim === undefined ? node : { ...node, metadata: { ...node.metadata, annotations } }
}

interface DesiredNodeParts {
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly taints: readonly Taint[]
}

function changed(node: Node, { labels, annotations, taints }: DesiredNodeParts, isOpen: boolean): Mutation<Node> {
  const { metadata, spec } = node
  const owned = ownedKeys(node)
  const wantedIds = taints.map(taintId)
  const thereIds = (spec?.taints ?? []).map((t) => `${taintId(t)}=${t.value ?? ''}`)
  const isLeft = (t: Taint) =>
    !wantedIds.includes(taintId(t)) &&
    !owned.taints.includes(taintId(t)) &&
    !(isOpen && t.key === TAINTS.componentsPending)
  const keys: OwnedKeys = {
    labels: claimed(labels, metadata.labels ?? {}, owned.labels),
    annotations: claimed(annotations, metadata.annotations ?? {}, owned.annotations),
    taints: taints
      .filter((t) => owned.taints.includes(taintId(t)) || !thereIds.includes(`${taintId(t)}=${t.value ?? ''}`))
      .map(taintId)
      .sort(),
  }
  const ownsAny = keys.labels.length + keys.annotations.length + keys.taints.length > 0
  const next: Node = {
    ...node,
    metadata: {
      ...metadata,
      labels: { ...without(metadata.labels, owned.labels), ...labels },
      annotations: {
        ...without(metadata.annotations, [...owned.annotations, ANNOTATIONS.owned]),
        ...annotations,
        ...(ownsAny && { [ANNOTATIONS.owned]: JSON.stringify(keys) }),
      },
    },
    spec: { ...spec, taints: [...(spec?.taints ?? []).filter(isLeft), ...taints] },
  }
  return isSame(node, next) ? { kind: 'Keep' } : { kind: 'Write', object: next }
}

const isSame = (a: Node, b: Node): boolean =>
  jsonEqual(a.metadata.labels ?? {}, b.metadata.labels) &&
  jsonEqual(a.metadata.annotations ?? {}, b.metadata.annotations) &&
  jsonEqual(sorted(a), sorted(b))

/** The order of taints means nothing, and the server sets when they were added. */
const sorted = (node: Node): readonly string[] =>
  (node.spec?.taints ?? []).map((t) => `${taintId(t)}=${t.value ?? ''}`).sort()
