// Polls the Leases of a cluster's programs by name. A watch would deliver every renewal: five programs renew every two seconds.
import { programLeaseName, SYSTEM_NAMESPACE } from '#api/names.ts'
import type { Clock } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import type { Random } from '#lib/random.ts'
import type { KubeClient } from '#kube/client.ts'
import { leaseType } from '#runtime/lease.ts'
import { type Program, PROGRAMS } from '#explain/programs.ts'
import { notYetRead, type ProgramState, type ProgramReading, watched, type Watching } from './program-state.ts'

/** A leader renews every two seconds, so its second reading differs. */
const FIRST_EVERY_MS = 3_000
/** An unavailable program is detected within half a minute. */
const EVERY_MS = 10_000
const READ_WITHIN_MS = 5_000

interface ProgramWatchOptions {
  readonly client: Pick<KubeClient, 'get'>
  readonly clock: Clock
  readonly random: Random
  readonly onChange: () => void
}

export class ProgramWatch {
  readonly #options: ProgramWatchOptions
  readonly #watching = new Map<Program, Watching>(
    PROGRAMS.map((program) => [program, notYetRead(program, programLeaseName(program))]),
  )

  constructor(options: ProgramWatchOptions) {
    this.#options = options
  }

  get states(): readonly ProgramState[] {
    return [...this.#watching.values()].map(({ shown }) => shown)
  }

  /** Runs until the signal aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options
    while (!signal.aborted) {
      await this.#readAll(signal)
      const isSettling = this.states.some(({ state, message }) => state === 'Unknown' && message === undefined)
      await clock.sleep(random.jitter(isSettling ? FIRST_EVERY_MS : EVERY_MS), signal).catch(() => undefined)
    }
  }

  async #readAll(signal: AbortSignal): Promise<void> {
    const { clock, onChange } = this.#options
    const before = JSON.stringify(this.states)
    await Promise.all(
      [...this.#watching].map(async ([program, memory]) => {
        const reading = await this.#read(program, signal)
        if (signal.aborted) return
        const at = { monotonic: clock.monotonic(), now: clock.now() }
        this.#watching.set(program, watched(memory, reading, at))
      }),
    )
    if (JSON.stringify(this.states) !== before) onChange()
  }

  async #read(program: Program, signal: AbortSignal): Promise<ProgramReading> {
    const key = { namespace: SYSTEM_NAMESPACE, name: programLeaseName(program) }
    try {
      const lease = await this.#options.client.get(leaseType, key, { timeoutMs: READ_WITHIN_MS, signal })
      return lease === undefined ? { kind: 'Absent' } : { kind: 'Lease', lease }
    } catch (e) {
      return { kind: 'NotRead', message: messageOf(e) }
    }
  }
}
