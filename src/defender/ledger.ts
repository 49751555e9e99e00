// The ledger while one decision is made: slots taken and freed, grants counted, and nothing beyond its bounds. What comes out is the next ledger.
import {
  LEDGER_NAME,
  MAX_GRANTS,
  MAX_LEDGER_BYTES,
  defenderLedger,
  type DefenderLedger,
  type LedgerSpec,
} from '#api/kinds/defender-ledger.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { jsonEqual } from '#lib/json.ts'
import { microTimestamp } from '#lib/clock.ts'
import type { BreakerEntry } from './breaker.ts'
import { RateCounter, type Series } from './rates.ts'

export type Grant = NonNullable<LedgerSpec['grants']>[number]
export type Counts = NonNullable<LedgerSpec['counts']>

const NO_COUNTS: Counts = { granted: 0, denied: 0, succeeded: 0, failed: 0 }

/** Entries of rates that the kind allows. */
const MAX_RATES = 2_000
/** What metadata, breakers, counts and the rest may take of the bytes. */
const RESERVED_BYTES = 32 * 1024
/** More than any bucket takes. */
const BUCKET_BYTES = 480

/** While rates are remembered, the time in the ledger is never older than this, so that a restart knows how long ago it was. */
const AS_OF_EVERY_MS = 60_000

export const emptyLedger = (spec: LedgerSpec): DefenderLedger => ({
  apiVersion: API_GROUP_VERSION,
  kind: defenderLedger.kind,
  metadata: { name: LEDGER_NAME },
  spec,
})

export const asOfMs = (spec: LedgerSpec | undefined): number | undefined => {
  const ms = spec?.asOf === undefined ? NaN : Date.parse(spec.asOf)
  return Number.isNaN(ms) ? undefined : ms
}

const slotKey = (target: string, permitUid: string): string => `${target}\n${permitUid}`

export class WorkingLedger {
  readonly now: number
  readonly #before: LedgerSpec | undefined
  readonly #grants = new Map<string, Grant>()
  readonly #breakers = new Map<string, BreakerEntry>()
  readonly rates: RateCounter
  blames: NonNullable<LedgerSpec['blames']>
  #counts: Counts
  #bytes = RESERVED_BYTES

  constructor(before: LedgerSpec | undefined, now: number) {
    this.#before = before
    this.now = now
    this.rates = new RateCounter(before?.rates ?? [], now)
    for (const grant of before?.grants ?? []) this.#put(grant)
    for (const breaker of before?.breakers ?? []) this.#breakers.set(breaker.policy, breaker)
    this.#counts = before?.counts ?? NO_COUNTS
    this.blames = before?.blames ?? []
    this.#bytes += this.rates.size * BUCKET_BYTES
  }

  get isNew(): boolean {
    return this.#before === undefined
  }

  grants(): readonly Grant[] {
    return [...this.#grants.values()]
  }

  grantOf(target: string, permitUid: string): Grant | undefined {
    return this.#grants.get(slotKey(target, permitUid))
  }

  /** Why there is no room for one more grant, or undefined. */
  isFull(grant: Grant, series: readonly Series[]): string | undefined {
    if (this.#grants.size >= MAX_GRANTS) return `${this.#grants.size} grants in flight`
    const entries = series.filter((s) => this.rates.needsEntry(s)).length
    if (this.rates.size + entries > MAX_RATES) return `${this.rates.size} entries of rates`
    const bytes = this.#bytes + bytesOf(grant) + entries * BUCKET_BYTES
    return bytes > MAX_LEDGER_BYTES ? `${this.#bytes} bytes` : undefined
  }

  take(grant: Grant, series: readonly Series[]): void {
    this.#put(grant)
    for (const s of series) {
      if (this.rates.needsEntry(s)) this.#bytes += BUCKET_BYTES
      this.rates.add(s)
    }
    this.#counts = { ...this.#counts, granted: this.#counts.granted + 1 }
  }

  /** Something that takes no slot, such as a deletion by others. False when there is no room to count it. */
  countOnly(series: readonly Series[]): boolean {
    const entries = series.filter((s) => this.rates.needsEntry(s)).length
    const isFull = this.rates.size + entries > MAX_RATES || this.#bytes + entries * BUCKET_BYTES > MAX_LEDGER_BYTES
    if (isFull) return false
    for (const s of series) this.rates.add(s)
    this.#bytes += entries * BUCKET_BYTES
    return true
  }

  /** A slot whose grant was counted before, found again in its permit after the ledger was lost. */
  adopt(grant: Grant): void {
    this.#put(grant)
  }

  replace(grant: Grant): void {
    this.#grants.set(slotKey(grant.target, grant.permitUid), grant)
  }

  free(grant: Grant): void {
    if (this.#grants.delete(slotKey(grant.target, grant.permitUid))) this.#bytes -= bytesOf(grant)
  }

  add(what: keyof Counts, n = 1): void {
    this.#counts = { ...this.#counts, [what]: this.#counts[what] + n }
  }

  breaker(policy: string): BreakerEntry | undefined {
    return this.#breakers.get(policy)
  }

  setBreaker(entry: BreakerEntry): void {
    this.#breakers.set(entry.policy, entry)
  }

  /** Breakers of policies that are no more are forgotten. */
  keepBreakers(policies: ReadonlySet<string>): void {
    for (const name of this.#breakers.keys()) if (!policies.has(name)) this.#breakers.delete(name)
  }

  /** The next ledger, or undefined when there is nothing to write. */
  next(leader: string): LedgerSpec | undefined {
    const content = {
      grants: this.grants().toSorted(byTarget),
      rates: this.rates.buckets(),
      breakers: [...this.#breakers.values()].toSorted((a, b) => (a.policy < b.policy ? -1 : 1)),
      counts: this.#counts,
      blames: this.blames,
    }
    const { sequence = 0, asOf: _asOf, leader: _leader, ...before } = this.#before ?? {}
    const isSame = this.#before !== undefined && jsonEqual(content, { ...EMPTY, ...before })
    if (isSame && (content.rates.length === 0 || this.now - (asOfMs(this.#before) ?? 0) < AS_OF_EVERY_MS))
      return undefined
    return { sequence: sequence + 1, asOf: microTimestamp(this.now), leader, ...content }
  }

  #put(grant: Grant): void {
    this.#grants.set(slotKey(grant.target, grant.permitUid), grant)
    this.#bytes += bytesOf(grant)
  }
}

const EMPTY = { grants: [], rates: [], breakers: [], counts: NO_COUNTS, blames: [] }

const bytesOf = (grant: Grant): number => JSON.stringify(grant).length + 2

const byTarget = (a: Grant, b: Grant): number =>
  slotKey(a.target, a.permitUid) < slotKey(b.target, b.permitUid) ? -1 : 1
