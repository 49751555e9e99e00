// What providers have run out of, and how long it is not worth asking. Shared by all machines, so that not every one has to find out. Memory only:
// losing an entry costs one call.
import type { Machine } from '#api/kinds/machine.ts'
import type { Clock } from '#lib/clock.ts'
import { canonicalJson } from '#lib/json.ts'
import type { CreateResult, Offering } from '#providers/port.ts'
import { untilRetry } from './attempts.ts'

type Exhausted = Extract<CreateResult, { readonly kind: 'Exhausted' }>

/** Zones × types × markets of a large fleet. When full, the entry that ends first is dropped. */
const MOST = 1_000

interface Entry {
  readonly provider: string
  readonly matches: (spec: Machine['spec'], offering: Offering | undefined) => boolean
  readonly until: number
  readonly reason: string
}

export interface ExhaustedUntil {
  readonly untilMs: number
  readonly reason: string
}

export class ExhaustedOfferings {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #entries = new Map<string, Entry>()

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  /** The exact request, and the zone and type that the provider names. */
  note(machine: Pick<Machine, 'spec'>, offering: Offering | undefined, answer: Exhausted): void {
    const provider = machine.spec.provider?.name ?? ''
    const { zone, type, reason, retryAfterMs } = answer
    const until = this.#clock.monotonic() + retryAfterMs
    const exact = exactly(machine.spec, offering)
    this.#keep(`${provider} ${exact}`, { provider, until, reason, matches: (s, o) => exactly(s, o) === exact })
    if (zone === undefined && type === undefined) return
    const market = marketOf(offering)
    const isPlace = (o: Offering | undefined) =>
      (zone === undefined || o?.zone === zone) && (type === undefined || o?.type === type) && marketOf(o) === market
    const key = canonicalJson([provider, zone ?? null, type ?? null, market])
    this.#keep(key, { provider, until, reason, matches: (_, o) => isPlace(o) })
  }

  /** What a Machine recorded before this process started. The record does not say whether other requests are concerned. */
  recall(machine: Pick<Machine, 'spec' | 'status'>, now: number): void {
    const { answer, offering, message = '', ...attempt } = machine.status?.provisioning ?? {}
    if (answer !== 'Exhausted') return
    const retryAfterMs = untilRetry(attempt, now)
    if (retryAfterMs === 0 || this.of(machine, offering) !== undefined) return
    this.note(machine, offering, { kind: 'Exhausted', reason: message, retryAfterMs })
  }

  /** Undefined when it is worth asking. */
  of({ spec }: Pick<Machine, 'spec'>, offering: Offering | undefined): ExhaustedUntil | undefined {
    const now = this.#clock.monotonic()
    let longest: Entry | undefined
    for (const [key, entry] of this.#entries) {
      if (entry.until <= now) this.#entries.delete(key)
      else if (entry.provider === spec.provider?.name && entry.matches(spec, offering))
        if (longest === undefined || entry.until > longest.until) longest = entry
    }
    return longest && { untilMs: longest.until - now, reason: longest.reason }
  }

  #keep(key: string, entry: Entry): void {
    this.#entries.set(key, entry)
    if (this.#entries.size <= MOST) return
    const [first] = [...this.#entries].toSorted(([, a], [, b]) => a.until - b.until)
    if (first !== undefined) this.#entries.delete(first[0])
  }
}

const marketOf = (offering: Offering | undefined): string => offering?.market ?? 'OnDemand'

/** Parameters can also name a zone or a type. */
const exactly = ({ provider }: Machine['spec'], offering: Offering | undefined): string =>
  canonicalJson([provider?.name ?? null, provider?.params ?? null, { ...offering, market: marketOf(offering) }])
