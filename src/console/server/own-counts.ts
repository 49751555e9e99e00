// The last hours of a few counts of each cluster, in memory: what the page can show of the time before without Prometheus. A moment in which a cluster did not answer is missing.
import type { Clock, Timer } from '#lib/clock.ts'
import type { MachineCounts } from '../report.ts'
import type { ClusterState } from './cluster-cache.ts'
import { machineCounts } from './views/clusters.ts'

const EVERY_MS = 30_000
/** Six hours: 720 moments, some 60 KB a cluster. */
const MOST = 720

export class OwnCounts {
  readonly #clock: Clock
  readonly #clusters: () => readonly ClusterState[]
  readonly #seen = new Map<string, MachineCounts[]>()
  #timer: Timer | undefined

  constructor(clock: Clock, clusters: () => readonly ClusterState[]) {
    this.#clock = clock
    this.#clusters = clusters
  }

  start(): void {
    this.#timer = this.#clock.after(EVERY_MS, () => {
      this.take()
      this.start()
    })
  }

  stop(): void {
    this.#timer?.cancel()
  }

  take(): void {
    const clusters = this.#clusters()
    const names = new Set(clusters.map(({ name }) => name))
    for (const name of this.#seen.keys()) if (!names.has(name)) this.#seen.delete(name)
    for (const cluster of clusters) {
      if (cluster.state !== 'Connected') continue
      const kept = this.#seen.get(cluster.name) ?? []
      kept.push({ at: this.#clock.now(), ...machineCounts(cluster) })
      this.#seen.set(cluster.name, kept.slice(-MOST))
    }
  }

  of(cluster: string): readonly MachineCounts[] {
    return this.#seen.get(cluster) ?? []
  }
}
