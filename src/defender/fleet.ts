// All units that the Defender knows, indexed by how requests name them. Updated incrementally: a changed Node costs one unit, not the whole fleet.
import type { Cluster } from '#api/kinds/cluster.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { PermitSpec } from '#api/kinds/operation-permit.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { keyText, namespacedName } from '#api/schema/object-meta.ts'
import { CohortSizes } from './blame/cohort-sizes.ts'
import { type Selecting, Tallies, type Tally } from './tally.ts'
import { type Unit, clusterUnit, machineUnit, nodeUnit } from './unit.ts'

export type Target = PermitSpec['targets'][number]

export type Found =
  | { readonly kind: 'Found'; readonly unit: Unit }
  /** Not in the cache: it may be too new, or it never existed. */
  | { readonly kind: 'Absent' }
  /** Another object now has the name. The permit's target was deleted. */
  | { readonly kind: 'Replaced' }

export interface FleetView {
  readonly units: readonly Unit[]
  /** Increases on every change. */
  readonly version: number
  find(target: Pick<Target, 'kind' | 'namespace' | 'name' | 'uid'>): Found
  tally(selecting: Selecting, space: Unit['space']): Tally
}

export interface FleetObjects {
  readonly machines: readonly Machine[]
  readonly nodes: readonly KubeObject[]
  readonly clusters: readonly Cluster[]
}

export function fleetView({ machines, nodes, clusters }: FleetObjects): Fleet {
  const fleet = new Fleet()
  for (const m of machines) fleet.putMachine(m.metadata.name ?? '', m)
  for (const n of nodes) fleet.putNode(n.metadata.name ?? '', n)
  for (const c of clusters) fleet.putCluster(namespacedName(c), c)
  return fleet
}

const uidOf = (o: KubeObject | undefined): string | undefined => o?.metadata.uid

/** Does not change until an object is put into it. Callers put all changes first, then decide. */
export class Fleet implements FleetView {
  readonly #machines = new Map<string, Machine>()
  readonly #nodes = new Map<string, KubeObject>()
  readonly #clusters = new Map<string, Cluster>()
  readonly #nodesByUid = new Map<string, KubeObject>()
  /** UID of a Node → names of the Machines that claim it. */
  readonly #claims = new Map<string, Set<string>>()
  /** UID of a Node whose Machine was removed → the Node as cached at that time. Later changes are not in it. */
  readonly #left = new Map<string, KubeObject>()
  /** By kind and name of the object behind each unit. */
  readonly #units = {
    Machine: new Map<string, Unit>(),
    Node: new Map<string, Unit>(),
    Cluster: new Map<string, Unit>(),
  }
  readonly #tallies = new Tallies()
  #cohorts: CohortSizes | undefined
  #list: readonly Unit[] | undefined
  #version = 0

  get units(): readonly Unit[] {
    const { Machine, Node, Cluster } = this.#units
    this.#list ??= [...Machine.values(), ...Node.values(), ...Cluster.values()]
    return this.#list
  }

  get version(): number {
    return this.#version
  }

  tally(selecting: Selecting, space: Unit['space']): Tally {
    return this.#tallies.of(selecting, space, () => this.units)
  }

  /** Counted from the first read on. */
  get cohorts(): CohortSizes {
    this.#cohorts ??= new CohortSizes(this.units)
    return this.#cohorts
  }

  find({ kind, namespace, name, uid }: Pick<Target, 'kind' | 'namespace' | 'name' | 'uid'>): Found {
    const key = keyText({ namespace, name })
    const here = this.#objects(kind).get(key)
    if (here === undefined) return { kind: 'Absent' }
    if (here.metadata.uid !== uid) return { kind: 'Replaced' }
    const owner = kind === 'Node' ? this.#ownerOf(uid) : undefined
    const unit = owner === undefined ? this.#units[kind].get(key) : this.#units.Machine.get(owner)
    return unit === undefined ? { kind: 'Absent' } : { kind: 'Found', unit }
  }

  #objects(kind: Target['kind']): ReadonlyMap<string, KubeObject> {
    if (kind === 'Node') return this.#nodes
    return kind === 'Machine' ? this.#machines : this.#clusters
  }

  /** `now` undefined: the Machine was deleted. */
  putMachine(name: string, now: Machine | undefined): void {
    const before = this.#machines.get(name)
    keep(this.#machines, name, now)
    const nodes = [before?.status?.nodeRef?.uid, now?.status?.nodeRef?.uid]
    const last = this.#nodesByUid.get(nodes[0] ?? '')
    if (now === undefined && before?.metadata.deletionTimestamp !== undefined && last !== undefined)
      this.#left.set(uidOf(last) ?? '', last)
    if (nodes[0] !== nodes[1]) {
      if (nodes[0] !== undefined) this.#claims.get(nodes[0])?.delete(name)
      if (nodes[1] !== undefined) this.#claims.set(nodes[1], (this.#claims.get(nodes[1]) ?? new Set()).add(name))
    }
    this.#placeMachine(name)
    if (nodes[0] === nodes[1]) return
    for (const uid of nodes) {
      const node = uid === undefined ? undefined : this.#nodesByUid.get(uid)
      if (node !== undefined) this.#placeNode(node.metadata.name ?? '')
      if (uid !== undefined && this.#claims.get(uid)?.size === 0) this.#claims.delete(uid)
    }
  }

  putNode(name: string, now: KubeObject | undefined): void {
    const before = this.#nodes.get(name)
    keep(this.#nodes, name, now)
    const uids = new Set([uidOf(before), uidOf(now)].flatMap((u) => u ?? []))
    for (const uid of uids) keep(this.#nodesByUid, uid, uid === uidOf(now) ? now : undefined)
    for (const uid of uids) this.#left.delete(uid)
    this.#placeNode(name)
    for (const uid of uids) for (const machine of this.#claims.get(uid) ?? []) this.#placeMachine(machine)
  }

  putCluster(key: string, now: Cluster | undefined): void {
    keep(this.#clusters, key, now)
    this.#place('Cluster', key, now && clusterUnit(now))
  }

  /** Two Machines with one Node are a user error. The choice between them is always the same. */
  #ownerOf(nodeUid: string): string | undefined {
    const claims = this.#claims.get(nodeUid)
    return claims === undefined || claims.size < 2 ? claims?.values().next().value : [...claims].toSorted()[0]
  }

  #placeMachine(name: string): void {
    const machine = this.#machines.get(name)
    const node = this.#nodesByUid.get(machine?.status?.nodeRef?.uid ?? '')
    this.#place('Machine', name, machine && machineUnit(machine, node))
  }

  /** The Node of a Machine is part of the Machine's unit. */
  #placeNode(name: string): void {
    const node = this.#nodes.get(name)
    const isOwned = node !== undefined && this.#ownerOf(uidOf(node) ?? '') !== undefined
    if (node === undefined || isOwned) return this.#place('Node', name, undefined)
    const unit = nodeUnit(node)
    const isLeft = this.#left.get(unit.id) === node
    this.#place('Node', name, isLeft ? { ...unit, health: 'Unavailable', why: 'lost its Machine' } : unit)
  }

  #place(kind: Target['kind'], key: string, now: Unit | undefined): void {
    const before = this.#units[kind].get(key)
    if (before === undefined && now === undefined) return
    keep(this.#units[kind], key, now)
    this.#tallies.replace(before, now)
    this.#cohorts?.replace(before, now)
    this.#list = undefined
    this.#version++
  }
}

function keep<V>(map: Map<string, V>, key: string, value: V | undefined): void {
  if (value === undefined) map.delete(key)
  else map.set(key, value)
}
