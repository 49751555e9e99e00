// A provider that another program serves (kubenode-provider/v1). Its answers are untrusted: they are checked, bounded, and never misread as an absence. While
// the program is unavailable every call fails with the reason, and the controllers keep running.
import type { Clock } from '#lib/clock.ts'
import { isKubeNodeError, KubeNodeError } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import { printableLine } from '#lib/printable.ts'
import {
  type Capabilities,
  type CreateResult,
  type DeleteResult,
  type Host,
  type HostEvent,
  type HostList,
  type HostRequest,
  type MaintenanceAnswer,
  type MaintenanceList,
  NOTHING_KNOWN,
  type Ordered,
  type Provider,
} from '../port.ts'
import { providersErrors } from '../providers-errors.ts'
import { BadAnswer, checked } from '../door.ts'
import { addPage, contradiction, createResultOf, eventsOf, foundHost, maintenanceOf, pastOf } from './answers.ts'
import { Asker, type Question } from './ask.ts'
import { connectTrouble, type Door, doorAt, placeText, type RemotePlace } from './place.ts'
import { type AnswerOf, type CallName, createReaders, EVENTS_WAIT_MS, type ReportedCapabilities } from './protocol.ts'

export interface RemoteOptions {
  /** The served provider's name, which is also the prefix of its hosts' ids. */
  readonly name: string
  readonly place: RemotePlace
  readonly clock: Clock
  readonly log: Logger
  /** Shorter in tests. */
  readonly waits?: Partial<Waits>
}

interface Waits {
  readonly readMs: number
  readonly callMs: number
  /** For creates and lists, which take vendors longest. */
  readonly slowMs: number
  /** Between two attempts while the program is unavailable. */
  readonly awayMs: number
  /** CA, token and capabilities are reread after this time and after every failure. */
  readonly freshMs: number
}

const WAITS: Waits = { readMs: 10_000, callMs: 30_000, slowMs: 60_000, awayMs: 2_000, freshMs: 60_000 }
const OPTIONAL = ['power', 'maintenance', 'respond', 'reportFault'] as const
const SLOW: ReadonlySet<CallName> = new Set(['create', 'list', 'maintenance'])
/** At most 64 MiB of JSON: 80,000 hosts at KubeNode's own page size. */
const MOST_PAGES = 16
const START_WAIT_MS = 5_000
/** Events are hints, and lists follow: a flood of events must not keep the controllers busy. */
const EVENTS_PAUSE_MS = 250

export class RemoteProvider implements Provider {
  readonly name: string
  power?: NonNullable<Provider['power']>
  maintenance?: NonNullable<Provider['maintenance']>
  respond?: NonNullable<Provider['respond']>
  reportFault?: NonNullable<Provider['reportFault']>
  readonly #options: RemoteOptions
  readonly #waits: Waits
  readonly #readers = createReaders()
  #reported: ReportedCapabilities | undefined
  #open: { readonly asker: Asker; readonly door: string } | undefined
  #freshUntil = 0
  #refreshing: Promise<Asker> | undefined
  #trouble: KubeNodeError | undefined

  constructor(options: RemoteOptions) {
    this.#options = options
    this.name = options.name
    this.#waits = { ...WAITS, ...options.waits }
    this.#can(OPTIONAL)
  }

  get capabilities(): Capabilities {
    return this.#reported?.capabilities ?? NOTHING_KNOWN
  }

  /** Why it cannot be used; undefined while it can. */
  get trouble(): string | undefined {
    return this.#trouble?.message
  }

  async create(request: HostRequest, signal?: AbortSignal): Promise<CreateResult> {
    try {
      const answer = await this.#call('create', request, signal)
      return this.#read('create', () => createResultOf(this.name, request, answer))
    } catch (error) {
      if (signal?.aborted === true || !isKubeNodeError(error)) throw error
      return { kind: 'Unknown', message: error.message }
    }
  }

  async get(providerID: string, signal?: AbortSignal): Promise<Host | undefined> {
    const answer = await this.#call('get', { providerID }, signal)
    return this.#read('get', () => foundHost(this.name, providerID, answer))
  }

