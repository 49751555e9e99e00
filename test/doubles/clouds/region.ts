// One region of a cloud, whatever its vendor: instances with states that take their time, one instance for one token, stock, limits as vendors count them, and faults by seed.
import type { Clock } from '#lib/clock.ts'
import type { Random } from '#lib/random.ts'

export type InstanceState = 'pending' | 'running' | 'stopping' | 'stopped' | 'shutting-down' | 'gone'

export interface FakeInstance {
  readonly id: string
  readonly token: string
  /** Everything that was asked for with the token. */
  readonly asked: string
  readonly zone: string
  readonly type: string
  readonly isSpot: boolean
  readonly tags: ReadonlyMap<string, string>
  readonly userData: string
  readonly needsMetadataSession: boolean
  readonly address: string
  readonly createdAt: number
  state: InstanceState
  /** Where its state goes, and when. */
  next: { readonly state: InstanceState; readonly at: number } | undefined
  isReclaimed: boolean
}

export interface FakeEvent {
  readonly eventId: string
  readonly instance: string
  readonly type: string
  status: string
  readonly notBefore: string
  readonly reason: string
}

export interface Faults {
  /** How long a new instance is missing in lists. */
  visibleAfterMs: number
  /** Share of calls that are done and whose reply never comes. */
  lostReplies: number
  /** Share of calls that a server of the vendor fails before it does anything. */
  serverErrors: number
  /** `zone/type` without stock. */
  readonly noStock: Set<string>
  /** The list fails on this page, counted from one. */
  breaksOnPage: number | undefined
  /** Each page begins with the last one of the page before. */
  repeatsHosts: boolean
  /** The next calls of all kinds. */
  next: 'Hang' | 'Huge' | 'Nonsense' | undefined
}

/** As the vendor counts: a bucket that refills, or so many within a minute of the clock. */
export type FakeLimit =
  | { readonly kind: 'Bucket'; readonly perSecond: number; readonly burst: number }
  | { readonly kind: 'Minute'; readonly calls: number }

export interface FakeKeys {
  readonly secret: string
  readonly session?: string
  expiresAt?: number
}

export interface RegionOptions {
  readonly clock: Pick<Clock, 'now'>
  readonly random: Random
  readonly name: string
  readonly limitOf?: (action: string) => FakeLimit | undefined
  readonly pendingMs?: number
  readonly stoppingMs?: number
  readonly deletingMs?: number
  readonly pageSize?: number
}

export interface NewInstance {
  readonly token: string
  readonly asked: string
  readonly zone: string
  readonly type: string
  readonly isSpot: boolean
  readonly tags: ReadonlyMap<string, string>
  readonly userData: string
  readonly needsMetadataSession: boolean
}

export class FakeRegion {
  readonly options: RegionOptions
  readonly instances = new Map<string, FakeInstance>()
  readonly events: FakeEvent[] = []
  readonly keys = new Map<string, FakeKeys>()
  readonly images = new Set<string>()
  /** Calls that were let in, and those beyond the limit. */
  readonly calls = new Map<string, number>()
  overLimit = 0
  /** Faults that were reported to the vendor. */
  readonly reports: { readonly instance: string; readonly what: string }[] = []
  readonly faults: Faults = {
    visibleAfterMs: 0,
    lostReplies: 0,
    serverErrors: 0,
    noStock: new Set(),
    breaksOnPage: undefined,
    repeatsHosts: false,
    next: undefined,
  }
  readonly #byToken = new Map<string, FakeInstance>()
  readonly #used = new Map<string, { count: number; at: number }>()
  #made = 0

  constructor(options: RegionOptions) {
    this.options = options
  }

  now(): number {
    return this.options.clock.now()
  }

  /** Undefined: the call is within the limit, and counted. Otherwise how long it lasts. */
  refusal(action: string, arrivedAt = this.now()): number | undefined {
    const limit = this.options.limitOf?.(action)
    const wait = limit === undefined ? 0 : this.#charge(action, limit, arrivedAt)
    if (wait > 0) {
      this.overLimit++
      return wait
    }
    this.calls.set(action, (this.calls.get(action) ?? 0) + 1)
    return undefined
  }

