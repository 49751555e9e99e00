// Decides when a cluster's machines are counted for its Cluster's status, and keeps the last count. Counts rarely, because a count reads every machine.
import type { Clock } from '#lib/clock.ts'
import type { Random } from '#lib/random.ts'
import type { MachineCount } from '../cluster/readings.ts'

const EVERY_MS = 5 * 60_000
/** 10,000 machines take about 40 MB, so they are counted every twenty minutes. */
const EACH_MS = 90

interface Known {
  readonly nextAt: number
  /** Undefined when the machines could not be read. */
  readonly last: MachineCount | undefined
}

export class MachineCounts {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #random: Pick<Random, 'below'>
  readonly #known = new Map<string, Known>()

  constructor(clock: Pick<Clock, 'monotonic'>, random: Pick<Random, 'below'>) {
    this.#clock = clock
    this.#random = random
  }

  /** `reported`: the count in the status. After a restart, clusters that have one are spread over a period. */
  isDue(key: string, reported: MachineCount | undefined): boolean {
    const now = this.#clock.monotonic()
    const known = this.#known.get(key)
    if (known !== undefined) return now >= known.nextAt
    if (reported === undefined) return true
    this.#known.set(key, { nextAt: now + this.#random.below(periodMs(reported.total)), last: reported })
    return false
  }

  last(key: string): MachineCount | undefined {
    return this.#known.get(key)?.last
  }

  /**
   * A failed count also waits a full period: its cause rarely ends within a minute. A count of zero costs nothing and is repeated right away: a new
   * cluster gets machines soon, and the prune guard needs the number of machines that would go with a Cluster.
   */
  counted(key: string, count: MachineCount | undefined): void {
    const total = count?.total ?? this.#known.get(key)?.last?.total ?? 0
    const afterMs = count?.total === 0 ? 0 : periodMs(total)
    this.#known.set(key, { nextAt: this.#clock.monotonic() + afterMs, last: count })
  }

  /** The cluster is deleted, or does not answer: it is counted again when it answers. */
  forget(key: string): void {
    this.#known.delete(key)
  }
}

const periodMs = (total: number): number => EVERY_MS + total * EACH_MS
