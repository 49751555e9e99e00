// Runs embedded API servers in processes apart from the host: a stuck control plane only blocks those in its own process.
import type { Clock } from '#lib/clock.ts'
import { EMBEDDED } from '../embedded.ts'
import type { EngineServer, EngineStart, PlaneData, PlaneEngine } from '../engine.ts'
import { type Child, PlaneProcess } from './plane-process.ts'

export interface ProcessEngineOptions {
  readonly clock: Clock
  /** Its servers' data; this process reads and replaces it while they do not run. */
  readonly data: PlaneData
  /** Maximum control planes per process; 1: each has its own. */
  readonly perProcess: number
  /** No process serves control planes of two tenants. */
  readonly tenantsApart?: boolean
  /** Starts a process that serves `servePlanes`. */
  readonly spawn: () => Child
}

export class ProcessEngine implements PlaneEngine {
  readonly minors = EMBEDDED.capabilities.minors
  readonly mend: PlaneData['mend']
  readonly snapshot: PlaneData['snapshot']
  readonly restore: PlaneData['restore']
  readonly #o: ProcessEngineOptions
  #processes: readonly PlaneProcess[] = []
  /** The last tenant of each process. */
  readonly #tenants = new WeakMap<PlaneProcess, string>()

  /** Starts the first process at once, so that it loads while its host does. */
  constructor(options: ProcessEngineOptions) {
    this.#o = options
    this.mend = options.data.mend
    this.snapshot = options.data.snapshot
    this.restore = options.data.restore
    this.#added()
  }

  async start(wanted: EngineStart): Promise<EngineServer> {
    const { tenant = '' } = wanted
    const seat = this.#processes.find((p) => this.#hasRoomFor(p, tenant)) ?? this.#added()
    this.#tenants.set(seat, tenant)
    const server = await seat.start(wanted)
    const tidy = (): void => this.#tidy()
    server.ended.then(tidy, tidy)
    return server
  }

  #hasRoomFor(process: PlaneProcess, tenant: string): boolean {
    const { perProcess, tenantsApart = false } = this.#o
    if (process.isOver || process.planes >= perProcess) return false
    return !tenantsApart || process.planes === 0 || this.#tenants.get(process) === tenant
  }

  /** Called once the host has stopped every control plane. */
  async close(): Promise<void> {
    await Promise.all(this.#processes.map((p) => p.end()))
  }

  #added(): PlaneProcess {
    const added = new PlaneProcess(this.#o.spawn(), this.#o.clock)
    this.#processes = [...this.#processes, added]
    void added.ended.then(() => {
      this.#processes = this.#processes.filter((p) => p !== added)
    })
    return added
  }

  /** Keeps one empty process for the next control plane. */
  #tidy(): void {
    const [, ...more] = this.#processes.filter((p) => !p.isOver && p.planes === 0)
    for (const each of more) void each.end()
  }
}
