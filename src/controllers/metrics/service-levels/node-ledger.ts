// Counts node-seconds by state, pool, zone and class for the service levels, exactly, from the transitions that the caches report.
import type { Machine } from '#api/kinds/machine.ts'
import type { MaintenanceEvent } from '#api/kinds/maintenance-event.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { Clock } from '#lib/clock.ts'
import { NO_POOL, type PoolSeconds } from '#measure/kept-days.ts'
import { type NodeState, nodeState, plannedMachines, plannedTargets } from '#measure/node-state.ts'
import { NO_SECONDS, plus, type StateSeconds } from '#measure/service-level.ts'
import { type LabelledSeconds, TimeInState } from '#measure/time-in-state.ts'
import type { Node } from '#nodes/objects.ts'
import type { SharedInformer } from '#runtime/informers.ts'

export interface LedgerCaches {
  readonly machines: SharedInformer<Machine>
  readonly nodes: SharedInformer<Node>
  readonly permits: SharedInformer<OperationPermit>
  readonly maintenance: SharedInformer<MaintenanceEvent>
}

const UID = 'kubenode-ledger-uid'
const NODE = 'kubenode-ledger-node'
const HOST = 'kubenode-ledger-host'

/** Indexes on the cache of Machines; add them before it starts. */
export const LEDGER_INDEXES = {
  [UID]: (m: Machine) => [m.metadata.uid ?? '', m.status?.nodeRef?.uid ?? ''],
  [NODE]: (m: Machine) => [m.status?.nodeRef?.name ?? ''],
}

/** Of the cache of MaintenanceEvents. */
export const HOST_INDEXES = { [HOST]: (e: MaintenanceEvent) => [e.spec.machine] }

export class NodeLedger {
  readonly #caches: LedgerCaches
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #time = new TimeInState()
  readonly #states = new Map<string, { readonly pool: string; readonly state: NodeState }>()
  /** Target → permits that currently allow its disruption. */
  readonly #planned = new Map<string, Set<string>>()
  #taken: ReadonlyMap<string, StateSeconds> = new Map()

  constructor(caches: LedgerCaches, clock: Pick<Clock, 'monotonic'>) {
    this.#caches = caches
    this.#clock = clock
  }

  /** Returns a function that stops it. */
  start(): () => void {
    const { machines, nodes, permits, maintenance } = this.#caches
    const stops = [
      permits.onChange((old, now) => this.#permit(old, now)),
      maintenance.onChange((old, now) => this.#byName((now ?? old)?.spec.machine)),
      nodes.onChange((old, now) => this.#all(machines.byIndex(NODE, (now ?? old)?.metadata.name ?? ''))),
      machines.onChange((old, now) => {
        if (now !== undefined) this.#judge(now)
        else if (old !== undefined) this.#forget(old.metadata.name ?? '')
      }),
    ]
    return () => {
      for (const stop of stops) stop()
    }
  }

  /** Seconds since this process became the leader. */
  totals(): readonly LabelledSeconds[] {
    return this.#time.totals(this.#clock.monotonic())
  }

  /** Nodes in service, by pool. */
  get inService(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>()
    for (const { pool, state } of this.#states.values())
      if (state !== 'pending') counts.set(pool, (counts.get(pool) ?? 0) + 1)
    return counts
  }

  get counts(): ReadonlyMap<NodeState, number> {
    const counts = new Map<NodeState, number>()
    for (const { state } of this.#states.values()) counts.set(state, (counts.get(state) ?? 0) + 1)
    return counts
  }

  /** Seconds of each pool since the last call whose result was stored; `keep` confirms that. */
  sinceKept(): { readonly pools: PoolSeconds; readonly keep: () => void } {
    const sums = new Map<string, StateSeconds>()
    for (const { labels, seconds } of this.totals()) {
      const pool = labels['pool'] ?? NO_POOL
      sums.set(pool, plus(sums.get(pool) ?? NO_SECONDS, { [labels['state'] as NodeState]: seconds }))
    }
    const pools = new Map([...sums].map(([pool, now]) => [pool, minus(now, this.#taken.get(pool))] as const))
    return { pools, keep: () => void (this.#taken = sums) }
  }

  #judge(machine: Machine): void {
    const { nodes, maintenance } = this.#caches
    const { metadata, spec, status } = machine
    const name = metadata.name ?? ''
    const node = status?.nodeRef === undefined ? undefined : nodes.get(status.nodeRef.name)
    const isPermitted = [metadata.uid, status?.nodeRef?.uid].some((uid) => uid !== undefined && this.#planned.has(uid))
    const isPlanned = isPermitted || plannedMachines(maintenance.byIndex(HOST, name)).has(name)
    const state = nodeState({ machine, node, isPlanned })
    const pool = spec.pool ?? NO_POOL
    this.#states.set(name, { pool, state })
    const labels = { pool, zone: spec.zone ?? NO_POOL, class: spec.class ?? NO_POOL, state }
    this.#time.enter(name, labels, this.#clock.monotonic())
  }

  #forget(name: string): void {
    this.#states.delete(name)
    this.#time.leave(name, this.#clock.monotonic())
  }

  #all(machines: readonly Machine[]): void {
    for (const machine of machines) this.#judge(machine)
  }

  #byName(name: string | undefined): void {
    const machine = name === undefined ? undefined : this.#caches.machines.get(name)
    if (machine !== undefined) this.#judge(machine)
  }

  #permit(old: OperationPermit | undefined, now: OperationPermit | undefined): void {
    const uid = (now ?? old)?.metadata.uid ?? ''
    const before = plannedTargets(old === undefined ? [] : [old])
    const after = plannedTargets(now === undefined ? [] : [now])
    for (const target of before)
      if (!after.has(target)) {
        const under = this.#planned.get(target)
        under?.delete(uid)
        if (under?.size === 0) this.#planned.delete(target)
      }
    for (const target of after) this.#planned.set(target, (this.#planned.get(target) ?? new Set()).add(uid))
    const changed = [...before, ...after].filter((target) => before.has(target) !== after.has(target))
    for (const target of changed) this.#all(this.#caches.machines.byIndex(UID, target))
  }
}

const minus = (a: StateSeconds, b: StateSeconds = NO_SECONDS): StateSeconds => ({
  good: a.good - b.good,
  planned: a.planned - b.planned,
  fault: a.fault - b.fault,
  silent: a.silent - b.silent,
  pending: a.pending - b.pending,
})
