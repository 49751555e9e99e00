// A provider whose answers are checked and whose calls end: what hangs is given up, and an answer that cannot be true is an error or Unknown, never a fact. What it
// may answer is the table of kubenode-provider/v1, so that a provider in this program can say no more than one in another. Controllers use providers only through this.
import type { Checked } from '#api/field-problems.ts'
import { type Clock, timestamp } from '#lib/clock.ts'
import { isKubeNodeError, KubeNodeError, messageOf } from '#lib/errors.ts'
import { canonicalJson } from '#lib/json.ts'
import { printableLine } from '#lib/printable.ts'
import { SharedReads } from '#runtime/shared-reads.ts'
import { shortened } from '#lib/shortened.ts'
import {
  type Capabilities,
  type CreateResult,
  type Host,
  type HostEvent,
  type HostList,
  type HostRequest,
  type MaintenanceList,
  NOTHING_KNOWN,
  type Provider,
} from './port.ts'
import { providersErrors } from './providers-errors.ts'
import { addPage, checked, createResultOf, eventsOf, foundHost } from './remote/answers.ts'
import { BadAnswer } from './remote/ask.ts'
import { createReaders, MAX_TEXT, MOST_HOSTS_A_PAGE } from './remote/protocol.ts'

/** Shorter than a reconcile, so that its outcome is still written down. */
export const CREATE_WITHIN_MS = 20_000
const CALL_WITHIN_MS = 10_000
/** A cloud is read page by page. */
const LIST_WITHIN_MS = 60_000

/** Far beyond the machines of one cluster. */
const MOST_HOSTS = 100_000
/** Of a sentence in a status. */
const MOST_TEXT = 200
/** Bounds of a time that a provider wants to be left alone for. */
const SHORTEST_RETRY_MS = 1_000
const LONGEST_RETRY_MS = 3_600_000

type GuardClock = Pick<Clock, 'after' | 'now'>

export function guarded(provider: Provider, clock: GuardClock): Provider {
  const { name } = provider
  const read = createReaders().answers
  const call = <T>(what: string, ms: number, signal: AbortSignal | undefined, run: (s: AbortSignal) => Promise<T>) =>
    withinTime(clock, { provider: name, what, ms, signal }, run)
  const judged = <T>(what: string, judge: () => T): T => {
    try {
      return judge()
    } catch (error) {
      if (!(error instanceof BadAnswer)) throw error
      throw new KubeNodeError(providersErrors.KN11081({ name, what, why: text(error.message) }), { retry: 'later' })
    }
  }
  /** Orders are answered in one word. */
  const order = async <A extends { readonly kind: unknown }>(
    reader: (value: unknown) => Checked<A>,
    what: string,
    signal: AbortSignal | undefined,
    run: (s: AbortSignal) => Promise<unknown> | undefined,
  ): Promise<A['kind']> => {
    const kind = await call(what, CALL_WITHIN_MS, signal, async (s) => run(s))
    return judged(what, () => checked(reader({ kind })).kind)
  }
  // A list may have 64 MiB, and every machine that leaves in doubt asks for one.
  const lists = new SharedReads<HostList>(async () => {
    const list = await call('list hosts', LIST_WITHIN_MS, undefined, (s) => provider.list(s))
    return judged('list hosts', () => hostsIn(name, list, { read: read.list, clock }))
  })
  const made: Provider = {
    name,
    capabilities: provider.capabilities,
    async create(request, signal) {
      const hide = (said: string) => withoutToken(said, request)
      const making = (s: AbortSignal) =>
        provider.create(request, s).catch((e: unknown) => Promise.reject(shown(name, 'create a host', e, hide)))
      const answer = await call('create a host', CREATE_WITHIN_MS, signal, making)
      try {
        return createResultOf(name, request, checked(read.create(fitted(answer, hide))))
      } catch (error) {
        if (!(error instanceof BadAnswer)) throw error
        // What is not one of the answers leaves open whether a host was made.
        return { kind: 'Unknown', message: text(`the answer cannot be right: ${error.message}`) }
      }
    },
    async get(providerID, signal) {
      const host = await call('read a host', CALL_WITHIN_MS, signal, (s) => provider.get(providerID, s))
      if (host === undefined) return undefined
      return judged(`read host ${providerID}`, () =>
        foundHost(name, providerID, checked(read.get({ kind: 'Host', host }))),
      )
    },
    list: (signal) => lists.of('', signal),
    delete: (id, signal) => order(read.delete, 'delete a host', signal, (s) => provider.delete(id, s)),
    reboot: (id, how, signal) => order(read.reboot, 'restart a host', signal, (s) => provider.reboot(id, how, s)),
    events: (heard, signal) => {
      const { events } = createReaders()
      return provider.events((event) => {
        try {
          for (const one of eventsOf(name, checked(events({ events: [withText(event)], next: '-' })))) heard(one)
        } catch (error) {
          if (!(error instanceof BadAnswer)) throw error
        }
      }, signal)
    },
    ...(provider.run && { run: provider.run.bind(provider) }),
  }
  const power: NonNullable<Provider['power']> = (id, to, how, signal) =>
    order(read.power, 'switch a host', signal, (s) => provider.power?.(id, to, how, s))
  const respond: NonNullable<Provider['respond']> = (eventId, answer, signal) =>
    order(read.respond, 'answer a maintenance event', signal, (s) => provider.respond?.(eventId, answer, s))
  const reportFault: NonNullable<Provider['reportFault']> = (id, category, said, signal) =>
    order(read['report-fault'], 'report a fault', signal, (s) => provider.reportFault?.(id, category, said, s))
  const maintenance: NonNullable<Provider['maintenance']> = async (signal) => {
    const list = await call('read maintenance', LIST_WITHIN_MS, signal, async (s) => provider.maintenance?.(s))
    return judged('read maintenance', () => maintenanceIn(list, { read: read.maintenance, clock }))
  }
  const believed = believer(provider)
  // Of a provider in another program all of these become known, and change, while we run.
  const now = (get: () => unknown) => ({ get, enumerable: true })
  return Object.defineProperties(made, {
    capabilities: now(believed),
    power: now(() => provider.power && power),
    maintenance: now(() => provider.maintenance && maintenance),
    respond: now(() => provider.respond && respond),
    reportFault: now(() => provider.reportFault && reportFault),
  })
}

