// Which machines a set speaks for, and for which of their components another set speaks instead.
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { type Selector, matchesSelector } from '#kube/selector.ts'
import { readSelector } from '#nodeops/selecting.ts'
import { type Reading, readMachine } from './reading.ts'
import type { Lookup } from './lookup.ts'
import { inOrderOfNames } from '#nodeops/spread.ts'
import type { Node } from '#nodeops/objects.ts'

export interface Rival {
  readonly set: MachineComponentSet
  readonly selector: Selector
}

const nameOf = (set: MachineComponentSet): string => set.metadata.name ?? ''

/** Other sets of at least this priority that declare the component too, by component. */
export function rivalsOf(
  set: MachineComponentSet,
  sets: readonly MachineComponentSet[],
): ReadonlyMap<string, readonly Rival[]> {
  const rivals = new Map<string, Rival[]>()
  for (const other of sets.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))) {
    if (nameOf(other) === nameOf(set) || other.metadata.deletionTimestamp !== undefined) continue
    if (other.spec.priority < set.spec.priority) continue
    const shared = other.spec.components.filter((c) => set.spec.components.some((d) => d.name === c.name))
    const [rival] = selecting(other)
    if (rival !== undefined) for (const { name } of shared) rivals.set(name, [...(rivals.get(name) ?? []), rival])
  }
  return rivals
}

/** One whose selector cannot be read speaks for no machine. */
function selecting(set: MachineComponentSet): readonly Rival[] {
  const read = readSelector(set.spec.selector)
  return read.kind === 'Selector' ? [{ set, selector: read.selector }] : []
}

interface AmongSets {
  readonly set: MachineComponentSet
  readonly sets: readonly MachineComponentSet[]
}

/** Other sets that declare the component, whatever their priority. */
export const declarersOf = (component: string, { set, sets }: AmongSets): readonly Rival[] =>
  sets
    .filter((s) => nameOf(s) !== nameOf(set) && s.metadata.deletionTimestamp === undefined)
    .filter((s) => s.spec.components.some((c) => c.name === component))
    .flatMap(selecting)

/**
 * The set that decides about the component on this machine instead of ours. The higher priority wins; among equals the one that
 * already decides, then the first by name: the machine controller decides alike.
 */
export function rivalFor(
  rivals: readonly Rival[] | undefined,
  ours: MachineComponentSet,
  machine: Machine,
  decidedBy: string | undefined,
): Rival | undefined {
  return rivals?.find((r) => goesBefore(r.set, ours, decidedBy) && matchesSelector(r.selector, machine.metadata.labels))
}

function goesBefore(other: MachineComponentSet, ours: MachineComponentSet, decidedBy: string | undefined): boolean {
  if (other.spec.priority !== ours.spec.priority) return other.spec.priority > ours.spec.priority
  if (nameOf(ours) === decidedBy) return false
  return nameOf(other) === decidedBy || nameOf(other) < nameOf(ours)
}

/** An observed machine is nobody's to change. */
export const isMember = (selector: Selector, { spec, metadata }: Machine): boolean =>
  spec.channel !== 'Observe' && matchesSelector(selector, metadata.labels)

const nodeOf = (nodes: Lookup<Node>, machine: Machine): Node | undefined => {
  const ref = machine.status?.nodeRef
  const node = ref && nodes.get(ref.name)
  // Another Node of the same name says nothing about this machine.
  return node?.metadata.uid === ref?.uid ? node : undefined
}

/** How many more machines are remembered than there are, before those that are gone are let go. */
const MOST_STALE = 1.5

interface Known {
  readonly machine: Machine
  readonly node: Node | undefined
  /** Undefined for a machine that is none of the set's. */
  readonly reading: Reading | undefined
}

/** What was read of machines that did not change since the last look: thousands are the same each time. */
export class ReadingMemo {
  #about = ''
  #known = new Map<string, Known>()

  /** Undefined for one that is no member. */
  read(machine: Machine, nodes: Lookup<Node>, of: { selector: Selector; indexOf: ReadonlyMap<string, number> }) {
    const name = machine.metadata.name ?? ''
    const known = this.#known.get(name)
    const isSame = known?.machine === machine
    if (isSame && known.reading === undefined) return undefined
    const node = nodeOf(nodes, machine)
    if (isSame && known.node === node) return known.reading
    const reading = isMember(of.selector, machine) ? readMachine(machine, node, of.indexOf) : undefined
    this.#known.set(name, { machine, node, reading })
    return reading
  }

  /** What is remembered holds for one selector and one list of components. */
  about(selector: Selector, indexOf: ReadonlyMap<string, number>): this {
    const about = JSON.stringify([selector, ...indexOf.keys()])
    if (about !== this.#about) this.#known = new Map()
    this.#about = about
    return this
  }

  /** These are all there are. */
  keepOnly(machines: readonly Machine[]): void {
    if (this.#known.size <= machines.length * MOST_STALE + 1) return
    const names = new Set(machines.map((m) => m.metadata.name ?? ''))
    for (const name of this.#known.keys()) if (!names.has(name)) this.#known.delete(name)
  }
}

/** In the order of names: nothing may depend on the order in which a cache holds them. */
export function readMembers(
  set: MachineComponentSet,
  machines: readonly Machine[],
  nodes: Lookup<Node>,
  indexOf: ReadonlyMap<string, number>,
  memo: ReadingMemo = new ReadingMemo(),
): readonly Reading[] {
  const [own] = selecting(set)
  if (own === undefined) return []
  const { selector } = own
  const known = memo.about(selector, indexOf)
  const members: Reading[] = []
  for (const m of machines) {
    const reading = known.read(m, nodes, { selector, indexOf })
    if (reading !== undefined) members.push(reading)
  }
  known.keepOnly(machines)
  return inOrderOfNames(members)
}

export const readOne = (machine: Machine, nodes: Lookup<Node>, indexOf: ReadonlyMap<string, number>): Reading =>
  readMachine(machine, nodeOf(nodes, machine), indexOf)