  async list(signal?: AbortSignal): Promise<HostList> {
    const hosts = new Map<string, Host>()
    let asOf: string | undefined
    let after: string | undefined
    for (let page = 0; page < MOST_PAGES; page++) {
      const answer = await this.#call('list', after === undefined ? {} : { after }, signal)
      this.#read('list', () => addPage(this.name, hosts, answer.hosts))
      asOf ??= pastOf(this.#options.clock.now(), answer.asOf)
      after = answer.next
      if (after === undefined) return { hosts: [...hosts.values()], asOf }
    }
    return this.#read('list', () => {
      throw new BadAnswer(`more than ${MOST_PAGES} pages`)
    })
  }

  async delete(providerID: string, signal?: AbortSignal): Promise<DeleteResult> {
    return (await this.#call('delete', { providerID }, signal)).kind
  }

  async reboot(providerID: string, how = { hard: false }, signal?: AbortSignal): Promise<Ordered> {
    return (await this.#call('reboot', { providerID, hard: how.hard }, signal)).kind
  }

  async events(onEvent: (event: HostEvent) => void, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options
    let after: string | undefined
    while (!signal.aborted) {
      try {
        const asker = await this.#ready()
        if (this.#reported?.can.includes('events') !== true) {
          // A newer version of the program may have events.
          await clock.sleep(this.#waits.freshMs, signal).catch(() => undefined)
          continue
        }
        const path = `/v1/events${after === undefined ? '' : `?after=${encodeURIComponent(after)}`}`
        const value = await this.#ask(
          asker,
          { method: 'GET', path, withinMs: EVENTS_WAIT_MS + this.#waits.readMs },
          signal,
        )
        const events = this.#read('events', () => {
          const page = checked(this.#readers.events(value))
          after = page.next
          return eventsOf(this.name, page)
        })
        for (const event of events) onEvent(event)
        await clock.sleep(EVENTS_PAUSE_MS, signal).catch(() => undefined)
      } catch (error) {
        if (signal.aborted) return
        log.debug('cannot read the events of a provider', { provider: this.name, error })
        await clock.sleep(this.#waits.awayMs, signal).catch(() => undefined)
      }
    }
  }

  /** Retries until the program answers, and reports when that changes. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options
    let said: string | undefined
    while (!signal.aborted) {
      await this.connect().catch(() => undefined)
      const trouble = this.trouble
      if (trouble !== said && trouble !== undefined)
        log.warn('a provider cannot be used', { provider: this.name, why: trouble })
      if (trouble === undefined && said !== undefined) log.info('a provider can be used', { provider: this.name })
      said = trouble
      await clock.sleep(trouble === undefined ? this.#waits.freshMs : this.#waits.awayMs, signal).catch(() => undefined)
    }
    this.#open?.asker.close()
  }

  /** Reads the provider's capabilities unless they are fresh; throws if something is wrong. */
  async connect(): Promise<void> {
    await this.#refreshed()
  }

  /** Closes its connections. */
  close(): void {
    this.#open?.asker.close()
  }

  /** A provider is not called before its capabilities are known, because the controllers' decisions depend on them. */
  #ready(): Promise<Asker> {
    if (this.#reported === undefined && this.#trouble !== undefined) return Promise.reject(this.#trouble)
    return this.#refreshed()
  }

  #refreshed(): Promise<Asker> {
    const isFresh = this.#open !== undefined && this.#options.clock.monotonic() < this.#freshUntil
    if (isFresh && this.#open !== undefined) return Promise.resolve(this.#open.asker)
    this.#refreshing ??= this.#refresh().finally(() => (this.#refreshing = undefined))
    return this.#refreshing
  }

  async #refresh(): Promise<Asker> {
    const { name, place, clock } = this.#options
    try {
      const asker = this.#through(await doorAt(place).catch((e: unknown) => this.#away(e)))
      const value = await this.#ask(asker, { method: 'GET', path: '/v1/capabilities', withinMs: this.#waits.readMs })
      const said = this.#read('capabilities', () => checked(this.#readers.capabilities(value)))
      const what = contradiction(name, this.#reported, said)
      if (what !== undefined) throw new KubeNodeError(providersErrors.KN11064({ name, place: placeText(place), what }))
      this.#adopt(said)
      this.#freshUntil = clock.monotonic() + this.#waits.freshMs
      this.#trouble = undefined
      return asker
    } catch (error) {
      if (isKubeNodeError(error)) this.#trouble = error
      throw error
    }
  }

  #through(door: Door): Asker {
    const key = JSON.stringify(door)
    if (this.#open?.door !== key) {
      this.#open?.asker.close()
      this.#open = { asker: new Asker(door, this.#options.clock), door: key }
    }
    return this.#open.asker
  }

  #adopt(said: ReportedCapabilities): void {
    // The longest ever reported: a host is not absent because the provider lowered its value.
    const visibleWithinMs = Math.max(
      said.capabilities.visibleWithinMs,
      this.#reported?.capabilities.visibleWithinMs ?? 0,
    )
    this.#reported = { ...said, capabilities: { ...said.capabilities, visibleWithinMs } }
    this.#can(said.can)
  }

  /** Until its capabilities are known, an optional call fails like any other: an unavailable provider is not one without the call. */
  #can(can: readonly string[]): void {
    for (const call of OPTIONAL) delete this[call]
    if (can.includes('power')) this.power = this.#power
    if (can.includes('maintenance')) this.maintenance = this.#maintenance
    if (can.includes('respond')) this.respond = this.#respond
    if (can.includes('reportFault')) this.reportFault = this.#reportFault
  }

  readonly #power: NonNullable<Provider['power']> = async (providerID, to, how = { hard: false }, signal) =>
    (await this.#call('power', { providerID, to, hard: how.hard }, signal)).kind

  readonly #maintenance = async (signal?: AbortSignal): Promise<MaintenanceList> => {
    const answer = await this.#call('maintenance', {}, signal)
    const asOf = pastOf(this.#options.clock.now(), answer.asOf)
    return this.#read('maintenance', () => ({ events: maintenanceOf(this.name, answer.events), asOf }))
  }

  readonly #respond = async (eventId: string, answer: MaintenanceAnswer, signal?: AbortSignal) =>
    (await this.#call('respond', { eventId, answer }, signal)).kind

  readonly #reportFault: NonNullable<Provider['reportFault']> = async (providerID, category, text, signal) =>
    (await this.#call('report-fault', { providerID, category, text: text.slice(0, 1_024) }, signal)).kind

  async #call<K extends CallName>(call: K, request: object, signal?: AbortSignal): Promise<AnswerOf<K>> {
    const { name } = this.#options
    const body = JSON.stringify(request)
    const problem = this.#readers.requests[call](JSON.parse(body))
    if (problem.kind === 'Problem') {
      const { pointer, message } = problem.problem
      throw new KubeNodeError(
        providersErrors.KN11063({ name, call, kind: 'not sent', message: `${pointer.slice(1)} ${message}` }),
      )
    }
    const asker = await this.#ready()
    const withinMs = SLOW.has(call) ? this.#waits.slowMs : this.#waits.callMs
    const value = await this.#ask(asker, { method: 'POST', path: `/v1/${call}`, body, withinMs }, signal)
    return this.#read(call, () => checked(this.#readers.answers[call](value)) as AnswerOf<K>)
  }

  async #ask(asker: Asker, question: Question, signal?: AbortSignal): Promise<unknown> {
    const call = question.path.split('?')[0]?.slice('/v1/'.length) ?? ''
    const said = await asker.ask(question, signal).catch((error: unknown) => {
      if (signal?.aborted === true) throw signal.reason
      return this.#read(call, () => {
        throw error instanceof BadAnswer ? error : this.#away(error)
      })
    })
    if (said.status === 200) return said.value
    const { error } = this.#read(call, () => checked(this.#readers.failure(said.value)))
    if (error.kind === 'Unauthorized') throw this.#refused()
    throw new KubeNodeError(
      providersErrors.KN11063({ name: this.name, call, kind: error.kind, message: printableLine(error.message) }),
      { retry: 'later' },
    )
  }

  /** Both sides reread their token: the next call uses a new one. */
  #refused(): KubeNodeError {
    this.#freshUntil = 0
    const { name, place } = this.#options
    const file = place.kind === 'Https' ? place.tokenFile : undefined
    const token = file === undefined ? 'a call without a token' : `the token in ${file}`
    return new KubeNodeError(providersErrors.KN11067({ name, place: placeText(place), token }), { retry: 'later' })
  }

  /** Reports unusable answers, and has the capabilities reread before the next call. */
  #read<T>(call: string, reading: () => T): T {
    try {
      return reading()
    } catch (error) {
      if (!(error instanceof BadAnswer)) throw error
      this.#freshUntil = 0
      throw new KubeNodeError(providersErrors.KN11061({ name: this.name, call, what: error.message }), {
        retry: 'later',
        cause: error,
      })
    }
  }

  #away(cause: unknown): never {
    this.#freshUntil = 0
    if (isKubeNodeError(cause)) throw cause
    const { name, place } = this.#options
    const why = printableLine(connectTrouble(cause)).slice(0, 300)
    throw new KubeNodeError(providersErrors.KN11060({ name, place: placeText(place), why }), { retry: 'later', cause })
  }
}