export const guardedAll = (
  providers: Readonly<Record<string, Provider>>,
  clock: GuardClock,
): Readonly<Record<string, Provider>> =>
  Object.fromEntries(Object.entries(providers).map(([name, p]) => [name, guarded(p, clock)]))

type Answers = ReturnType<typeof createReaders>['answers']

interface Call {
  readonly provider: string
  readonly what: string
  readonly ms: number
  readonly signal: AbortSignal | undefined
}

/** Also of a provider that does not listen to its signal: the call continues and its answer is dropped. */
async function withinTime<T>(
  clock: GuardClock,
  { provider, what, ms, signal }: Call,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController()
  const onAbort = () => late.abort(signal?.reason)
  if (signal?.aborted === true) onAbort()
  signal?.addEventListener('abort', onAbort, { once: true })
  const error = new KubeNodeError(providersErrors.KN11080({ name: provider, what, seconds: String(ms / 1_000) }), {
    retry: 'later',
  })
  const timer = clock.after(ms, () => late.abort(error))
  const ended = new Promise<never>((_, reject) => {
    late.signal.addEventListener('abort', () => reject(late.signal.reason as Error), { once: true })
  })
  ended.catch(() => undefined)
  try {
    late.signal.throwIfAborted()
    return await Promise.race([run(late.signal).catch((e: unknown) => Promise.reject(shown(provider, what, e))), ended])
  } finally {
    timer.cancel()
    signal?.removeEventListener('abort', onAbort)
  }
}

/** What a provider throws ends in statuses, events and logs: it is one printable line, or it becomes one. */
function shown(name: string, what: string, thrown: unknown, hide = (said: string) => said): unknown {
  const said = saidBy(thrown).slice(0, MAX_TEXT + 1)
  const why = shortened(printableLine(hide(said)), MAX_TEXT)
  if (isKubeNodeError(thrown) && why === said) return thrown
  const retry = isKubeNodeError(thrown) ? thrown.retry : 'later'
  return new KubeNodeError(providersErrors.KN11082({ name, what, why }), { retry })
}

function saidBy(thrown: unknown): string {
  try {
    const said: unknown = messageOf(thrown)
    return typeof said === 'string' ? said : 'it gives no reason'
  } catch {
    return 'it gives no reason'
  }
}

/**
 * Kept hosts stay kept, and the longest time ever said counts: a provider that says something else later could have
 * hosts ended that KubeNode did not create, or a new one taken for gone.
 */
