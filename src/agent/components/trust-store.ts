// The trust document in force on this node. It only moves forward; the highest sequence number survives restarts and reinstalls.
import { timestamp, type Clock } from '#lib/clock.ts'
import { isObject } from '#lib/json.ts'
import { anchorOf, judgeTrust, parseSignedTrust } from '#api/trust/trust-document.ts'
import type { SignedTrust, TrustAnchor, TrustDocument } from '#api/trust/trust-document.ts'
import type { Condition } from '#api/schema/object.ts'
import { readState, removeDurably, writeDurably } from '../files/durable.ts'
import type { Files } from '../files/port.ts'

export interface TrustStoreDeps {
  readonly files: Files
  readonly path: string
  /** Where an administrator of the host puts a document that replaces the keys; see `#adoptFromHost`. */
  readonly fromHost: string
  readonly clock: Pick<Clock, 'now'>
  /** The document that the node joined with. */
  readonly anchor: TrustAnchor
  /** Fetches the newest signed document; undefined when there is none. */
  readonly fetchNewest: () => Promise<unknown>
  /** Called when a newer document was refused, or the refusal ended. */
  readonly onRefusal?: (refusal: TrustRefusal | undefined) => void
}

export type TrustReading =
  | {
      readonly kind: 'Trusted'
      readonly document: TrustDocument
      /** Why the newest offered document is not in force. */
      readonly refused?: string
    }
  | { readonly kind: 'None'; readonly reason: string }

/** The last offered document was refused and is not in force. */
export interface TrustRefusal {
  readonly message: string
  readonly sinceMs: number
}

const MOST_MESSAGE = 200

/** Condition for the Machine; undefined while the newest document is in force. */
export const trustCondition = (refusal: TrustRefusal | undefined): Condition | undefined =>
  refusal === undefined
    ? undefined
    : {
        type: 'TrustRefused',
        status: 'True',
        reason: 'TrustRefused',
        message: refusal.message.slice(0, MOST_MESSAGE),
        lastTransitionTime: timestamp(refusal.sinceMs),
      }

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
  #check: Promise<TrustReading> | undefined
  #refusal: TrustRefusal | undefined

  constructor(deps: TrustStoreDeps) {
    this.#deps = deps
  }

  /** Why the newest offered document is not in force; undefined when it is. */
  get refusal(): TrustRefusal | undefined {
    return this.#refusal
  }

  /**
   * Checks for a newer document first. If there is none, the last accepted document stays in force. Components ask at the same moment and share one check,
   * because two checks would overwrite each other's document.
   */
  current(): Promise<TrustReading> {
    this.#check ??= this.#checkForNewer().finally(() => {
      this.#check = undefined
    })
    return this.#check
  }

  async #checkForNewer(): Promise<TrustReading> {
    await this.#load()
    await this.#adoptFromHost()
    const candidate = await this.#deps.fetchNewest()
    const refusal = candidate === undefined ? undefined : await this.#consider(candidate)
    // Nothing was fetched: the result of the last offer still applies.
    if (candidate !== undefined) this.#note(refusal)
    const refused = this.#refusal === undefined ? {} : { refused: this.#refusal.message }
    if (this.#held !== undefined) return { kind: 'Trusted', document: this.#held.document, ...refused }
    return { kind: 'None', reason: refusal ?? 'no trust document can be fetched' }
  }

  #note(message: string | undefined): void {
    if (message === this.#refusal?.message) return
    this.#refusal = message === undefined ? undefined : { message, sinceMs: this.#deps.clock.now() }
    this.#deps.onRefusal?.(this.#refusal)
  }

  async #load(): Promise<void> {
    if (this.#isLoaded) return
    const { files, path } = this.#deps
    this.#held = await readState(files, path, parseSignedTrust)
    this.#isLoaded = true
  }

  /**
   * Lost keys cannot sign their successors. Instead root on this host, who could replace the agent anyway, provides a document. It must verify with its
   * own keys and may not be older than the one in force. A document that does not verify stays where it is, and is reported.
   */
  async #adoptFromHost(): Promise<void> {
    const { files, path, fromHost, clock } = this.#deps
    const candidate = await readState(files, fromHost, parseSignedTrust)
    if (candidate === undefined) return
    const own = { ...anchorOf(candidate.document), sequence: this.#held?.document.sequence ?? 0 }
    const verdict = judgeTrust(own, candidate, clock.now())
    if (verdict.kind === 'Refused')
      return this.#note(`${trustNameOf(candidate)} in ${fromHost} refused: ${verdict.reason}`)
    await writeDurably(files, path, JSON.stringify(candidate))
    this.#held = candidate
    await removeDurably(files, fromHost)
  }

  async #consider(candidate: unknown): Promise<string | undefined> {
    const { files, path, anchor, clock } = this.#deps
    const against = this.#held === undefined ? anchor : anchorOf(this.#held.document)
    // No signature can match keys that never existed.
    if (against.keys.length === 0) return NO_KEYS
    const verdict = judgeTrust(against, candidate, clock.now())
    const signed = parseSignedTrust(candidate)
    if (verdict.kind === 'Refused') return `${trustNameOf(signed)} refused: ${verdict.reason}`
    if (signed === undefined || signed.document.sequence === this.#held?.document.sequence) return undefined
    await writeDurably(files, path, JSON.stringify(signed))
    this.#held = signed
    return undefined
  }
}

const NO_KEYS =
  'this host joined before the installation named keys (setting trust); with it, kubenode machine readmit NAME --token, then join-command'

const trustNameOf = (signed: SignedTrust | undefined): string =>
  signed === undefined ? 'trust document' : `trust sequence ${signed.document.sequence}`
