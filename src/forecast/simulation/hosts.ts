// The hosts of a simulated cluster: which faults their nodes report, and which of them have stopped. A stopped host is noticed only after its heartbeats are missed.
import type { Machine } from '#api/kinds/machine.ts'
import { findCondition } from '#kube/conditions.ts'
import { timestamp } from '#lib/clock.ts'
import type { Node } from '#nodes/objects.ts'
import type { FaultOf } from './incidents.ts'
import type { World } from './world.ts'

/** As long as Kubernetes waits for heartbeats of a node by default. */
const SILENT_AFTER_MS = 50_000
/** The one condition of which True is good. */
const READY = 'Ready'

type Conditions = NonNullable<NonNullable<Node['status']>['conditions']>

export class Hosts {
  /** Node → machine. */
  readonly machineOf: ReadonlyMap<string, string>
  /** Machines that do not serve, because they stopped or their node is not ready. */
  readonly unavailable = new Set<string>()
  readonly #world: World
  readonly #note: (node: string) => void
  readonly #nodeOf: ReadonlyMap<string, string>
  readonly #faults = new Map<string, Set<FaultOf>>()
  /** For how many reasons a machine is away: an outage may hit a host that was reclaimed. */
  readonly #away = new Map<string, number>()
  /** Machines whose silence is noticed at this time. */
  readonly #silentAt = new Map<string, number>()

  constructor(world: World, note: (node: string) => void) {
    this.#world = world
    this.#note = note
    const pairs = [...world.machines].map(([name, m]) => [m.status?.nodeRef?.name ?? name, name] as const)
    this.machineOf = new Map(pairs)
    this.#nodeOf = new Map(pairs.map(([node, machine]) => [machine, node]))
  }

  get nextAt(): number {
    return Math.min(Infinity, ...this.#silentAt.values())
  }

  /** Faults that are open now. */
  get open(): number {
    let sum = 0
    for (const faults of this.#faults.values()) sum += faults.size
    return sum
  }

  faultsOf(node: string): readonly FaultOf[] {
    return [...(this.#faults.get(this.machineOf.get(node) ?? '') ?? [])]
  }

  begin(of: FaultOf, now: number): boolean {
    const all = this.#faults.get(of.machine) ?? new Set()
    if ([...all].some((other) => other.fault.condition === of.fault.condition)) return false
    this.#faults.set(of.machine, all.add(of))
    this.#setCondition(of.machine, of.fault.condition, of.fault.condition === READY ? 'False' : 'True', now)
    return true
  }

  /** Returns false if a repair ended it before. */
  end(of: FaultOf, now: number): boolean {
    const all = this.#faults.get(of.machine)
    if (all?.delete(of) !== true) return false
    this.#setCondition(of.machine, of.fault.condition, of.fault.condition === READY ? 'True' : 'False', now)
    return true
  }

  /** Another host serves as the machine: it has none of the faults of the old one. */
  renew(machine: string, now: number): void {
    for (const of of this.#faults.get(machine) ?? []) this.end(of, now)
  }

  /** A machine is back when all reasons for which it was away are over. */
  reach(machines: readonly string[], isBack: boolean, now: number): void {
    for (const name of machines) {
      const before = this.#away.get(name) ?? 0
      const reasons = Math.max(0, before + (isBack ? -1 : 1))
      this.#away.set(name, reasons)
      if (before > 0 && reasons > 0) continue
      if (isBack) {
        this.#world.stalled.delete(name)
        this.unavailable.delete(name)
        // Shorter than the missing heartbeats that anyone notices.
        if (!this.#silentAt.delete(name)) this.#report(name, 'True', now)
      } else {
        this.#world.stalled.add(name)
        this.unavailable.add(name)
        this.#silentAt.set(name, now + SILENT_AFTER_MS)
      }
    }
  }

  /** Returns whether a host fell silent by now. */
  turn(now: number): boolean {
    let isAny = false
    for (const [name, at] of this.#silentAt) {
      if (at > now) continue
      this.#silentAt.delete(name)
      this.#report(name, 'Unknown', now)
      isAny = true
    }
    return isAny
  }

  #report(name: string, status: 'True' | 'Unknown', now: number): void {
    const machine = this.#world.machines.get(name)
    if (machine !== undefined) this.#world.putMachine(name, reachable(machine, status, now))
    this.#setCondition(name, READY, status, now)
  }

  #setCondition(machine: string, type: string, status: 'True' | 'False' | 'Unknown', now: number): void {
    const name = this.#nodeOf.get(machine) ?? ''
    const node = this.#world.nodes.get(name)
    if (node === undefined) return
    const before = node.status?.conditions ?? []
    const next = { type, status, reason: 'Simulated', message: '', lastTransitionTime: timestamp(now) }
    const conditions: Conditions = before.some((c) => c.type === type)
      ? before.map((c) => (c.type === type ? { ...c, ...next } : c))
      : [...before, next]
    this.#world.putNode(name, { ...node, status: { ...node.status, conditions } })
    const isReady = findCondition(conditions, READY)?.status === 'True'
    if (isReady && !this.#world.stalled.has(machine)) this.unavailable.delete(machine)
    else this.unavailable.add(machine)
    this.#note(name)
  }
}

function reachable(machine: Machine, status: 'True' | 'Unknown', now: number): Machine {
  const conditions = machine.status?.conditions ?? []
  const known = findCondition(conditions, 'AgentReachable')
  if (known === undefined) return machine
  const next = { ...known, status, lastTransitionTime: timestamp(now) }
  return { ...machine, status: { ...machine.status, conditions: conditions.map((c) => (c === known ? next : c)) } }
}