/** Known from the start if the program answers in time; otherwise it is asked for as long as the provider runs. */
export async function connectRemote(options: RemoteOptions): Promise<Provider> {
  const provider = new RemoteProvider(options)
  await Promise.race([provider.connect().catch(() => undefined), options.clock.sleep(START_WAIT_MS)])
  return provider
}

/** The capabilities of the program there, for callers that do not know its name. */
export async function capabilitiesOf(place: RemotePlace, clock: Clock): Promise<ReportedCapabilities> {
  let asker: Asker | undefined
  try {
    asker = new Asker(await doorAt(place), clock)
    const { status, value } = await asker.ask({ method: 'GET', path: '/v1/capabilities', withinMs: WAITS.readMs })
    if (status !== 200) throw new BadAnswer(`status ${status}`)
    return checked(createReaders().capabilities(value))
  } catch (cause) {
    // The error already includes a remedy.
    if (isKubeNodeError(cause)) throw cause
    const of = cause instanceof BadAnswer ? 'cannot use its answer to capabilities: ' : ''
    const why = `${of}${printableLine(connectTrouble(cause)).slice(0, 300)}`
    throw new KubeNodeError(providersErrors.KN1206_placeCheck({ place: placeText(place), why }), { cause })
  } finally {
    asker?.close()
  }
}
