// Saves a state repeatedly, one save at a time; skips the write if the disk already has the state.
import type { Clock } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'

export interface SaverOptions {
  readonly clock: Clock
  readonly log: Logger
  /** Logged when a save fails. */
  readonly failure: string
  readonly everyMs: number
  /** The current state, and how to write it. */
  /** The text that is on the disk already. */
  readonly saved?: string
  readonly state: () => { readonly text: string; readonly write: () => Promise<void> }
}

export class Saver {
  readonly #o: SaverOptions
  #timer: { cancel(): void } | undefined
  #saved: string
  #saving: Promise<void> = Promise.resolve()

  constructor(options: SaverOptions) {
    this.#o = options
    this.#saved = options.saved ?? ''
  }

  /** Schedules the next save after this time, and then regularly. */
  saveIn(ms = this.#o.everyMs): void {
    this.#timer?.cancel()
    this.#timer = this.#o.clock.after(ms, () => {
      void this.save()
      this.saveIn()
    })
  }

  /** Never rejects: after a failure the next save tries again. */
  save(): Promise<void> {
    this.#saving = this.#saving
      .then(() => this.#write())
      .catch((error: unknown) => this.#o.log.warn(this.#o.failure, { error }))
    return this.#saving
  }

  /** The text on the disk, when the save under way is over. */
  async saved(): Promise<string> {
    await this.#saving
    return this.#saved
  }

  /** Cancels scheduled saves. */
  stop(): void {
    this.#timer?.cancel()
  }

  async #write(): Promise<void> {
    const { text, write } = this.#o.state()
    if (text === this.#saved) return
    await write()
    this.#saved = text
  }
}
