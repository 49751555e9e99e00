// Requests from repairs with a permit for one component, in order; each is answered once.

export type AskResult = { readonly kind: 'Done' } | { readonly kind: 'Failed'; readonly message: string }
export type AskKind = 'Restart' | 'Reinstall'

export interface Ask {
  readonly kind: AskKind
  readonly done: (result: AskResult) => void
}

/** A step that was reported as failed must not run when the node thaws. */
export const REFUSED: AskResult = { kind: 'Failed', message: 'the node was frozen by a file on the node' }
export const failed = (message: string): AskResult => ({ kind: 'Failed', message })

export class Asks {
  #waiting: Ask[] = []
  /** The request whose switch is in progress. */
  #reinstalling: Ask | undefined

  get next(): AskKind | undefined {
    return this.#waiting[0]?.kind
  }

  add(kind: AskKind): Promise<AskResult> {
    return new Promise((done) => void this.#waiting.push({ kind, done }))
  }

  take(kind: AskKind): Ask | undefined {
    return this.next === kind ? this.#waiting.shift() : undefined
  }

  refuseAll(): void {
    for (const ask of this.#waiting.splice(0)) ask.done(REFUSED)
  }

  /** Holds the answer until the switch ends. */
  holdUntilSwitched(ask: Ask): void {
    this.#reinstalling = ask
  }

  drop(): void {
    this.#reinstalling = undefined
  }

  switched(result: AskResult): void {
    this.#reinstalling?.done(result)
    this.#reinstalling = undefined
  }
}
