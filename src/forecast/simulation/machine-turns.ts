// The machine controller of a simulated cluster: gives machines their orders and lets their agents act. It takes up a machine only when something about it changed:
// of thousands, few change at a time.
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { MachineComponent } from '#api/kinds/machine-component.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { activeMachines } from '#api/protocol/part.ts'
import { claimBy, isClaimedBy } from '#controllers/machine/components/claims.ts'
import { machinesOrdered, movedMachines } from '#controllers/machine/components/concerned.ts'
import type { Claim } from '#controllers/machine/components/desired.ts'
import type { ControllerRevision } from '#controllers/componentset/revisions/revisions.ts'
import { jsonEqual } from '#lib/json.ts'
import type { Agents } from './agents.ts'
import { phased, withOrders } from './effects.ts'

/** What the machines of one turn see. */
export interface MachinesSeen {
  readonly machines: ReadonlyMap<string, Machine>
  /** Machines that do nothing and report nothing. */
  readonly stalled: ReadonlySet<string>
  readonly sets: ReadonlyMap<string, MachineComponentSet>
  readonly revisions: readonly ControllerRevision[]
  /** Permits that wait or run. */
  readonly open: ReadonlyMap<string, OperationPermit>
  readonly now: number
}

type Status = NonNullable<MachineComponentSet['status']>
type Slice = NonNullable<Status['slices']>[number]

export class MachineTurns {
  readonly #agents: Agents
  /** By component and version. */
  readonly #components: ReadonlyMap<string, ReadonlyMap<string, MachineComponent>>
  /** Machines about which something changed since their last turn. */
  #due = new Set<string>()

  constructor(agents: Agents, components: ReadonlyMap<string, MachineComponent>) {
    this.#agents = agents
    const byName = Map.groupBy(components.values(), ({ spec }) => spec.component)
    this.#components = new Map([...byName].map(([of, all]) => [of, new Map(all.map((c) => [c.spec.version, c]))]))
  }

  machineChanged(name: string): void {
    this.#due.add(name)
  }

  permitChanged(before: OperationPermit | undefined, now: OperationPermit): void {
    for (const name of machinesOrdered(before, now)) this.#due.add(name)
  }

  setChanged(before: MachineComponentSet, now: MachineComponentSet): void {
    const moved = movedMachines(before, now)
    if (moved !== undefined) for (const name of moved) this.#due.add(name)
    else for (const { status } of [before, now]) for (const slice of status?.slices ?? []) this.#slice(slice)
  }

  /** A revision was recorded or removed. */
  revisionsChanged(sets: Iterable<MachineComponentSet>): void {
    for (const { status } of sets) for (const slice of status?.slices ?? []) this.#slice(slice)
  }

  #slice({ machines }: Slice): void {
    for (const name of machines) this.#due.add(name)
  }

  /** The machines that changed. */
  turn(seen: MachinesSeen): readonly (readonly [name: string, machine: Machine])[] {
    const { machines, now, stalled } = seen
    for (const name of this.#agents.endedBy(now)) this.#due.add(name)
    if (this.#due.size === 0) return []
    const due = [...this.#due].toSorted()
    this.#due = new Set()
    const byTarget = openPermits(seen)
    const claims = new Claims(seen)
    const switching = new Set(this.#agents.switching())
    const changed: (readonly [string, Machine])[] = []
    for (const name of due) {
      const before = machines.get(name)
      if (before === undefined) continue
      // The others get no new orders.
      if (!switching.has(name) && !claims.isNamed(name)) continue
      if (stalled.has(name) || isOutOfReach(before)) {
        this.#due.add(name)
        continue
      }
      const after = this.#turn(before, claims.of(before), byTarget.get(before.metadata.uid ?? '') ?? [], now)
      if (!jsonEqual([before.spec.components, before.status], [after.spec.components, after.status]))
        changed.push([name, after])
    }
    return changed
  }

  #turn(machine: Machine, claims: readonly Claim[], permits: readonly OperationPermit[], now: number): Machine {
    const name = machine.metadata.name ?? ''
    const before = new Map(machine.spec.components?.map((c) => [c.name, c.config]))
    const componentOf = (of: string, version: string) => this.#components.get(of)?.get(version)
    const ordered = withOrders({ machine, isClosed: false, claims, permits, componentOf })
    const components = this.#agents.turn(name, ordered, { permits, before }, now)
    return phased({ ...ordered, status: { ...ordered.status, components } })
  }
}

/** What sets claim of machines: the same for all but for the slices, of which each machine gets its own that have not passed. */
class Claims {
  readonly #seen: MachinesSeen
  readonly #revisions: ReadonlyMap<string, ControllerRevision>
  /** By set, read once a turn. */
  readonly #claims = new Map<string, Claim>()
  /** By set and machine, also read once a turn. */
  readonly #slices = new Map<string, ReadonlyMap<string, readonly Slice[]>>()

  constructor(seen: MachinesSeen) {
    this.#seen = seen
    this.#revisions = new Map(seen.revisions.map((r) => [r.metadata.name ?? '', r]))
  }

  /** A slice that has not passed names the machine. */
  isNamed(name: string): boolean {
    return this.#seen.sets.values().some((set) => this.#slicesOf(set).has(name))
  }

  of(machine: Machine): readonly Claim[] {
    const name = machine.metadata.name ?? ''
    return [...this.#seen.sets.values()].flatMap((set) =>
      isClaimedBy(machine, set) ? [{ ...this.#claimBy(set), slices: this.#slicesOf(set).get(name) ?? [] }] : [],
    )
  }

  #claimBy(set: MachineComponentSet): Claim {
    const { name = '' } = set.metadata
    const claim = this.#claims.get(name) ?? claimBy(set, (n) => this.#revisions.get(n))
    this.#claims.set(name, claim)
    return claim
  }

  #slicesOf({ metadata: { name = '' }, status }: MachineComponentSet): ReadonlyMap<string, readonly Slice[]> {
    const known = this.#slices.get(name)
    if (known !== undefined) return known
    const byMachine = new Map<string, Slice[]>()
    for (const slice of status?.slices ?? []) {
      if (slice.phase === 'Passed') continue
      for (const machine of activeMachines(slice)) byMachine.set(machine, [...(byMachine.get(machine) ?? []), slice])
    }
    this.#slices.set(name, byMachine)
    return byMachine
  }
}

function openPermits({ open }: MachinesSeen): ReadonlyMap<string, readonly OperationPermit[]> {
  const byTarget = new Map<string, OperationPermit[]>()
  for (const permit of open.values())
    for (const { uid } of permit.spec.targets) byTarget.set(uid, [...(byTarget.get(uid) ?? []), permit])
  return byTarget
}

/** Orders cannot reach it. */
const isOutOfReach = ({ status, metadata }: Machine): boolean =>
  metadata.deletionTimestamp !== undefined ||
  status?.conditions?.some((c) => c.type === 'AgentReachable' && c.status !== 'True') === true
