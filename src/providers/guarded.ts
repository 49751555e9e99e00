// Wraps a provider: calls have deadlines, concurrent list requests share one read, and messages are one short line. Controllers use providers only through
// this. It guards against runtime faults of a provider: it hangs, throws something unfit for a status, or mixes up two hosts. `door.ts` checks whether external
// answers are valid.
import type { Clock } from '#lib/clock.ts'
import { isKubeNodeError, KubeNodeError, messageOf } from '#lib/errors.ts'
import { printableLine } from '#lib/printable.ts'
import { SharedReads } from '#runtime/shared-reads.ts'
import { shortened } from '#lib/shortened.ts'
import { BadAnswer, judged } from './door.ts'
import { MAX_TEXT } from './model.ts'
import type { CreateResult, HostList, HostRequest, Provider } from './port.ts'
import { providersErrors } from './providers-errors.ts'

/** Shorter than a reconcile, so that its outcome is still recorded. */
export const CREATE_WITHIN_MS = 20_000
const CALL_WITHIN_MS = 10_000
/** A cloud is read page by page. */
const LIST_WITHIN_MS = 60_000

/** Length of a sentence in a status. */
const MOST_TEXT = 200
/** Bounds of a provider's requested retry delay. */
const SHORTEST_RETRY_MS = 1_000
const LONGEST_RETRY_MS = 3_600_000

type GuardClock = Pick<Clock, 'after'>

export function guarded(provider: Provider, clock: GuardClock): Provider {
  const { name } = provider
  const call = <T>(what: string, ms: number, signal: AbortSignal | undefined, run: (s: AbortSignal) => Promise<T>) =>
    withinTime(clock, { provider: name, what, ms, signal }, run)
  // A list may have 64 MiB, and every machine in doubt requests one.
  const lists = new SharedReads<HostList>(() => call('list hosts', LIST_WITHIN_MS, undefined, (s) => provider.list(s)))
  const made: Provider = {
    name,
    capabilities: provider.capabilities,
    async create(request, signal) {
      const hide = (text: string) => withoutToken(text, request)
      const making = (s: AbortSignal) =>
        provider.create(request, s).catch((e: unknown) => Promise.reject(shown(name, 'create a host', e, hide)))
      return fitted(await call('create a host', CREATE_WITHIN_MS, signal, making), request, hide)
    },
    async get(providerID, signal) {
      const host = await call('read a host', CALL_WITHIN_MS, signal, (s) => provider.get(providerID, s))
      if (host !== undefined && host.providerID !== providerID)
        return judged(name, `read host ${providerID}`, () => {
          throw new BadAnswer(`another host than ${providerID}`)
        })
      return host
    },
    list: (signal) => lists.of('', signal),
    delete: (id, signal) => call('delete a host', CALL_WITHIN_MS, signal, (s) => provider.delete(id, s)),
    reboot: (id, how, signal) => call('restart a host', CALL_WITHIN_MS, signal, (s) => provider.reboot(id, how, s)),
    events: (onEvent, signal) =>
      provider.events((event) => onEvent({ ...event, message: text(event.message) }), signal),
    ...(provider.run && { run: provider.run.bind(provider) }),
  }
  /** For a provider in another program these become known, and change, at run time. */
  const now = <K extends keyof Provider>(what: K, wrap: (method: NonNullable<Provider[K]>) => Provider[K]) => ({
    enumerable: true,
    get: () => {
      const found = provider[what]
      return found === undefined ? undefined : wrap(found)
    },
  })
  return Object.defineProperties(made, {
    capabilities: now('capabilities', (found) => found),
    power: now(
      'power',
      (power) => (id, to, how, signal) =>
        call('switch a host', CALL_WITHIN_MS, signal, (s) => power.call(provider, id, to, how, s)),
    ),
    maintenance: now('maintenance', (maintenance) => async (signal) => {
      const { events, asOf } = await call('read maintenance', LIST_WITHIN_MS, signal, (s) =>
        maintenance.call(provider, s),
      )
      return { events: events.map((e) => ({ ...e, description: text(e.description) })), asOf }
    }),
    respond: now(
      'respond',
      (respond) => (eventId, answer, signal) =>
        call('answer a maintenance event', CALL_WITHIN_MS, signal, (s) => respond.call(provider, eventId, answer, s)),
    ),
    reportFault: now(
      'reportFault',
      (report) => (id, category, text, signal) =>
        call('report a fault', CALL_WITHIN_MS, signal, (s) => report.call(provider, id, category, text, s)),
    ),
  })
}

export const guardedAll = (
  providers: Readonly<Record<string, Provider>>,
  clock: GuardClock,
): Readonly<Record<string, Provider>> =>
  Object.fromEntries(Object.entries(providers).map(([name, p]) => [name, guarded(p, clock)]))

interface Call {
  readonly provider: string
  readonly what: string
  readonly ms: number
  readonly signal: AbortSignal | undefined
}

/** Also ends if the provider ignores its signal: the call continues and its answer is dropped. */
async function withinTime<T>(
  clock: GuardClock,
  { provider, what, ms, signal }: Call,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController()
  const onAbort = () => late.abort(signal?.reason)
  if (signal?.aborted === true) onAbort()
  signal?.addEventListener('abort', onAbort, { once: true })
  const error = new KubeNodeError(
    providersErrors.KN11061_answer({ name: provider, what, seconds: String(ms / 1_000) }),
    {
      retry: 'later',
    },
  )
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

/** What a provider throws ends up in statuses, events and logs, so it must be one printable line. */
function shown(name: string, what: string, thrown: unknown, hide = (text: string) => text): unknown {
  const text = thrownText(thrown).slice(0, MAX_TEXT + 1)
  const why = shortened(printableLine(hide(text)), MAX_TEXT)
  if (isKubeNodeError(thrown) && why === text) return thrown
  const retry = isKubeNodeError(thrown) ? thrown.retry : 'later'
  return new KubeNodeError(providersErrors.KN11061_failed({ name, what, why }), { retry })
}

function thrownText(thrown: unknown): string {
  try {
    const text: unknown = messageOf(thrown)
    return typeof text === 'string' ? text : 'it gives no reason'
  } catch {
    return 'it gives no reason'
  }
}

/** Cuts sentences and waits instead of refusing them. With another Machine's host it stays open whether one was created. */
function fitted(
  answer: CreateResult,
  { machine, machineUid }: HostRequest,
  hide: (text: string) => string,
): CreateResult {
  if (answer.kind === 'Host' && (answer.host.machineUid !== machineUid || answer.host.machine !== machine))
    return { kind: 'Unknown', message: `the answer cannot be right: a host of another machine than ${machine}` }
  return {
    ...answer,
    ...('reason' in answer && { reason: text(answer.reason, hide) }),
    ...('message' in answer && { message: text(answer.message, hide) }),
    ...('retryAfterMs' in answer && { retryAfterMs: retryMs(answer.retryAfterMs) }),
  }
}

/** A provider that repeats its input must not leak the input's secret. */
const withoutToken = (text: string, { join }: HostRequest): string =>
  (join.token ?? '') === '' ? text : text.replaceAll(join.token, '[token]')

const text = (given: string, hide = (all: string) => all): string =>
  shortened(printableLine(hide(given.slice(0, MAX_TEXT))), MOST_TEXT)

/** A delay that is not a number would cause a retry at once. */
const retryMs = (ms: number): number =>
  Number.isFinite(ms) ? Math.ceil(Math.min(LONGEST_RETRY_MS, Math.max(SHORTEST_RETRY_MS, ms))) : SHORTEST_RETRY_MS
