// Lets callers that request the same thing at the same time share one read, and never returns an answer older than the request: a caller that arrives during a
// read waits for the next one, together with all who arrive before it starts.

interface Turn<T> {
  readonly now: Promise<T>
  next: Promise<T> | undefined
}

export class SharedReads<T> {
  readonly #read: (key: string) => Promise<T>
  readonly #turns = new Map<string, Turn<T>>()

  /** `read` is shared, so no single caller's deadline applies: it must have its own. */
  constructor(read: (key: string) => Promise<T>) {
    this.#read = read
  }

  /** Fails like the read, or with the signal's reason if that comes first; the other callers still get their answer. */
  of(key: string, signal?: AbortSignal): Promise<T> {
    const turn = this.#turns.get(key)
    if (turn === undefined) return until(this.#begin(key), signal)
    turn.next ??= turn.now.then(
      () => this.#begin(key),
      () => this.#begin(key),
    )
    return until(turn.next, signal)
  }

  #begin(key: string): Promise<T> {
    const turn: Turn<T> = { now: this.#read(key), next: undefined }
    this.#turns.set(key, turn)
    const end = () => {
      if (turn.next === undefined) this.#turns.delete(key)
    }
    turn.now.then(end, end)
    return turn.now
  }
}

function until<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(signal.reason as Error)
    if (signal.aborted) giveUp()
    signal.addEventListener('abort', giveUp, { once: true })
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp))
  })
}
