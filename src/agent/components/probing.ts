// The probes of the version in use: they run while its process can answer, and restart with each start and each version.
import type { Clock } from '#lib/clock.ts'
import type { Random } from '#lib/random.ts'
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import type { ProbeReading } from './seen.ts'
import type { Probe, ProbeAnswer } from './probe.ts'
import { Prober } from './prober.ts'

export interface ProbingDeps {
  readonly clock: Clock
  readonly random: Random
  readonly runProbe: (probe: Probe, watchedMs: number) => Promise<ProbeAnswer>
  readonly onChange: () => void
}

const NO_PROBES: ProbeReading = { verdict: 'Unknown', isSettled: false }

export class Probing {
  readonly #deps: ProbingDeps
  #prober: Prober | undefined

  constructor(deps: ProbingDeps) {
    this.#deps = deps
  }

  get reading(): ProbeReading {
    return this.#prober?.reading() ?? NO_PROBES
  }

  /** Also without probes to run, or without a way to run them. */
  get hasVerdict(): boolean {
    return this.#prober === undefined || this.#prober.isUnaskable || this.reading.verdict !== 'Unknown'
  }

  watch(spec: MachineComponentSpec | undefined, isUp: boolean): void {
    if (spec === undefined || !isUp) return this.stop()
    this.#prober ??= new Prober(this.#deps, spec.probes ?? [])
  }

  stop(): void {
    this.#prober?.close()
    this.#prober = undefined
  }
}
