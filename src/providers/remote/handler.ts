// Answers kubenode-provider/v1 requests for one provider. The same schemas as on the other side check requests and answers: anything else is an error, never a
// guess.
import { randomUUID } from 'node:crypto'
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import { isDeeperJson, MAX_JSON_DEPTH } from '#lib/json.ts'
import type { Logger } from '#lib/log.ts'
import { printableLine } from '#lib/printable.ts'
import { shortened } from '#lib/shortened.ts'
import { MAX_TEXT } from '../model.ts'
import type { Host, HostRequest, MaintenanceAnswer, Provider } from '../port.ts'
import { EventLog } from './event-log.ts'
import {
  type AnswerOf,
  CALL_NAMES,
  type CallName,
  CAN,
  createReaders,
  type ErrorKind,
  ERRORS,
  EVENTS_WAIT_MS,
  MAX_BODY_BYTES,
  MOST_HOSTS_A_PAGE,
  OPTIONAL_CALLS,
  PROTOCOL,
  type RequestOf,
} from './protocol.ts'

export interface Asked {
  readonly method: string
  /** Below the provider's place, including the query. */
  readonly path: string
  readonly body: string
  readonly signal: AbortSignal
}

export interface Reply {
  readonly status: number
  readonly text: string
}

export class ProtocolError extends Error {
  readonly kind: ErrorKind

  constructor(kind: ErrorKind, message: string) {
    super(message)
    this.kind = kind
  }
}

export const errorReply = (kind: ErrorKind, message: string): Reply => ({
  status: ERRORS[kind].status,
  text: JSON.stringify({ error: { kind, message: fitted(message) } }),
})

const fitted = (text: string): string => shortened(printableLine(text), MAX_TEXT)

/** Lists with pages that may still be requested. */
const MOST_LISTS = 4
const LIST_KEPT_MS = 120_000

interface KeptList {
  readonly hosts: readonly Host[]
  readonly asOf: string
  readonly until: number
}

export class ProviderHandler {
  readonly #provider: Provider
  readonly #clock: Clock
  readonly #log: Logger
  readonly #readers = createReaders()
  readonly #events = new EventLog()
  readonly #lists = new Map<string, KeptList>()
  /** False once the provider reports that it has no events. */
  #hasEvents = true

  constructor(provider: Provider, { clock, log }: { readonly clock: Clock; readonly log: Logger }) {
    this.#provider = provider
    this.#clock = clock
    this.#log = log
  }

  /** Follows the provider's events until the signal aborts. */
  async follow(signal: AbortSignal): Promise<void> {
    try {
      await this.#provider.events((event) => this.#events.add({ ...event, message: fitted(event.message) }), signal)
    } catch (error) {
      this.#log.warn('cannot follow the events of a provider', { provider: this.#provider.name, error })
    }
    if (!signal.aborted) this.#hasEvents = false
  }

