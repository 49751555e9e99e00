// Lets callers that request the same thing at the same moment share one read, and never returns an answer older than the question: a caller that comes while a
// read is running waits for the next one, together with all that come until it begins.

interface Turn<T> {
  readonly now: Promise<T>
  next: Promise<T> | undefined
}

export class SharedReads<T> {
  readonly #read: (key: string) => Promise<T>
  readonly #turns = new Map<string, Turn<T>>()

  /** `read` is shared, so it goes by no single asker's deadline: it must end by one of its own. */
  constructor(read: (key: string) => Promise<T>) {
    this.#read = read
  }

  /** Fails as the read did, or with the signal's reason when that comes first; the others still get their answer. */
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
