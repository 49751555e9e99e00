// The ledger during one decision: takes and frees slots and counts grants, within its limits. The result is the next ledger.
import {
  LEDGER_NAME,
  MAX_GRANTS,
  MAX_LEDGER_BYTES,
  MAX_RESERVATIONS,
  defenderLedger,
  type DefenderLedger,
  type LedgerSpec,
} from '#api/kinds/defender-ledger.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { jsonEqual } from '#lib/json.ts'
import { microTimestamp } from '#lib/clock.ts'
import type { BreakerEntry } from './breaker.ts'
import { RateCounter, type Series } from './rates.ts'
import { type Way, type WayBack, afterGoingBack, afterGoingElsewhere, liveWaysBack, mayGoBack } from './ways-back.ts'

type StoredGrant = NonNullable<LedgerSpec['grants']>[number]
export type Grant = StoredGrant & { readonly state: NonNullable<StoredGrant['state']> }
export type Reserved = NonNullable<LedgerSpec['reserved']>[number]
export type AlteredPolicy = NonNullable<LedgerSpec['alteredPolicies']>[number]
export type Reservation = NonNullable<LedgerSpec['reservations']>[number]
type Blames = NonNullable<LedgerSpec['blames']>
export type Counts = NonNullable<LedgerSpec['counts']>

const NO_COUNTS: Counts = { granted: 0, denied: 0, succeeded: 0, failed: 0 }

/** Limit of the kind on rate entries. */
const MAX_RATES = 2_000
/** The same on breakers. */
const MAX_BREAKERS = 64
/** Bytes for names, counts and braces. Everything else is measured. */
const RESERVED_BYTES = 4 * 1024
/** More than any bucket takes. */
const BUCKET_BYTES = 480

/** More than any way back takes. */
const WAY_BACK_BYTES = 480

/** While rates are stored, the ledger's time is never older than this, so that a restart knows how long ago it was. */
const AS_OF_EVERY_MS = 60_000

export const emptyLedger = (spec: LedgerSpec): DefenderLedger => ({
  apiVersion: API_GROUP_VERSION,
  kind: defenderLedger.kind,
  metadata: { name: LEDGER_NAME },
  spec: storedLedger(spec),
})

export const grantsOf = (spec: LedgerSpec | undefined): readonly Grant[] => (spec?.grants ?? []).map(statedGrant)

const isStated = (grant: StoredGrant): grant is Grant => grant.state !== undefined

/** The stored form. A thousand grants fit only because implied fields are omitted. */
export const storedLedger = (spec: LedgerSpec): LedgerSpec => ({ ...spec, grants: spec.grants?.map(storedGrant) ?? [] })

/** A grant never changes, and each decision reads all of them: both forms of one are made once. */
const STATED = new WeakMap<StoredGrant, Grant>()
const STORED = new WeakMap<StoredGrant, StoredGrant>()

function statedGrant(stored: StoredGrant): Grant {
  if (isStated(stored)) return stored
  const known = STATED.get(stored)
  if (known !== undefined) return known
  const grant: Grant = { ...stored, state: 'Held' }
  STATED.set(stored, grant)
  STORED.set(grant, stored)
  return grant
}

function storedGrant(grant: StoredGrant): StoredGrant {
  if (grant.state !== 'Held') return grant
  const known = STORED.get(grant)
  if (known !== undefined) return known
  const { state: _, ...stored } = grant
  STORED.set(grant, stored)
  STATED.set(stored, grant as Grant)
  return stored
}

export const asOfMs = (spec: LedgerSpec | undefined): number | undefined => {
  const ms = spec?.asOf === undefined ? NaN : Date.parse(spec.asOf)
  return Number.isNaN(ms) ? undefined : ms
}

const slotKey = (target: string, permitUid: string): string => `${target}\n${permitUid}`

export class WorkingLedger {
  readonly now: number
  readonly #before: LedgerSpec | undefined
  readonly #grants = new Map<string, Grant>()
  /** Permits that switch something on a target. */
  readonly #switching = new Map<string, Set<string>>()
  readonly #breakers = new Map<string, BreakerEntry>()
  readonly rates: RateCounter
  #blames: Blames
  #counts: Counts
  #waysBack: readonly WayBack[]
  #reserved: readonly Reserved[]
  #reservations: readonly Reservation[]
  #alteredPolicies: readonly AlteredPolicy[]
  readonly #bookedTargets = new Map<string, Reservation>()
  #bytes = RESERVED_BYTES

