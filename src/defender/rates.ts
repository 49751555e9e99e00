// How many grants are in a sliding window, counted in buckets. A bucket counts until its last moment has left the window and one more slot has passed,
// because the write of a decision lands after its time. So the window is never shorter than declared, and at most a tenth longer. A bucket in the future
// counts too.
import { byCodeUnit } from '#lib/go-text.ts'
import type { LedgerSpec } from '#api/kinds/defender-ledger.ts'
import type { RATE_WINDOWS } from '#api/kinds/defender-policy.ts'

export type RateWindow = (typeof RATE_WINDOWS)[number]
export type Bucket = NonNullable<LedgerSpec['rates']>[number]

export const WINDOW_MS: Readonly<Record<RateWindow, number>> = {
  '1m': 60_000,
  '10m': 600_000,
  '1h': 3_600_000,
  '24h': 86_400_000,
}

/** More slots take more ledger entries. Fewer make a rate recover in larger steps. */
const SLOTS_PER_WINDOW = 20

export const slotMs = (window: RateWindow): number => WINDOW_MS[window] / SLOTS_PER_WINDOW

/** Its own slot, and one for the write that lands late. */
const HELD_SLOTS = 2

const freeAt = ({ slot, window }: Pick<Bucket, 'slot' | 'window'>): number =>
  (slot + HELD_SLOTS) * slotMs(window) + WINDOW_MS[window]

const isLive = (bucket: Pick<Bucket, 'slot' | 'window'>, now: number): boolean => freeAt(bucket) > now

/** One series of a policy: what is counted together. */
export interface Series {
  readonly policy: string
  readonly window: RateWindow
  readonly per: Bucket['per']
  readonly domain: string
}

/** Named by its scope, not by its position in the policy: editing the list of rates must not reset the counts. */
export const seriesName = (policy: string, window: RateWindow, per: Bucket['per']): string =>
  `${policy}/${window}.${per}`

/** The policy of a series, or what else counts there. */
export const policyOf = (series: string): string => series.slice(0, series.lastIndexOf('/'))

/** The guard counts deletions by other clients under names with a slash. */
export const isPolicyName = (name: string): boolean => !name.includes('/')

const rateKey = (policy: string, domain: string): string => `${policy}\n${domain}`

/** The buckets of a ledger during one decision. */
export class RateCounter {
  readonly #now: number
  readonly #bySeries = new Map<string, Bucket[]>()
  #size = 0

  constructor(buckets: readonly Bucket[], now: number) {
    this.#now = now
    for (const bucket of buckets) if (isLive(bucket, now)) this.#put(bucket)
  }

  get size(): number {
    return this.#size
  }

  count({ policy, domain }: Pick<Series, 'policy' | 'domain'>): number {
    return (this.#bySeries.get(rateKey(policy, domain)) ?? []).reduce((sum, b) => sum + b.count, 0)
  }

  /** Milliseconds until one more fits below the limit. Undefined if it never does. */
  freesIn(series: Series, max: number): number | undefined {
    if (max < 1) return undefined
    const buckets = this.#bySeries.get(rateKey(series.policy, series.domain)) ?? []
    let count = this.count(series)
    if (count < max) return 0
    for (const bucket of buckets.toSorted((a, b) => a.slot - b.slot)) {
      count -= bucket.count
      if (count < max) return Math.max(0, freeAt({ ...series, slot: bucket.slot }) - this.#now)
    }
    return undefined
  }

  /** Whether a grant now needs a new entry. */
  needsEntry(series: Series): boolean {
    return !this.#current(series)
  }

  add(series: Series): void {
    const current = this.#current(series)
    const list = this.#bySeries.get(rateKey(series.policy, series.domain)) ?? []
    if (current !== undefined) list[list.indexOf(current)] = { ...current, count: current.count + 1 }
    else this.#put({ ...series, slot: this.#slot(series.window), count: 1 })
  }

  /** Names of all series. */
  policies(): readonly string[] {
    return [...new Set([...this.#bySeries.values()].flatMap(([first]) => first?.policy ?? []))]
  }

  /**
   * What one series has counted counts in another one too, where that has counted less. Adds at most so many entries; after that, those of a series that counts
   * for nothing else are moved.
   */
  inherit(from: string, to: string, { most, isGone }: { readonly most: number; readonly isGone: boolean }): void {
    let left = most
    for (const bucket of [...this.#bySeries.values()].flat().filter((b) => b.policy === from)) {
      const list = this.#bySeries.get(rateKey(to, bucket.domain)) ?? []
      const index = list.findIndex((b) => b.slot === bucket.slot)
      const found = list[index]
      if (found !== undefined) list[index] = { ...found, count: Math.max(found.count, bucket.count) }
      else if (left > 0 || isGone) {
        if (left-- <= 0) this.#drop(bucket)
        this.#put({ ...bucket, policy: to })
      }
    }
  }

  /** It was counted at that time and did not happen. */
  remove(series: Series, at: number): void {
    const key = rateKey(series.policy, series.domain)
    const list = this.#bySeries.get(key) ?? []
    const slot = Math.floor(at / slotMs(series.window))
    const index = list.findIndex((b) => b.slot === slot)
    const found = list[index]
    if (found === undefined) return
    if (found.count > 1) list[index] = { ...found, count: found.count - 1 }
    else {
      list.splice(index, 1)
      this.#size--
    }
  }

  /** In a fixed order, so that equal contents have equal bytes. */
  buckets(): readonly Bucket[] {
    const order = (a: Bucket, b: Bucket) =>
      byCodeUnit(a.policy, b.policy) || byCodeUnit(a.domain, b.domain) || a.slot - b.slot
    return [...this.#bySeries.values()].flat().toSorted(order)
  }

  #slot(window: RateWindow): number {
    return Math.floor(this.#now / slotMs(window))
  }

  #current(series: Series): Bucket | undefined {
    const slot = this.#slot(series.window)
    return this.#bySeries.get(rateKey(series.policy, series.domain))?.find((b) => b.slot === slot)
  }

  #drop(bucket: Bucket): void {
    const list = this.#bySeries.get(rateKey(bucket.policy, bucket.domain)) ?? []
    list.splice(list.indexOf(bucket), 1)
    this.#size--
  }

  #put(bucket: Bucket): void {
    const key = rateKey(bucket.policy, bucket.domain)
    const list = this.#bySeries.get(key)
    if (list === undefined) this.#bySeries.set(key, [bucket])
    else list.push(bucket)
    this.#size++
  }
}
