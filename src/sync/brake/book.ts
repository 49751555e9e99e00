// The brake in memory: the latest evidence of each cluster, the FleetBrake on the hub, and the clusters whose copy still grants a turn. Makes one decision at a
// time, and writes it to the hub before it takes effect anywhere.
import type { Cluster } from '#api/kinds/cluster.ts'
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import type { Release } from '#api/kinds/release.ts'
import {
  BRAKE_NAME,
  type BrakeSpec,
  type FleetBrake,
  fleetBrake,
  type Stop,
  type Turn,
} from '#api/kinds/fleet-brake.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { FIELD_MANAGERS, HUB_TARGET } from '#api/names.ts'
import { keyFrom } from '#api/schema/object-meta.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { jsonEqual } from '#lib/json.ts'
import { KeyedLock } from '#lib/keyed-lock.ts'
import { holdsOver, holdTarget } from '#permits/holds/reach.ts'
import { compareAndSwap, type Mutation } from '#runtime/compare-and-swap.ts'
import type { SharedInformer } from '#runtime/informers.ts'
import type { SyncContext } from '../hub/context.ts'
import type { Evidence } from './evidence.ts'
import { type BrakeLimits, brakeLimits } from './limits.ts'
import { needsOf } from './needs.ts'
import { isInForce, planStops, stoppedCommit } from './stops.ts'
import { planTurns, turnFor } from './turns.ts'

interface Shared {
  readonly context: Pick<SyncContext, 'client' | 'clock' | 'random'>
  readonly clusters: SharedInformer<Cluster>
  readonly releases: SharedInformer<Release>
  readonly holds: SharedInformer<OperationalHold>
  readonly policies: SharedInformer<DefenderPolicy>
}

export interface Decided {
  readonly spec: BrakeSpec
  readonly hasNewStops: boolean
  /** Clusters whose turn began or ended. */
  readonly turned: readonly string[]
}

export class BrakeBook {
  readonly #shared: Shared
  readonly #evidences = new Map<string, Evidence | undefined>()
  /** Clusters whose copy was observed without a turn. */
  readonly #returned = new Set<string>()
  readonly #locks = new KeyedLock({ what: 'decisions of the brake' })
  #held: { readonly object: FleetBrake | undefined } | undefined
  #isStale = true

  constructor(shared: Shared) {
    this.#shared = shared
  }

  get limits(): BrakeLimits {
    return brakeLimits(this.#shared.policies.list())
  }

  get spec(): BrakeSpec | undefined {
    return this.#held?.object?.spec
  }

  /** Evidence is undefined if the cluster did not answer. */
  observe(cluster: string, evidence: Evidence | undefined): void {
    this.#evidences.set(cluster, evidence)
  }

  knows(cluster: string): boolean {
    return this.#evidences.has(cluster)
  }

  forget(cluster: string): void {
    this.#evidences.delete(cluster)
    this.#returned.delete(cluster)
  }

  copied(cluster: string, hasTurn: boolean): void {
    if (hasTurn) this.#returned.delete(cluster)
    else this.#returned.add(cluster)
  }

  /** Until the first decision, a fleet with a limit starts no change. */
  mayBegin(cluster: string): boolean {
    return this.limits.maxChanging === undefined || this.spec?.turns?.some((t) => t.cluster === cluster) === true
  }

  stopOf(commit: string): Stop | undefined {
    return stoppedCommit(this.spec, commit)
  }

  /** The content of this cluster's copy. */
  copyFor(cluster: string): BrakeSpec {
    const { maxChanging, turns = [], stops } = this.spec ?? {}
    const own = turnFor(turns, cluster, this.#needs().has(cluster))
    return {
      cluster,
      ...defined({ maxChanging }),
      ...(own.length > 0 && { turns: own }),
      ...defined({ stops: stops?.filter(isInForce) }),
    }
  }

  /** Reads the hub's object again: a user may have deleted it. */
  reread(): void {
    this.#isStale = true
  }

  /** Until then a copy would report no limit at all. */
  get isRead(): boolean {
    return this.#held !== undefined
  }

  /** Undefined if the hub has no brake of its own, or if every write conflicts with another client's. */
  decide(signal: AbortSignal): Promise<Decided | undefined> {
    return this.#locks.run(HUB_TARGET, () => this.#decide(signal))
  }

  #needs() {
    const { releases, clusters } = this.#shared
    return needsOf({ releases: releases.list(), clusters: clusters.list(), evidences: this.#evidences })
  }

  async #decide(signal: AbortSignal): Promise<Decided | undefined> {
    const { client, clock, random } = this.#shared.context
    if (this.#isStale) this.#held = { object: await client.get(fleetBrake, { name: BRAKE_NAME }, { signal }) }
    this.#isStale = false
    const before = this.spec ?? {}
    const { asOf: _asOf, ...known } = before
    if (known.cluster === undefined && jsonEqual(this.#next(known, clock.now()), known))
      return { spec: before, hasNewStops: false, turned: [] }
    const mutate = (current: FleetBrake | undefined): Mutation<FleetBrake> => {
      // This hub is a member of another fleet and obeys that fleet's brake.
      if (current?.spec.cluster !== undefined)
        return { kind: 'Refuse', reason: `FleetBrake ${BRAKE_NAME} is the copy of another hub` }
      const { asOf: _, ...old } = current?.spec ?? {}
      const next = this.#next(old, clock.now())
      if (jsonEqual(next, old)) return { kind: 'Keep' }
      const spec = { ...next, asOf: timestamp(clock.now()) }
      return {
        kind: 'Write',
        object: {
          apiVersion: API_GROUP_VERSION,
          kind: fleetBrake.kind,
          metadata: current?.metadata ?? { name: BRAKE_NAME },
          spec,
        },
      }
    }
    const swap = await compareAndSwap(client, fleetBrake, { name: BRAKE_NAME }, mutate, {
      clock,
      random,
      held: this.#held?.object,
      fieldManager: FIELD_MANAGERS.sync,
      signal,
    })
    if (swap.kind !== 'Swapped') {
      this.#isStale = true
      return undefined
    }
    this.#held = { object: swap.object }
    const { spec } = swap.object
    return {
      spec,
      hasNewStops: !jsonEqual(spec.stops ?? [], before.stops ?? []),
      turned: differing(before.turns, spec.turns),
    }
  }

  #next(old: BrakeSpec, now: number): BrakeSpec {
    const { clusters, holds } = this.#shared
    const limits = this.limits
    const { maxChanging } = limits
    const brake = { metadata: { name: BRAKE_NAME } }
    const retries = holdsOver(holds.list(), { effects: ['Retry'], targets: [holdTarget(fleetBrake.kind, brake)], now })
    const stops = planStops({ before: old.stops ?? [], evidences: this.#evidences, limits, retries, now })
    const turns =
      maxChanging === undefined
        ? []
        : planTurns(
            {
              before: old.turns ?? [],
              needs: this.#needs(),
              isReturned: (cluster) => this.#returned.has(cluster),
              isThere: (cluster) => clusters.get(keyFrom(cluster)) !== undefined,
              max: maxChanging,
            },
            now,
          )
    return { ...defined({ maxChanging }), ...(turns.length > 0 && { turns }), ...(stops.length > 0 && { stops }) }
  }
}

const differing = (before: readonly Turn[] = [], now: readonly Turn[] = []): readonly string[] => {
  const at = (turns: readonly Turn[]) => new Map(turns.map((t) => [t.cluster, t.until]))
  const [a, b] = [at(before), at(now)]
  return [...new Set([...a.keys(), ...b.keys()])].filter((cluster) => a.get(cluster) !== b.get(cluster))
}
