// The replicas of a hosted program on the hub: each keeps a Lease of its own that lists the Clusters it runs the program for. A replica whose Lease was not
// renewed for its whole duration, by the clock of the reader, no longer counts. While the hub does not answer, the last known replicas count.
import { ANNOTATIONS } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import type { Clock } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import {
  annotated,
  hostsIn,
  isOver,
  type Lease,
  leaseType,
  newLease,
  renewed,
  type Sighting,
  sighted,
  taken,
} from '#runtime/lease.ts'
import { writeLease } from '#runtime/write-lease.ts'
import type { Replica } from './shard.ts'

export interface ReplicaTimes {
  readonly leaseMs: number
  readonly everyMs: number
}
export const REPLICA_TIMES: ReplicaTimes = { leaseMs: 15_000, everyMs: 3_000 }

/** A Lease that was not renewed for so many durations belongs to a pod that was deleted. */
const DEAD_AFTER = 40

export interface ReplicasOptions {
  readonly client: KubeClient
  readonly clock: Clock
  readonly log: Logger
  readonly namespace: string
  /** Name of this replica and of its Lease. */
  readonly name: string
  readonly times: ReplicaTimes
}

export class Replicas {
  readonly #o: ReplicasOptions
  #own: Lease | undefined
  #sightings = new Map<string, Sighting>()
  #last: readonly Replica[]

  constructor(options: ReplicasOptions) {
    this.#o = options
    this.#last = [{ name: options.name, hosts: new Set() }]
  }

  /** Renews the own Lease, and returns the living replicas, this one included. */
  async pass(hosts: readonly string[], signal: AbortSignal): Promise<readonly Replica[]> {
    const { log, name } = this.#o
    try {
      await this.#renew(hosts, signal)
      this.#last = await this.#living(signal)
    } catch (error) {
      if (!signal.aborted) log.warn('the hub does not answer: the known replicas count', { error: messageOf(error) })
    }
    return [...this.#last.filter((r) => r.name !== name), { name, hosts: new Set(hosts) }]
  }

  /** The others need not wait until it runs out. */
  async leave(): Promise<void> {
    const { client, namespace, name, times } = this.#o
    await client.delete(leaseType, { namespace, name }, { timeoutMs: times.everyMs }).catch(() => undefined)
  }

  async #renew(hosts: readonly string[], signal: AbortSignal): Promise<void> {
    const { client, clock, namespace, name, times } = this.#o
    const call = { signal, timeoutMs: times.everyMs }
    const key = { namespace, name }
    const known = this.#own ?? (await client.get(leaseType, key, call)) ?? newLease(key)
    const next =
      known.metadata.uid === undefined ? taken(known, name, times.leaseMs, clock.now()) : renewed(known, clock.now())
    this.#own = undefined
    const outcome = await writeLease(client, annotated(next, { [ANNOTATIONS.hosts]: JSON.stringify(hosts) }), call)
    if (outcome.kind === 'Applied') this.#own = outcome.object
    else throw outcome.error
  }

  async #living(signal: AbortSignal): Promise<readonly Replica[]> {
    const { client, clock, namespace, name, times } = this.#o
    const { items } = await client.list(leaseType, { namespace, signal, timeoutMs: times.everyMs })
    const now = clock.monotonic()
    const sightings = new Map(
      items.map((lease) => {
        const of = lease.metadata.name ?? ''
        return [of, sighted(lease, this.#sightings.get(of), now)] as const
      }),
    )
    this.#sightings = sightings
    const ageOf = (of: string): number => now - (sightings.get(of)?.at ?? now)
    for (const { metadata } of items)
      if (metadata.name !== name && ageOf(metadata.name ?? '') > DEAD_AFTER * times.leaseMs)
        await client.delete(leaseType, { namespace, name: metadata.name ?? '' }, { signal }).catch(() => undefined)
    return items.flatMap((lease): readonly Replica[] => {
      const of = lease.metadata.name ?? ''
      const sighting = sightings.get(of)
      if (sighting === undefined || isOver(lease, sighting, now, times.leaseMs)) return []
      return [{ name: of, hosts: hostsIn(lease) }]
    })
  }
}