function believer(provider: Provider): () => Capabilities {
  let wasKept = false
  let longestMs = 0
  return () => {
    const now = provider.capabilities
    // It would count for as long as this program runs: no host would be gone for an hour.
    if (now === NOTHING_KNOWN) return { ...NOTHING_KNOWN, isHostKept: wasKept }
    const { isHostKept, visibleWithinMs, markets, userDataBytes } = now
    const said: unknown = isHostKept
    wasKept ||= said !== false
    // A time that is no time would let a new host count as gone, or never.
    const isTime = Number.isFinite(visibleWithinMs) && visibleWithinMs >= 0 && visibleWithinMs <= LONGEST_RETRY_MS
    longestMs = Math.max(longestMs, isTime ? visibleWithinMs : LONGEST_RETRY_MS)
    const hasLimit = typeof userDataBytes === 'number' && userDataBytes >= 0
    return {
      isHostKept: wasKept,
      visibleWithinMs: longestMs,
      markets: Array.isArray(markets) ? markets : [],
      ...(hasLimit && { userDataBytes }),
    }
  }
}

/** Sentences are cut rather than refused, and so are times to wait. */
function fitted(answer: CreateResult, hide: (said: string) => string): unknown {
  if (typeof answer !== 'object' || answer === null) return answer
  return {
    ...answer,
    ...('reason' in answer && { reason: text(answer.reason, hide) }),
    ...('message' in answer && { message: text(answer.message, hide) }),
    ...('retryAfterMs' in answer && { retryAfterMs: retryMs(answer.retryAfterMs) }),
  }
}

const withText = (event: HostEvent): unknown =>
  typeof event === 'object' && event !== null ? { ...event, message: text(event.message) } : event

interface HostsReader {
  readonly read: Answers['list']
  readonly clock: GuardClock
}

/** A list that names a host twice was read while pages moved: others may be missing in it. */
function hostsIn(name: string, list: HostList, { read, clock }: HostsReader): HostList {
  const hosts = new Map<string, Host>()
  for (const page of pagesOf(list?.hosts)) addPage(name, hosts, checked(read({ hosts: page, asOf: list.asOf })).hosts)
  return { hosts: [...hosts.values()], asOf: pastOf(clock, list.asOf) }
}

interface MaintenanceReader {
  readonly read: Answers['maintenance']
  readonly clock: GuardClock
}

/** A second source may know of hosts that another provider created; a program of others may not, see remote/answers.ts. */
function maintenanceIn(list: MaintenanceList | undefined, { read, clock }: MaintenanceReader) {
  const { asOf = '' } = list ?? {}
  const events = pagesOf(list?.events).flatMap((page) => {
    const one = { events: page.map(withDescription), asOf }
    return checked(read(one)).events
  })
  // The same entry twice says nothing new; two that differ cannot both be true.
  const entries = new Map(events.map((e) => [canonicalJson(e), e]))
  const ids = new Set<string>()
  for (const { eventId } of entries.values()) {
    if (ids.has(eventId)) throw new BadAnswer(`two things of the event ${eventId}`)
    ids.add(eventId)
  }
  return { events: [...entries.values()], asOf: pastOf(clock, asOf) }
}

const withDescription = (event: { readonly description: string }): unknown =>
  typeof event === 'object' && event !== null ? { ...event, description: text(event.description) } : event

/** The first one also of an empty list, since it has a time too. */
function pagesOf<T>(all: readonly T[] | undefined): readonly (readonly T[])[] {
  if (!Array.isArray(all)) throw new BadAnswer('the answer is no list')
  if (all.length > MOST_HOSTS) throw new BadAnswer(`it has ${all.length} entries (limit ${MOST_HOSTS})`)
  const count = Math.max(1, Math.ceil(all.length / MOST_HOSTS_A_PAGE))
  return [...Array(count).keys()].map(
    (i) => all.slice(i * MOST_HOSTS_A_PAGE, (i + 1) * MOST_HOSTS_A_PAGE) as readonly T[],
  )
}

/** Lists are ordered by their times: one from the future would silence all that follow. */
const pastOf = (clock: GuardClock, at: string): string => {
  const now = clock.now()
  return Date.parse(at) > now ? timestamp(now) : at
}

/** A provider that repeats what it was sent must not put the secret of it where people read. */
const withoutToken = (said: string, { join }: HostRequest): string =>
  (join.token ?? '') === '' ? said : said.replaceAll(join.token, '[token]')

const text = (value: unknown, hide = (said: string) => said): string => {
  const line = printableLine(hide(typeof value === 'string' ? value.slice(0, MAX_TEXT) : 'no reason given'))
  return shortened(line, MOST_TEXT)
}

const retryMs = (ms: unknown): number =>
  typeof ms === 'number' && Number.isFinite(ms)
    ? Math.ceil(Math.min(LONGEST_RETRY_MS, Math.max(SHORTEST_RETRY_MS, ms)))
    : SHORTEST_RETRY_MS