  /** Calls of other users of the account. */
  spend(action: string, calls: number): void {
    const limit = this.options.limitOf?.(action)
    if (limit === undefined) return
    for (let i = 0; i < calls; i++) this.#charge(action, limit)
  }

  #charge(action: string, limit: FakeLimit, now = this.now()): number {
    const used = this.#used.get(action) ?? { count: 0, at: now }
    this.#used.set(action, used)
    if (limit.kind === 'Minute') {
      const isSame = Math.floor(used.at / 60_000) === Math.floor(now / 60_000)
      used.count = isSame ? used.count : 0
      used.at = now
      if (used.count >= limit.calls) return 60_000 - (now % 60_000)
      used.count++
      return 0
    }
    used.count = Math.max(0, used.count - ((now - used.at) / 1_000) * limit.perSecond)
    used.at = now
    if (used.count + 1 > limit.burst + 1e-9) return 1_000 / limit.perSecond
    used.count++
    return 0
  }

  run(order: NewInstance): FakeInstance | 'NoStock' | 'TokenUsed' {
    const known = this.#byToken.get(order.token)
    if (known !== undefined) return known.asked === order.asked ? known : 'TokenUsed'
    if (this.faults.noStock.has(`${order.zone}/${order.type}`)) return 'NoStock'
    const now = this.now()
    const n = ++this.#made
    const pendingMs = this.options.pendingMs ?? 0
    const made: FakeInstance = {
      ...order,
      id: `i-${n.toString(16).padStart(17, '0')}`,
      address: `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`,
      createdAt: now,
      state: 'pending',
      next: { state: 'running', at: now + pendingMs },
      isReclaimed: false,
    }
    this.instances.set(made.id, made)
    this.#byToken.set(order.token, made)
    return this.seen(made)
  }

  /** With the state that it has by now. */
  seen(instance: FakeInstance): FakeInstance {
    const { next } = instance
    if (next !== undefined && next.at <= this.now()) {
      instance.state = next.state
      instance.next = undefined
    }
    return instance
  }

  find(id: string): FakeInstance | undefined {
    const found = this.instances.get(id)
    return found === undefined || !this.#isVisible(found) || this.seen(found).state === 'gone' ? undefined : found
  }

  #isVisible({ createdAt }: FakeInstance): boolean {
    return this.now() - createdAt >= this.faults.visibleAfterMs
  }

  /** Those that lists show; `gone` ones only for vendors that show them for a while. */
  all(): readonly FakeInstance[] {
    return [...this.instances.values()].filter((i) => this.#isVisible(i)).map((i) => this.seen(i))
  }

  alive(): readonly FakeInstance[] {
    return [...this.instances.values()]
      .map((i) => this.seen(i))
      .filter((i) => i.state !== 'gone' && i.state !== 'shutting-down')
  }

  go(instance: FakeInstance, through: InstanceState, to: InstanceState, ms: number): void {
    instance.state = through
    instance.next = { state: to, at: this.now() + ms }
    this.seen(instance)
  }

  end(instance: FakeInstance): void {
    this.go(instance, 'shutting-down', 'gone', this.options.deletingMs ?? 0)
  }

  stop(instance: FakeInstance): void {
    this.go(instance, 'stopping', 'stopped', this.options.stoppingMs ?? 0)
  }

  start(instance: FakeInstance): void {
    this.go(instance, 'pending', 'running', this.options.pendingMs ?? 0)
  }

  /** A page of the list, beginning after what `next` names; `Broken` where the list breaks off. */
  page<T>(
    all: readonly T[],
    next: string | undefined,
    asked: number,
  ): { readonly items: readonly T[]; readonly next?: string } | 'Broken' {
    const size = Math.min(asked, this.options.pageSize ?? asked)
    const from = next === undefined ? 0 : Number(next.replace('page-', ''))
    if (this.faults.breaksOnPage === Math.floor(from / size) + 1) return 'Broken'
    const begin = this.faults.repeatsHosts && from > 0 ? from - 1 : from
    const items = all.slice(begin, from + size)
    return { items, ...(from + size < all.length && { next: `page-${from + size}` }) }
  }
}