  async reply(asked: Asked): Promise<Reply> {
    try {
      const text = JSON.stringify(await this.#answer(asked))
      if (Buffer.byteLength(text) > MAX_BODY_BYTES)
        throw new ProtocolError('TooLarge', 'the answer is larger than 4 MiB')
      return { status: 200, text }
    } catch (error) {
      if (error instanceof ProtocolError) return errorReply(error.kind, error.message)
      if (asked.signal.aborted) return errorReply('TooSlow', 'the deadline passed')
      return errorReply('Failed', messageOf(error))
    }
  }

  async #answer({ method, path, body, signal }: Asked): Promise<unknown> {
    const { pathname, searchParams } = new URL(path, 'http://localhost')
    const name = /^\/v1\/([a-z-]{1,32})$/.exec(pathname)?.[1] ?? ''
    if (method === 'GET' && name === 'capabilities') return this.#reported()
    if (method === 'GET' && name === 'events' && this.#hasEvents)
      return this.#eventsSince(searchParams.get('after') ?? undefined, signal)
    const call = CALL_NAMES.find((c) => c === name)
    if (call === undefined || method !== 'POST' || !this.#serves(call))
      throw new ProtocolError('NotServed', `${method} ${pathname.slice(0, 100)} is not served`)
    return this.#called(call, body, signal)
  }

  #serves(call: CallName): boolean {
    const needed = OPTIONAL_CALLS[call]
    return needed === undefined || this.#can().some((c) => c === needed)
  }

  #can(): readonly (typeof CAN)[number][] {
    return CAN.filter((c) => (c === 'events' ? this.#hasEvents : this.#provider[c] !== undefined))
  }

  #reported(): unknown {
    const { name, capabilities } = this.#provider
    const { isHostKept, visibleWithinMs, markets, userDataBytes } = capabilities
    return {
      protocol: PROTOCOL,
      name,
      capabilities: {
        isHostKept,
        visibleWithinMs,
        markets,
        ...defined({ userDataBytes }),
      },
      can: this.#can(),
    }
  }

  async #called<K extends CallName>(call: K, body: string, signal: AbortSignal): Promise<AnswerOf<K>> {
    const read = this.#readers.requests[call](jsonOf(body))
    // Leave out the wrong value: a request may contain a join token.
    if (read.kind === 'Problem')
      throw new ProtocolError('Invalid', `${read.problem.pointer.slice(1) || 'the body'} ${read.problem.message}`)
    const answer = JSON.parse(JSON.stringify(await this.#ask[call](read.value, signal))) as unknown
    const checked = this.#readers.answers[call](answer)
    if (checked.kind === 'Problem')
      throw new Error(
        `the provider answered what the protocol does not allow: ${checked.problem.pointer.slice(1)} ${checked.problem.message}`,
      )
    return checked.value
  }

  readonly #ask: { readonly [K in CallName]: (request: RequestOf<K>, signal: AbortSignal) => Promise<object> } = {
    create: async (request, signal) => {
      const made = await this.#provider.create(request as unknown as HostRequest, signal)
      return {
        ...made,
        ...('reason' in made && { reason: fitted(made.reason) }),
        ...('message' in made && { message: fitted(made.message) }),
        ...('retryAfterMs' in made && { retryAfterMs: Math.ceil(made.retryAfterMs) }),
      }
    },
    get: async ({ providerID }, signal) => {
      const host = await this.#provider.get(providerID, signal)
      return host === undefined ? { kind: 'Absent' } : { kind: 'Host', host }
    },
    list: async ({ after }, signal) => this.#page(after, signal),
    delete: async ({ providerID }, signal) => ({ kind: await this.#provider.delete(providerID, signal) }),
    power: async ({ providerID, to, hard = false }, signal) => ({
      kind: await this.#provider.power?.(providerID, to, { hard }, signal),
    }),
    reboot: async ({ providerID, hard = false }, signal) => ({
      kind: await this.#provider.reboot(providerID, { hard }, signal),
    }),
    maintenance: async (_, signal) => {
      const list = await this.#provider.maintenance?.(signal)
      return { ...list, events: list?.events.map((e) => ({ ...e, description: fitted(e.description) })) }
    },
    respond: async ({ eventId, answer }, signal) => ({
      kind: await this.#provider.respond?.(eventId, answer as MaintenanceAnswer, signal),
    }),
    'report-fault': async ({ providerID, category, text }, signal) => ({
      kind: await this.#provider.reportFault?.(providerID, category, text, signal),
    }),
  }

  /** Later pages belong to the list that the first one started: no host is lost between two. */
  async #page(after: string | undefined, signal: AbortSignal): Promise<object> {
    const now = this.#clock.monotonic()
    for (const [id, { until }] of this.#lists) if (until <= now) this.#lists.delete(id)
    const [id = '', from = '0'] = after?.split(':') ?? []
    const kept =
      after === undefined ? { ...(await this.#provider.list(signal)), until: now + LIST_KEPT_MS } : this.#lists.get(id)
    const start = Number(from)
    if (kept === undefined || !Number.isSafeInteger(start) || start < 0)
      throw new ProtocolError('Invalid', 'this list has ended: begin with the first page')
    const end = start + MOST_HOSTS_A_PAGE
    const page = { hosts: kept.hosts.slice(start, end), asOf: kept.asOf }
    if (end >= kept.hosts.length) {
      this.#lists.delete(id)
      return page
    }
    return { ...page, next: `${after === undefined ? this.#keep(kept) : id}:${end}` }
  }

  #keep(list: KeptList): string {
    const [oldest] = this.#lists.keys()
    if (this.#lists.size >= MOST_LISTS && oldest !== undefined) this.#lists.delete(oldest)
    const id = randomUUID()
    this.#lists.set(id, list)
    return id
  }

  async #eventsSince(after: string | undefined, signal: AbortSignal): Promise<object> {
    const waiting = new AbortController()
    const end = () => waiting.abort()
    const timer = this.#clock.after(EVENTS_WAIT_MS, end)
    signal.addEventListener('abort', end, { once: true })
    try {
      let since = this.#events.since(after)
      // A caller without a cursor gets one at once.
      if (after !== undefined && since.events.length === 0 && since.next === after) {
        await this.#events.next(waiting.signal)
        since = this.#events.since(after)
      }
      return since
    } finally {
      timer.cancel()
      signal.removeEventListener('abort', end)
    }
  }
}

function jsonOf(body: string): unknown {
  if (isDeeperJson(Buffer.from(body)))
    throw new ProtocolError('Invalid', `the body is nested deeper than ${MAX_JSON_DEPTH} levels`)
  try {
    return JSON.parse(body)
  } catch {
    throw new ProtocolError('Invalid', 'the body is not JSON')
  }
}
