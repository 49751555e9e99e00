// The latest inspection results of open steps, gathered in the background.
import type { Clock } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import { BackgroundReads } from '#runtime/background-reads.ts'
import type { Inspector, CheckResult, WantedInspection } from './inspections.ts'

export class InspectionReads {
  readonly #inspector: Inspector
  readonly #reads: BackgroundReads<CheckResult>

  constructor(inspector: Inspector, clock: Pick<Clock, 'now'>, wake: (set: string) => void) {
    this.#inspector = inspector
    this.#reads = new BackgroundReads({ clock, wake, failed: (e) => ({ holds: false, seen: messageOf(e) }) })
  }

  get can(): Inspector['can'] {
    return this.#inspector.can
  }

  read(
    set: { readonly name: string; readonly uid: string },
    wanted: readonly WantedInspection[],
  ): ReadonlyMap<string, CheckResult> {
    const take = ({ key, inspection }: WantedInspection) => ({
      key,
      take: (signal: AbortSignal) => this.#inspector.check(inspection, signal),
    })
    return new Map([...this.#reads.read(set, wanted.map(take))].map(([key, { value }]) => [key, value]))
  }

  /** Keys of the first looks after a restart, or at a new step. */
  pending(uid: string): ReadonlySet<string> {
    return this.#reads.pending(uid)
  }

  static readonly againMs = BackgroundReads.againMs

  forget(uid: string): void {
    this.#reads.forget(uid)
  }

  stop(): void {
    this.#reads.stop()
  }
}
