// How often the door answers: one bucket for each place, and one in total. Its memory does not grow with the number of senders.

export interface Rate {
  readonly perSecond: number
  readonly burst: number
}

/** Many hosts behind one address return at once; a flood from there gets a quarter of the total. */
export const EACH_PLACE: Rate = { perSecond: 10, burst: 40 }
/** Each request costs a few milliseconds: at most half a CPU, and strangers without a proof cost a fraction of it. */
export const ALL_PLACES: Rate = { perSecond: 40, burst: 160 }
/** Number of remembered places; above it, the least recent one starts with a full bucket again. */
const MOST_PLACES = 1_024

interface Bucket {
  tokens: number
  at: number
}

export class DoorRates {
  readonly #now: () => number
  readonly #places = new Map<string, Bucket>()
  readonly #all: Bucket

  /** `now`: monotonic. */
  constructor(now: () => number) {
    this.#now = now
    this.#all = { tokens: ALL_PLACES.burst, at: now() }
  }

  get places(): number {
    return this.#places.size
  }

  /** 0: accepted. Otherwise the seconds until a retry is worthwhile. A refused place takes nothing from the others. */
  take(place: string): number {
    const own = this.#bucketOf(place)
    return waitFor(own, EACH_PLACE) || waitFor(this.#filled(this.#all, ALL_PLACES), ALL_PLACES) || this.#spend(own)
  }

  #spend(own: Bucket): 0 {
    own.tokens -= 1
    this.#all.tokens -= 1
    return 0
  }

  #bucketOf(place: string): Bucket {
    const bucket = this.#places.get(place) ?? { tokens: EACH_PLACE.burst, at: this.#now() }
    // The most recent sender is last in the map.
    this.#places.delete(place)
    const [oldest] = this.#places.size >= MOST_PLACES ? this.#places.keys() : []
    if (oldest !== undefined) this.#places.delete(oldest)
    this.#places.set(place, bucket)
    return this.#filled(bucket, EACH_PLACE)
  }

  #filled(bucket: Bucket, { perSecond, burst }: Rate): Bucket {
    const now = this.#now()
    bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) / 1_000) * perSecond)
    bucket.at = now
    return bucket
  }
}

const waitFor = ({ tokens }: Bucket, { perSecond }: Rate): number =>
  tokens >= 1 ? 0 : Math.max(1, Math.ceil((1 - tokens) / perSecond))

const IPV4_IN_IPV6 = /^::ffff:(?=\d+\.)/
const GROUPS_OF_A_NETWORK = 4

/** One address; for IPv6 the /64 network, whose addresses usually all belong to one host. */
export function placeOf(address: string): string {
  const plain = address.replace(IPV4_IN_IPV6, '').split('%', 1)[0] ?? ''
  if (!plain.includes(':')) return plain
  const [head = '', tail] = plain.split('::', 2)
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'))
  const [before, after] = [groups(head), groups(tail ?? '')]
  const zeros = tail === undefined ? [] : Array.from({ length: 8 - before.length - after.length }, () => '0')
  return [...before, ...zeros, ...after].slice(0, GROUPS_OF_A_NETWORK).join(':')
}
