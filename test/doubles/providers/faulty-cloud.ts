// A cloud in memory with the habits of real ones: replies are lost after success, new hosts are shown late, calls are throttled by minute and by bucket, zones run
// out of types, lists break off or name hosts twice, calls hang. It notes when a machine has two hosts, and when a token means two things.
import { type Clock, timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { canonicalJson } from '#lib/json.ts'
import type { Random } from '#lib/random.ts'
import type {
  Capabilities,
  CreateResult,
  DeleteResult,
  Host,
  HostList,
  HostRequest,
  Offering,
  Ordered,
  Provider,
} from '#providers/port.ts'

export interface CloudTrouble {
  /** Shares of calls. */
  readonly lostReplies: number
  readonly refusedCalls: number
  readonly hangs: number
  readonly lies: number
  readonly brokenLists: number
  readonly doubledLists: number
}

export const NO_TROUBLE: CloudTrouble = {
  lostReplies: 0,
  refusedCalls: 0,
  hangs: 0,
  lies: 0,
  brokenLists: 0,
  doubledLists: 0,
}

export const STORM: CloudTrouble = {
  lostReplies: 0.3,
  refusedCalls: 0.1,
  hangs: 0.05,
  lies: 0.05,
  brokenLists: 0.2,
  doubledLists: 0.1,
}

export interface CloudHost {
  readonly host: Host
  readonly visibleAt: number
  /** Being deleted until then. */
  goneAt?: number
}

/** New hosts are shown within this time. */
const VISIBLE_WITHIN_MS = 60_000
const DELETING_MS = 5_000
const MOST_LATENCY_MS = 800
const STOCK_RETRY_MS = 120_000

export class FaultyCloud {
  readonly hosts = new Map<string, CloudHost>()
  /** What must not happen. */
  readonly violations: string[] = []
  /** How many hosts each offering has left; offerings that are not named have none. */
  readonly stock = new Map<string, number>()
  /** How often each offering was asked for. */
  readonly askedFor = new Map<string, number>()
  trouble: CloudTrouble = NO_TROUBLE
  /** Creating calls in a minute of its clock; above, the rest of the minute is refused. */
  callsPerMinute = Number.POSITIVE_INFINITY
  /** Creating calls that may come at once, one more each second. */
  bucket = Number.POSITIVE_INFINITY
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>
  readonly #random: Random
  readonly #tokens = new Map<string, { readonly request: string; readonly id: string | undefined }>()
  /** About which hosts it lied, and in what: once each, until the next storm. */
  readonly #lied = new Set<string>()
  #minute = { at: -1, calls: 0 }
  #level: { at: number; left: number } | undefined
  #next = 0

  constructor(clock: Pick<Clock, 'now' | 'monotonic'>, random: Random) {
    this.#clock = clock
    this.#random = random
  }

  /** The program's side of it; its process may die during any call. */
  provider(name: string, clock: Pick<Clock, 'sleep'>): Provider {
    const capabilities: Capabilities = {
      isHostKept: false,
      visibleWithinMs: VISIBLE_WITHIN_MS,
      markets: ['OnDemand', 'Spot'],
      userDataBytes: 16_384,
    }
    const call = <T>(run: () => T) => this.#call(clock, run)
    return {
      name,
      capabilities,
      create: (request) => call(() => this.#create(name, request)),
      get: (id) => call(() => this.#get(id)),
      list: () => call(() => this.#list()),
      delete: (id) => call(() => this.#delete(id)),
      reboot: (id): Promise<Ordered> => call(() => (this.hosts.has(id) ? 'Ordered' : 'Gone')),
      events: async () => undefined,
    }
  }

  /** It may lie about each host once more. */
  liesAgain(): void {
    this.#lied.clear()
  }

  /** The cloud takes a spot host back, or loses a host. */
  lose(id: string): void {
    this.hosts.delete(id)
  }

  living(): readonly Host[] {
    this.#sweep()
    return [...this.hosts.values()].filter((h) => h.goneAt === undefined).map((h) => h.host)
  }

  async #call<T>(clock: Pick<Clock, 'sleep'>, run: () => T): Promise<T> {
    const { lostReplies, refusedCalls, hangs } = this.trouble
    const draw = () => this.#random.next()
    await clock.sleep(this.#random.below(MOST_LATENCY_MS))
    if (draw() < refusedCalls) throw new Error('connection refused')
    if (draw() < hangs) return new Promise<never>(() => undefined)
    this.#sweep()
    const result = run()
    const isLost = draw() < lostReplies
    await clock.sleep(this.#random.below(MOST_LATENCY_MS))
    if (isLost) throw new Error('connection reset before the reply')
    return result
  }

  #create(name: string, request: HostRequest): CreateResult {
    const { clientToken, machine, machineUid, offering } = request
    const asked = canonicalJson([machineUid, offering ?? null])
    const known = this.#tokens.get(clientToken)
    if (known !== undefined && known.request !== asked)
      this.violations.push(`token of ${machine} is used for another request: ${known.request} and ${asked}`)
    const throttled = this.#throttled()
    if (throttled !== undefined) return throttled
    if (known?.id !== undefined) return this.#again(known.id, machine)
    const key = keyOf(offering)
    this.askedFor.set(key, (this.askedFor.get(key) ?? 0) + 1)
    if (this.#random.next() < this.trouble.lies) return this.#lie(name, request)
    const left = this.stock.get(key) ?? 0
    if (left <= 0) {
      const { zone, type } = offering ?? {}
      const place = defined({ zone, type })
      return { kind: 'Exhausted', ...place, reason: `no stock of ${key}`, retryAfterMs: STOCK_RETRY_MS }
    }
    const twin = this.living().find((h) => h.machineUid === machineUid)
    if (twin !== undefined) this.violations.push(`${machine} has ${twin.providerID} and gets a second host`)
    this.stock.set(key, left - 1)
    const now = this.#clock.now()
    const id = `${name}://i-${(this.#next += 1)}`
    const host: Host = {
      providerID: id,
      clientToken,
      machine,
      machineUid,
      state: 'Running',
      createdAt: timestamp(now),
      ...defined({ offering }),
    }
    const visibleAt = this.#clock.monotonic() + this.#random.below(VISIBLE_WITHIN_MS / 2)
    this.hosts.set(id, { host, visibleAt })
    this.#tokens.set(clientToken, { request: asked, id })
    return { kind: 'Host', host }
  }

  /** A token keeps its meaning also after its host was deleted. */
  #again(id: string, machine: string): CreateResult {
    const found = this.hosts.get(id)
    if (found === undefined) return { kind: 'Refused', reason: `the host ${id} of ${machine} was terminated` }
    return { kind: 'Host', host: stateOf(found) }
  }

  #lie(name: string, { clientToken, machine }: HostRequest): CreateResult {
    const [other] = this.living()
    if (other !== undefined && this.#random.next() < 0.5) return { kind: 'Host', host: other }
    const host = { providerID: `${name}://none`, clientToken, machine, machineUid: 'nobody', state: 'Running' } as const
    return this.#random.next() < 0.5
      ? { kind: 'Host', host: { ...host, createdAt: timestamp(this.#clock.now()) } }
      : ({ kind: 'Perhaps' } as unknown as CreateResult)
  }

  #throttled(): CreateResult | undefined {
    const now = this.#clock.monotonic()
    const minute = Math.floor(now / 60_000)
    if (minute !== this.#minute.at) this.#minute = { at: minute, calls: 0 }
    this.#minute.calls += 1
    if (this.#minute.calls > this.callsPerMinute)
      return { kind: 'Throttled', retryAfterMs: (minute + 1) * 60_000 - now + this.#random.below(5_000) }
    const level = this.#level ?? { at: now, left: this.bucket }
    const left = Math.min(this.bucket, level.left + (now - level.at) / 1_000)
    this.#level = { at: now, left: Math.max(0, left - 1) }
    return left < 1 ? { kind: 'Throttled', retryAfterMs: 1_000 } : undefined
  }

  /** A host that is there is absent for once, or another one is shown in its place. */
  #get(id: string): Host | undefined {
    const host = this.#shown(id)?.host
    if (host === undefined || !this.#liesAbout(`get ${id}`)) return host
    return this.#random.next() < 0.5 ? undefined : this.living().find((h) => h.providerID !== id)
  }

  #liesAbout(what: string): boolean {
    if (this.#random.next() >= this.trouble.lies || this.#lied.has(what)) return false
    this.#lied.add(what)
    return true
  }

  /** A page that does not come, or comes twice: then pages have moved, and hosts are missing. */
  #list(): HostList {
    const { brokenLists, doubledLists } = this.trouble
    if (this.#random.next() < brokenLists) throw new Error('the list broke off on page 2')
    const hosts = [...this.hosts.keys()].flatMap((id) =>
      this.#liesAbout(`list ${id}`) ? [] : (this.#shown(id)?.host ?? []),
    )
    const [first] = hosts
    const isDoubled = first !== undefined && this.#random.next() < doubledLists
    const shown = isDoubled ? [first, ...hosts.slice(0, Math.ceil(hosts.length / 2))] : hosts
    return { hosts: shown, asOf: timestamp(this.#clock.now()) }
  }

  #shown(id: string): CloudHost | undefined {
    const found = this.hosts.get(id)
    if (found === undefined || found.visibleAt > this.#clock.monotonic()) return undefined
    return { ...found, host: stateOf(found) }
  }

  #delete(id: string): DeleteResult {
    const found = this.hosts.get(id)
    if (found === undefined) return 'Gone'
    found.goneAt ??= this.#clock.monotonic() + DELETING_MS
    return 'Deleting'
  }

  #sweep(): void {
    const now = this.#clock.monotonic()
    for (const [id, { goneAt = Number.POSITIVE_INFINITY, host }] of this.hosts)
      if (goneAt <= now) {
        this.hosts.delete(id)
        const key = keyOf(host.offering)
        this.stock.set(key, (this.stock.get(key) ?? 0) + 1)
      }
  }
}

export const keyOf = (offering: Offering | undefined): string =>
  [offering?.zone ?? '', offering?.type ?? '', offering?.market ?? 'OnDemand'].join('/')

const stateOf = ({ host, goneAt }: CloudHost): Host => (goneAt === undefined ? host : { ...host, state: 'Deleting' })
