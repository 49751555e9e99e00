// One role of the cluster that is measured, kept running as in production: a process that ends (having lost its leadership, say) is followed by another,
// and what all of them took is summed.
import { cpuSecondsOf, peakMb } from './process-use.ts'
import type { ProcessCluster } from '#test/e2e/rollout-replay/cluster.ts'

/** Use is read this often, for a process that has ended has none to read. */
const LOOK_MS = 500

export class KeptRole {
  readonly #cluster: ProcessCluster
  readonly #role: 'controllers' | 'defender'
  #pid: number
  #endedCpu = 0
  #lastCpu = 0
  #peakMb = 0
  #restarts = 0
  readonly #timer: NodeJS.Timeout

  constructor(cluster: ProcessCluster, role: 'controllers' | 'defender') {
    this.#cluster = cluster
    this.#role = role
    this.#pid = this.#start()
    this.#timer = setInterval(() => this.#look(), LOOK_MS)
  }

  #start(): number {
    return this.#cluster.run(this.#role, {
      onEnd: () => {
        this.#endedCpu += this.#lastCpu
        this.#lastCpu = 0
        this.#restarts++
        this.#pid = this.#start()
      },
    })
  }

  #look(): void {
    this.#lastCpu = cpuSecondsOf(this.#pid) ?? this.#lastCpu
    this.#peakMb = Math.max(this.#peakMb, peakMb(this.#pid) ?? 0)
  }

  get cpuSeconds(): number {
    this.#look()
    return this.#endedCpu + this.#lastCpu
  }

  get peakMb(): number {
    this.#look()
    return this.#peakMb
  }

  get restarts(): number {
    return this.#restarts
  }

  close(): void {
    clearInterval(this.#timer)
  }
}
