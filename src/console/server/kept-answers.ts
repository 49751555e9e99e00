// Keeps answers that took reads of a cluster for a moment, for one user each.
const KEPT_MS = 30_000
const MOST_KEPT = 50

/** By user and question. A user who reloads, or opens two windows, asks the API server once. */
export class KeptAnswers<T> {
  readonly #kept = new Map<string, { readonly at: number; readonly answer: Promise<T> }>()

  of(key: string, nowMs: number, make: () => Promise<T>): Promise<T> {
    for (const [old, { at }] of this.#kept) if (nowMs - at >= KEPT_MS) this.#kept.delete(old)
    const known = this.#kept.get(key)
    if (known !== undefined) return known.answer
    const answer = make()
    // A failure is not kept: the next request tries again.
    answer.catch(() => this.#kept.delete(key))
    this.#kept.set(key, { at: nowMs, answer })
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest)
    return answer
  }
}
