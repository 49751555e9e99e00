// Decides which machines a set manages, and for which components another set decides instead.
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { isSameName, nameOf } from '#api/schema/object-meta.ts'
import { type Selector, matchesSelector } from '#kube/selector.ts'
import { type SelectingSet, contender, goesBefore, selecting } from '#nodes/placement/deciding-set.ts'
import { type Reading, isDown, isNoLoss, readMachine } from './reading.ts'
import type { Lookup } from './lookup.ts'
import { Bases } from './settled.ts'
import { inOrderOfNames } from '#nodes/placement/spread.ts'
import type { Node } from '#nodes/objects.ts'

export type CompetingSet = SelectingSet

/** By component: other sets that declare it with at least this priority. */
export function competingSetsOf(
  set: MachineComponentSet,
  sets: readonly MachineComponentSet[],
): ReadonlyMap<string, readonly CompetingSet[]> {
  const competing = new Map<string, CompetingSet[]>()
  for (const other of sets.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))) {
    if (nameOf(other) === nameOf(set) || other.metadata.deletionTimestamp !== undefined) continue
    if (other.spec.priority < set.spec.priority) continue
    const shared = other.spec.components.filter((c) => set.spec.components.some((d) => d.name === c.name))
    const [competingWith] = selecting(other)
    if (competingWith !== undefined)
      for (const { name } of shared) competing.set(name, [...(competing.get(name) ?? []), competingWith])
  }
  return competing
}

interface AmongSets {
  readonly set: MachineComponentSet
  readonly sets: readonly MachineComponentSet[]
}

/** Other sets that declare the component, whatever their priority. */
export const declarersOf = (component: string, { set, sets }: AmongSets): readonly CompetingSet[] =>
  sets
    .filter((s) => nameOf(s) !== nameOf(set) && s.metadata.deletionTimestamp === undefined)
    .filter((s) => s.spec.components.some((c) => c.name === component))
    .flatMap(selecting)

/** The other set that decides about the component on this machine. */
export function competingSetFor(
  competing: readonly CompetingSet[] | undefined,
  ours: MachineComponentSet,
  machine: Machine,
  decidedBy: string | undefined,
): CompetingSet | undefined {
  return competing?.find(
    (r) =>
      goesBefore(contender(r.set), contender(ours), decidedBy) && matchesSelector(r.selector, machine.metadata.labels),
  )
}

/** No set may change a machine that is only observed. */
const isMember = (selector: Selector, { spec, metadata }: Machine): boolean =>
  spec.channel !== 'Observe' && matchesSelector(selector, metadata.labels)

/** A different Node with the same name is no evidence about this machine. */
const nodeOf = (node: Node | undefined, { status }: Machine): Node | undefined =>
  node?.metadata.uid === status?.nodeRef?.uid ? node : undefined

interface Known {
  readonly machine: Machine
  readonly nodeName: string | undefined
  readonly node: Node | undefined
  /** Undefined for a machine outside the set. */
  readonly reading: Reading | undefined
  /** What it adds to the counts. */
  readonly counts: Counts
}

/** Each is read of every machine in every plan: counted where the machines are read anyway. */
interface Counts {
  /** Machines that have worked at least once. Budgets and percentages are based on these. */
  readonly counting: number
  /** Unavailable, whatever slices do. */
  readonly down: number
  readonly silent: number
}

interface Reader {
  readonly selector: Selector
  readonly indexOf: ReadonlyMap<string, number>
  readonly nodes: Lookup<Node>
}

export interface Members extends Counts {
  readonly list: readonly Reading[]
  /** In the list, by name. */
  readonly positions: ReadonlyMap<string, number>
}

/**
 * Readings of machines that did not change since the last reconcile: usually thousands. A cache lists them in a stable order, except for created and
 * deleted ones, so most are at their old index.
 */
export class ReadingMemo {
  readonly bases = new Bases()
  #about = ''
  #known: readonly Known[] = []
  /** Of the last members; undefined when another machine came, or one went. */
  #order: { readonly isByName: boolean; readonly positions: ReadonlyMap<string, number> } | undefined

  /** The memo is valid for one selector and one list of components. */
  about(selector: Selector, indexOf: ReadonlyMap<string, number>): this {
    const about = JSON.stringify([selector, ...indexOf.keys()])
    if (about !== this.#about) {
      this.#known = []
      this.#order = undefined
    }
    this.#about = about
    return this
  }

  /** Sorted by name: nothing may depend on the order of a cache. */
  members(machines: readonly Machine[], reader: Reader): Members {
    const { readings, ...counts } = this.#readAll(machines, reader)
    const list = this.#order?.isByName === true ? readings : inOrderOfNames(readings)
    this.#order ??= { isByName: list === readings, positions: new Map(list.map(({ name }, at) => [name, at])) }
    return { list, positions: this.#order.positions, ...counts }
  }

  /** In machine order. */
  #readAll(machines: readonly Machine[], reader: Reader): Counts & { readonly readings: readonly Reading[] } {
    const before = this.#known
    let [counting, down, silent] = [0, 0, 0]
    let isSameList = machines.length === before.length
    let at = 0
    let byName: ReadonlyMap<string | undefined, Known> | undefined
    const known: Known[] = []
    const readings: Reading[] = []
    for (const machine of machines) {
      let entry = before[at]
      if (entry !== undefined && entry.machine !== machine && !isSameName(entry.machine, machine)) {
        isSameList = false
        byName ??= new Map(before.map((k) => [k.machine.metadata.name, k]))
        entry = byName.get(machine.metadata.name)
      }
      at++
      const holds =
        entry?.machine === machine && (entry.nodeName === undefined || reader.nodes.get(entry.nodeName) === entry.node)
      const now = entry !== undefined && holds ? entry : knownOf(machine, reader)
      if ((now.reading === undefined) !== (entry?.reading === undefined)) isSameList = false
      known.push(now)
      if (now.reading === undefined) continue
      readings.push(now.reading)
      counting += now.counts.counting
      down += now.counts.down
      silent += now.counts.silent
    }
    if (!isSameList) this.#order = undefined
    this.#known = known
    return { readings, counting, down, silent }
  }
}

function knownOf(machine: Machine, { selector, indexOf, nodes }: Reader): Known {
  const nodeName = machine.status?.nodeRef?.name
  const node = nodeName === undefined ? undefined : nodes.get(nodeName)
  const reading = isMember(selector, machine) ? readMachine(machine, nodeOf(node, machine), indexOf) : undefined
  return { machine, nodeName, node, reading, counts: reading === undefined ? NOTHING : countsOf(reading) }
}

const NOTHING: Counts = { counting: 0, down: 0, silent: 0 }

const countsOf = (reading: Reading): Counts => ({
  counting: isNoLoss(reading) || reading.health === 'Leaving' ? 0 : 1,
  down: isDown(reading) ? 1 : 0,
  silent: reading.health === 'Silent' ? 1 : 0,
})

export function readMembers(
  set: MachineComponentSet,
  machines: readonly Machine[],
  nodes: Lookup<Node>,
  indexOf: ReadonlyMap<string, number>,
  memo: ReadingMemo = new ReadingMemo(),
): Members {
  const [own] = selecting(set)
  if (own === undefined) return { list: [], positions: new Map(), ...NOTHING }
  const { selector } = own
  return memo.about(selector, indexOf).members(machines, { selector, indexOf, nodes })
}

export const readOne = (machine: Machine, nodes: Lookup<Node>, indexOf: ReadonlyMap<string, number>): Reading =>
  readMachine(machine, nodeOf(nodes.get(machine.status?.nodeRef?.name ?? ''), machine), indexOf)
