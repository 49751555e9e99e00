// Our cordon: one NoSchedule taint while at least one owner wants it. Taint and owners change in one write, so neither exists without the other.
import { ANNOTATIONS, TAINTS } from '#api/names.ts'
import { defined } from '#lib/defined.ts'
import { isObject } from '#lib/json.ts'
import type { Mutation, Swap } from '#runtime/compare-and-swap.ts'
import type { Clearance } from '#permits/under-permit.ts'
import { type NodeRef, type NodeTools, changeNode } from './change-node.ts'
import type { Node, Taint } from './objects.ts'

export interface CordonClaim {
  readonly reason: string
  /** RFC 3339. When the work on the node began. */
  readonly since?: string
  /** RFC 3339. After this the claim no longer counts. */
  readonly until?: string
}

type CordonOwners = Readonly<Record<string, CordonClaim>>

/** The owner of our cordon on the Node of a machine that is being removed. */
export const REMOVAL_OWNER = 'machine/delete'

/** Owners per node. More would mean a bug in their programs. */
const MOST_OWNERS = 32

export type OwnersRead =
  | { readonly kind: 'Owners'; readonly owners: CordonOwners }
  /** Another client wrote an unreadable value. Nothing may be removed based on it. */
  | { readonly kind: 'Unreadable'; readonly text: string }

export function cordonOwners(node: Node): OwnersRead {
  const text = node.metadata.annotations?.[ANNOTATIONS.cordon]
  if (text === undefined || text === '') return { kind: 'Owners', owners: {} }
  const value = parsed(text)
  if (!isObject(value) || !Object.values(value).every(isClaim)) return { kind: 'Unreadable', text: text.slice(0, 200) }
  return { kind: 'Owners', owners: value as CordonOwners }
}

const isClaim = (v: unknown): v is CordonClaim =>
  isObject(v) &&
  typeof v['reason'] === 'string' &&
  ['since', 'until'].every((k) => v[k] === undefined || typeof v[k] === 'string')

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export const isCordonedBy = (node: Node | undefined, owner: string): boolean => {
  if (node === undefined || !hasOurTaint(node)) return false
  const read = cordonOwners(node)
  return read.kind === 'Owners' && Object.hasOwn(read.owners, owner)
}

const isOurs = (t: Taint): boolean => t.key === TAINTS.cordon
const hasOurTaint = (node: Node): boolean => node.spec?.taints?.some(isOurs) === true

/** The node with the owner's claim. `Keep` if it already has it. Pure. */
export function withCordon(node: Node, owner: string, claim: CordonClaim, nowMs: number): Mutation<Node> {
  const read = cordonOwners(node)
  // An unreadable annotation is only ever replaced when adding a claim: the taint stays either way, so adding is always safe.
  const before = read.kind === 'Owners' ? read.owners : {}
  const since = before[owner]?.since ?? claim.since
  return changed(node, { ...alive(before, nowMs), [owner]: { ...claim, ...defined({ since }) } })
}

/** The node without the owner's claim. The last claim removes the taint. Pure. */
export function withoutCordon(node: Node, owner: string, nowMs: number): Mutation<Node> {
  const read = cordonOwners(node)
  if (read.kind === 'Unreadable')
    return {
      kind: 'Refuse',
      reason: `cannot parse annotation ${ANNOTATIONS.cordon} of node ${node.metadata.name}`,
    }
  const { [owner]: _, ...rest } = read.owners
  return changed(node, alive(rest, nowMs))
}

const alive = (owners: CordonOwners, nowMs: number): CordonOwners =>
  Object.fromEntries(
    Object.entries(owners).filter(([, { until }]) => until === undefined || !(Date.parse(until) <= nowMs)),
  )

function changed(node: Node, owners: CordonOwners): Mutation<Node> {
  const names = Object.keys(owners).sort()
  if (names.length > MOST_OWNERS) return { kind: 'Refuse', reason: `more than ${MOST_OWNERS} owners of the cordon` }
  const text = names.length === 0 ? undefined : JSON.stringify(Object.fromEntries(names.map((n) => [n, owners[n]])))
  const { [ANNOTATIONS.cordon]: old, ...annotations } = node.metadata.annotations ?? {}
  const wantsTaint = text !== undefined
  if (old === text && hasOurTaint(node) === wantsTaint) return { kind: 'Keep' }
  const others = (node.spec?.taints ?? []).filter((t) => !isOurs(t))
  const taints = wantsTaint ? [...others, { key: TAINTS.cordon, effect: 'NoSchedule' }] : others
  return {
    kind: 'Write',
    object: {
      ...node,
      metadata: {
        ...node.metadata,
        annotations: text === undefined ? annotations : { ...annotations, [ANNOTATIONS.cordon]: text },
      },
      spec: { ...node.spec, taints },
    },
  }
}

/** For a serving node that is about to be drained. */
export function cordon(
  _clearance: Clearance,
  tools: NodeTools,
  node: NodeRef,
  owner: string,
  claim: CordonClaim,
): Promise<Swap<Node>> {
  return changeNode(tools, node, (current) => withCordon(current, owner, claim, tools.clock.now()))
}

export function uncordon(tools: NodeTools, node: NodeRef, owner: string): Promise<Swap<Node>> {
  return changeNode(tools, node, (current) => withoutCordon(current, owner, tools.clock.now()))
}