  constructor(before: LedgerSpec | undefined, now: number) {
    this.#before = before
    this.now = now
    this.rates = new RateCounter(before?.rates ?? [], now)
    for (const grant of grantsOf(before)) this.#put(grant)
    for (const breaker of before?.breakers ?? []) this.setBreaker(breaker)
    this.#counts = before?.counts ?? NO_COUNTS
    this.#blames = before?.blames ?? []
    this.#waysBack = liveWaysBack(before?.waysBack ?? [], now)
    this.#reserved = before?.reserved ?? []
    this.#reservations = []
    this.#alteredPolicies = before?.alteredPolicies ?? []
    this.#bytes +=
      this.rates.size * BUCKET_BYTES +
      lengthOf(this.#blames) +
      lengthOf(this.#waysBack) +
      lengthOf(this.#reserved) +
      lengthOf(this.#alteredPolicies)
    this.reservations = before?.reservations ?? []
  }

  get blames(): Blames {
    return this.#blames
  }

  set blames(blames: Blames) {
    this.#bytes += lengthOf(blames) - lengthOf(this.#blames)
    this.#blames = blames
  }

  get reserved(): readonly Reserved[] {
    return this.#reserved
  }

  set reserved(reserved: readonly Reserved[]) {
    this.#bytes += lengthOf(reserved) - lengthOf(this.#reserved)
    this.#reserved = reserved
  }

  set alteredPolicies(altered: readonly AlteredPolicy[]) {
    this.#bytes += lengthOf(altered) - lengthOf(this.#alteredPolicies)
    this.#alteredPolicies = altered
  }

  /** All that count. The ledger lists the first ones. */
  get reservations(): readonly Reservation[] {
    return this.#reservations
  }

  set reservations(reservations: readonly Reservation[]) {
    this.#bytes += lengthOf(listedOf(reservations)) - lengthOf(listedOf(this.#reservations))
    this.#reservations = reservations
    this.#bookedTargets.clear()
    for (const r of reservations)
      if (this.#bookedTargets.get(r.target)?.dataLoss !== true) this.#bookedTargets.set(r.target, r)
  }

  /** The machine is unavailable or will be, whatever is granted. */
  reservationOf(target: string): Reservation | undefined {
    return this.#bookedTargets.get(target)
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

  /** Another permit under which the target currently switches this component. */
  switchUnder(target: string, component: string, exceptPermit: string): Grant | undefined {
    for (const permitUid of this.#switching.get(target) ?? []) {
      const grant = permitUid === exceptPermit ? undefined : this.grantOf(target, permitUid)
      if (grant?.state === 'Held' && grant.component === component) return grant
    }
    return undefined
  }

  /** Why there is no room for one more grant. Undefined: there is room. */
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

  /** Also false if there is no room to record it. */
  mayGoBack(way: Way): boolean {
    return mayGoBack(this.#waysBack, way) && this.#bytes + WAY_BACK_BYTES <= MAX_LEDGER_BYTES
  }

  /** This switch was granted for a machine. */
  went(way: Way, isBack: boolean): void {
    const before = this.#waysBack
    this.#waysBack = isBack ? afterGoingBack(before, way, this.now) : afterGoingElsewhere(before, way)
    this.#bytes += lengthOf(this.#waysBack) - lengthOf(before)
  }

  /** Counts something without a slot, such as another client's deletion. False if there is no room to count it. */
  countOnly(series: readonly Series[]): boolean {
    const entries = series.filter((s) => this.rates.needsEntry(s)).length
    const isFull = this.rates.size + entries > MAX_RATES || this.#bytes + entries * BUCKET_BYTES > MAX_LEDGER_BYTES
    if (isFull) return false
    for (const s of series) this.rates.add(s)
    this.#bytes += entries * BUCKET_BYTES
    return true
  }

  /** It was counted at that time and did not happen. */
  uncount(series: readonly Series[], at: number): void {
    const before = this.rates.size
    for (const s of series) this.rates.remove(s, at)
    this.#bytes -= (before - this.rates.size) * BUCKET_BYTES
  }

  /** A slot that was counted before, restored from its permit after the ledger was lost. */
  adopt(grant: Grant): void {
    this.#put(grant)
  }

  replace(grant: Grant): void {
    this.free(grant)
    this.#put(grant)
  }

  free({ target, permitUid }: Pick<Grant, 'target' | 'permitUid'>): void {
    const known = this.#grants.get(slotKey(target, permitUid))
    if (known === undefined) return
    this.#grants.delete(slotKey(target, permitUid))
    this.#switching.get(target)?.delete(permitUid)
    this.#bytes -= bytesOf(known)
  }

  add(what: keyof Counts, n = 1): void {
    this.#counts = { ...this.#counts, [what]: this.#counts[what] + n }
  }

  breaker(policy: string): BreakerEntry | undefined {
    return this.#breakers.get(policy)
  }

  setBreaker(entry: BreakerEntry): void {
    const before = this.#breakers.get(entry.policy)
    this.#bytes += lengthOf(entry) - (before === undefined ? 0 : lengthOf(before))
    this.#breakers.set(entry.policy, entry)
  }

  breakers(): readonly BreakerEntry[] {
    return [...this.#breakers.values()]
  }

  /** Copies fill half of the ledger at most: a full one grants nothing, not even recoveries. */
  inheritRate(from: string, to: string, isGone: boolean): void {
    const before = this.rates.size
    const room = Math.min(MAX_RATES / 2 - before, Math.floor((MAX_LEDGER_BYTES / 2 - this.#bytes) / BUCKET_BYTES))
    this.rates.inherit(from, to, { most: Math.max(0, room), isGone })
    this.#bytes += (this.rates.size - before) * BUCKET_BYTES
  }

  /** As far as there is room. One without failures begins like a new one. */
  inheritBreaker(entry: BreakerEntry, to: string): void {
    const copy = { ...entry, policy: to }
    const hasRoom = this.#breakers.size < MAX_BREAKERS && this.#bytes + lengthOf(copy) <= MAX_LEDGER_BYTES
    if (hasRoom && (entry.state !== 'Closed' || entry.failures > 0)) this.setBreaker(copy)
  }

  /** Drops the breakers of deleted policies. */
  keepBreakers(policies: ReadonlySet<string>): void {
    for (const [name, entry] of this.#breakers) {
      if (policies.has(name)) continue
      this.#breakers.delete(name)
      this.#bytes -= lengthOf(entry)
    }
  }

  /** The next ledger. Undefined if there is nothing to write. */
  next(leader: string): LedgerSpec | undefined {
    const content = {
      grants: [...this.#grants].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, grant]) => grant),
      rates: this.rates.buckets(),
      breakers: [...this.#breakers.values()].toSorted((a, b) => (a.policy < b.policy ? -1 : 1)),
      counts: this.#counts,
      blames: this.#blames,
      waysBack: this.#waysBack.toSorted(byWay),
      reserved: this.#reserved,
      ...(this.#reservations.length > 0 && {
        reservations: listedOf(this.#reservations),
        reservationCount: this.#reservations.length,
      }),
      ...(this.#alteredPolicies.length > 0 && { alteredPolicies: this.#alteredPolicies }),
    }
    const { sequence = 0, asOf: _asOf, leader: _leader, ...before } = this.#before ?? {}
    const isSame =
      this.#before !== undefined && jsonEqual(content, { ...EMPTY, ...before, grants: grantsOf(this.#before) })
    if (isSame && (content.rates.length === 0 || this.now - (asOfMs(this.#before) ?? 0) < AS_OF_EVERY_MS))
      return undefined
    return { sequence: sequence + 1, asOf: microTimestamp(this.now), leader, ...content }
  }

  #put(grant: Grant): void {
    if (grant.operations.includes('SwitchComponent')) {
      const permits = this.#switching.get(grant.target) ?? new Set()
      this.#switching.set(grant.target, permits.add(grant.permitUid))
    }
    this.#grants.set(slotKey(grant.target, grant.permitUid), grant)
    this.#bytes += bytesOf(grant)
  }
}

const byWay = (a: WayBack, b: WayBack): number =>
  a.set < b.set ? -1 : a.set > b.set ? 1 : a.component < b.component ? -1 : 1

const EMPTY = { grants: [], rates: [], breakers: [], counts: NO_COUNTS, blames: [], waysBack: [], reserved: [] }

const listedOf = (reservations: readonly Reservation[]): readonly Reservation[] =>
  reservations.slice(0, MAX_RESERVATIONS)

/** Including the comma. */
const lengthOf = (value: unknown): number => JSON.stringify(value).length + 1

function bytesOf(grant: Grant): number {
  const known = BYTES.get(grant)
  if (known !== undefined) return known
  const bytes = lengthOf(storedGrant(grant))
  BYTES.set(grant, bytes)
  return bytes
}

/** A grant never changes, and each decision adds up all of them. */
const BYTES = new WeakMap<Grant, number>()
