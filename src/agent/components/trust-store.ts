// The trust document that this node obeys. It only moves forward; the highest sequence is remembered over restarts and reinstalls of anything.
import type { Clock } from '#lib/clock.ts'
import { isObject } from '#lib/json.ts'
import { anchorOf, judgeTrust, parseSignedTrust } from '#api/trust/trust-document.ts'
import type { SignedTrust, TrustAnchor, TrustDocument } from '#api/trust/trust-document.ts'
import { readState, writeDurably } from '../files/durable.ts'
import type { Files } from '../files/port.ts'

export interface TrustStoreDeps {
  readonly files: Files
  readonly path: string
  readonly clock: Pick<Clock, 'now'>
  /** What the node was given when it joined. */
  readonly anchor: TrustAnchor
  /** The newest signed document that can be had; undefined when none can be reached. */
  readonly fetchNewest: () => Promise<unknown>
}

export type TrustReading =
  | { readonly kind: 'Trusted'; readonly document: TrustDocument }
  | { readonly kind: 'None'; readonly reason: string }

export const isTrustAnchor = (v: unknown): v is TrustAnchor =>
  isObject(v) &&
  Number.isSafeInteger(v['sequence']) &&
  Number.isSafeInteger(v['threshold']) &&
  Number(v['threshold']) >= 1 &&
  Array.isArray(v['keys']) &&
  v['keys'].every((k) => isObject(k) && typeof k['keyId'] === 'string' && typeof k['publicKey'] === 'string')

export class TrustStore {
  readonly #deps: TrustStoreDeps
  #held: SignedTrust | undefined
  #isLoaded = false
  #look: Promise<TrustReading> | undefined

  constructor(deps: TrustStoreDeps) {
    this.#deps = deps
  }

  /**
   * Looks for a newer document first; what was accepted before goes on to count when none is there. Components ask at the same moment:
   * they share one look, since two would write over each other's document.
   */
  current(): Promise<TrustReading> {
    this.#look ??= this.#lookForNewer().finally(() => {
      this.#look = undefined
    })
    return this.#look
  }

  async #lookForNewer(): Promise<TrustReading> {
    await this.#load()
    const candidate = await this.#deps.fetchNewest()
    const refusal = candidate === undefined ? 'no trust document can be fetched' : await this.#consider(candidate)
    if (this.#held !== undefined) return { kind: 'Trusted', document: this.#held.document }
    return { kind: 'None', reason: refusal ?? 'there is none' }
  }

  async #load(): Promise<void> {
    if (this.#isLoaded) return
    const { files, path } = this.#deps
    this.#held = await readState(files, path, parseSignedTrust)
    this.#isLoaded = true
  }

  async #consider(candidate: unknown): Promise<string | undefined> {
    const { files, path, anchor, clock } = this.#deps
    const against = this.#held === undefined ? anchor : anchorOf(this.#held.document)
    const verdict = judgeTrust(against, candidate, clock.now())
    if (verdict.kind === 'Refused') return `the trust document is refused: ${verdict.reason}`
    const signed = parseSignedTrust(candidate)
    if (signed === undefined || signed.document.sequence === this.#held?.document.sequence) return undefined
    await writeDurably(files, path, JSON.stringify(signed))
    this.#held = signed
    return undefined
  }
}
