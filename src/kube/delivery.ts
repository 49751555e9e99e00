// Delivers changes to one handler, one at a time and in order. While a slow handler works, changes to the same object are merged.
import type { KubeObject } from '#api/schema/object.ts'
import type { Change } from './replica.ts'

/** `old` undefined: new. `now` undefined: deleted, and `old` is the last known state. */
export type Handler<T extends KubeObject> = (old: T | undefined, now: T | undefined) => void | Promise<void>

export interface HandlerOptions {
  /** False: every change is delivered, and the stream waits for a slow handler. */
  readonly coalesce?: boolean
}

/** Most changes that wait for a handler that needs every one; beyond it the stream pauses. */
const MAX_WAITING = 1_000

export class Delivery<T extends KubeObject> {
  readonly #handler: Handler<T>
  readonly #coalesce: boolean
  readonly #failed: (error: unknown) => void
  /** By key when coalescing, otherwise by running number. A key has at most two entries: a deletion and a creation. */
  readonly #waiting = new Map<string, Change<T>[]>()
  #count = 0
  #running = false
  #idle: (() => void)[] = []

  constructor(handler: Handler<T>, { coalesce = true }: HandlerOptions, failed: (error: unknown) => void) {
    this.#handler = handler
    this.#coalesce = coalesce
    this.#failed = failed
  }

  push(change: Change<T>): void {
    if (!this.#coalesce) this.#waiting.set(String(this.#count++), [change])
    else {
      const before = this.#waiting.get(change.key)
      if (before === undefined) this.#waiting.set(change.key, [change])
      else if (melt(before, change)) this.#waiting.delete(change.key)
    }
    if (!this.#running) this.#pump()
  }

  /** Undefined if there is room; else resolves once the handler has caught up. */
  room(): Promise<void> | undefined {
    if (this.#coalesce || this.#waiting.size < MAX_WAITING) return undefined
    return this.drained()
  }

  /** Resolves once the handler got everything pushed so far. */
  drained(): Promise<void> {
    if (!this.#running) return Promise.resolve()
    return new Promise((resolve) => this.#idle.push(resolve))
  }

  /** Continues synchronously while the handler does, so that a handler that only notes a key costs no turn of the event loop. */
  #pump(): void {
    this.#running = true
    for (let next = this.#take(); next !== undefined; next = this.#take()) {
      const busy = this.#call(next)
      if (busy === undefined) continue
      void busy.then(() => this.#pump())
      return
    }
    this.#running = false
    const idle = this.#idle
    this.#idle = []
    for (const resolve of idle) resolve()
  }

  #take(): Change<T> | undefined {
    for (const [key, changes] of this.#waiting) {
      const next = changes.shift()
      if (changes.length === 0) this.#waiting.delete(key)
      if (next !== undefined) return next
    }
    return undefined
  }

  /** A failing handler loses this change but not the next ones. */
  #call({ old, now }: Change<T>): Promise<void> | undefined {
    try {
      return this.#handler(old, now)?.catch(this.#failed)
    } catch (e) {
      this.#failed(e)
      return undefined
    }
  }
}

/** Merges the change into the waiting one for the same key. True if nothing is left to deliver. */
function melt<T extends KubeObject>(waiting: Change<T>[], change: Change<T>): boolean {
  const last = waiting.at(-1)
  // Deliver a deletion before a creation: they are two objects with the same name.
  if (last === undefined || last.now === undefined) {
    waiting.push(change)
    return false
  }
  waiting.pop()
  if (last.old !== undefined || change.now !== undefined)
    waiting.push({ key: change.key, old: last.old, now: change.now })
  return waiting.length === 0
}
