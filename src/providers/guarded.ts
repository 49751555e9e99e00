// A provider whose answers are checked and whose calls end: what hangs is given up, and an answer that cannot be true is an error or Unknown, never a fact.
// Controllers use providers only through this.
import type { Clock } from '#lib/clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { printableLine } from '#lib/printable.ts'
import type {
  Capabilities,
  CreateResult,
  Host,
  HostEvent,
  HostList,
  HostRequest,
  HostState,
  Offering,
  Ordered,
  Provider,
} from './port.ts'
import { providersErrors } from './providers-errors.ts'

/** Shorter than a reconcile, so that its outcome is still written down. */
export const CREATE_WITHIN_MS = 20_000
const CALL_WITHIN_MS = 10_000
/** A cloud is read page by page. */
const LIST_WITHIN_MS = 60_000

/** Far beyond the machines of one cluster. */
const MOST_HOSTS = 100_000
const LONGEST_ID = 253
/** Of a sentence in a status. */
const MOST_TEXT = 200
/** Bounds of a time that a provider wants to be left alone for. */
const SHORTEST_RETRY_MS = 1_000
const LONGEST_RETRY_MS = 3_600_000

const STATES: ReadonlySet<unknown> = new Set<HostState>(['Creating', 'Running', 'Stopped', 'Deleting'])

export function guarded(provider: Provider, clock: Pick<Clock, 'after'>): Provider {
  const { name } = provider
  const call = <T>(what: string, ms: number, signal: AbortSignal | undefined, run: (s: AbortSignal) => Promise<T>) =>
    withinTime(clock, { provider: name, what, ms, signal }, run)
  const wrong = (what: string, why: string) =>
    new KubeNodeError(providersErrors.KN11081({ name, what, why }), { retry: 'later' })
  const oneOf = <T extends string>(what: string, allowed: readonly NoInfer<T>[], answer: T): T => {
    if (!allowed.includes(answer)) throw wrong(what, 'the answer is none that a provider may give')
    return answer
  }
  const power: NonNullable<Provider['power']> = async (id, to, how, signal) => {
    const run = async (s: AbortSignal) => provider.power?.(id, to, how, s)
    const answer = await call('switch a host', CALL_WITHIN_MS, signal, run)
    return oneOf('switch a host', ['Ordered', 'Gone'], answer as Ordered)
  }
  const reportFault: NonNullable<Provider['reportFault']> = async (id, category, said, signal) => {
    const run = async (s: AbortSignal) => provider.reportFault?.(id, category, said, s)
    const answer = await call('report a fault', CALL_WITHIN_MS, signal, run)
    return oneOf('report a fault', ['Ordered', 'Gone'], answer as Ordered)
  }
  const made: Provider = {
    name,
    capabilities: provider.capabilities,
    async create(request, signal) {
      const answer = await call('create a host', CREATE_WITHIN_MS, signal, (s) => provider.create(request, s))
      return checkedResult(name, request, answer)
    },
    async get(providerID, signal) {
      const host = await call('read a host', CALL_WITHIN_MS, signal, (s) => provider.get(providerID, s))
      if (host === undefined) return undefined
      const why = hostProblem(name, host) ?? (host.providerID === providerID ? undefined : 'it is another host')
      if (why !== undefined) throw wrong(`read host ${providerID}`, why)
      return host
    },
    async list(signal) {
      const list = await call('list hosts', LIST_WITHIN_MS, signal, (s) => provider.list(s))
      const why = listProblem(name, list)
      if (why !== undefined) throw wrong('list hosts', why)
      return list
    },
    async delete(id, signal) {
      const answer = await call('delete a host', CALL_WITHIN_MS, signal, (s) => provider.delete(id, s))
      return oneOf('delete a host', ['Deleted', 'Deleting', 'Gone'], answer)
    },
    async reboot(id, how, signal) {
      const answer = await call('restart a host', CALL_WITHIN_MS, signal, (s) => provider.reboot(id, how, s))
      return oneOf('restart a host', ['Ordered', 'Gone'], answer)
    },
    events: (heard, signal) => provider.events((event) => void (isEvent(event) && heard(event)), signal),
    ...(provider.run && { run: provider.run.bind(provider) }),
  }
  // Of a provider in another program all of these become known, and change, while we run.
  const now = (get: () => unknown) => ({ get, enumerable: true })
  return Object.defineProperties(made, {
    capabilities: now(() => believable(provider.capabilities)),
    power: now(() => provider.power && power),
    maintenance: now(() => provider.maintenance?.bind(provider)),
    respond: now(() => provider.respond?.bind(provider)),
    reportFault: now(() => provider.reportFault && reportFault),
  })
}

export const guardedAll = (
  providers: Readonly<Record<string, Provider>>,
  clock: Pick<Clock, 'after'>,
): Readonly<Record<string, Provider>> =>
  Object.fromEntries(Object.entries(providers).map(([name, p]) => [name, guarded(p, clock)]))

interface Call {
  readonly provider: string
  readonly what: string
  readonly ms: number
  readonly signal: AbortSignal | undefined
}

/** Also of a provider that does not listen to its signal: the call continues and its answer is dropped. */
async function withinTime<T>(
  clock: Pick<Clock, 'after'>,
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
    return await Promise.race([run(late.signal), ended])
  } finally {
    timer.cancel()
    signal?.removeEventListener('abort', onAbort)
  }
}

/** A time that is no time would let a new host count as gone, or never. */
function believable(capabilities: Capabilities): Capabilities {
  const { visibleWithinMs } = capabilities
  const isTime = Number.isFinite(visibleWithinMs) && visibleWithinMs >= 0 && visibleWithinMs <= LONGEST_RETRY_MS
  return isTime ? capabilities : { ...capabilities, visibleWithinMs: LONGEST_RETRY_MS }
}

/** What is not one of the answers leaves open whether a host was made. */
function checkedResult(name: string, request: HostRequest, answer: CreateResult): CreateResult {
  switch (answer?.kind) {
    case 'Host': {
      const why = hostProblem(name, answer.host) ?? strangerProblem(request, answer.host)
      return why === undefined ? answer : { kind: 'Unknown', message: text(`the answer cannot be right: ${why}`) }
    }
    case 'Refused':
      return { kind: 'Refused', reason: text(answer.reason) }
    case 'Exhausted': {
      const { zone, type, reason, retryAfterMs } = answer
      const place = { ...(isText(zone) && { zone }), ...(isText(type) && { type }) }
      return { kind: 'Exhausted', ...place, reason: text(reason), retryAfterMs: retryMs(retryAfterMs) }
    }
    case 'Throttled':
      return { kind: 'Throttled', retryAfterMs: retryMs(answer.retryAfterMs) }
    case 'Unknown':
      return { kind: 'Unknown', message: text(answer.message) }
    default:
      return { kind: 'Unknown', message: 'the answer is none that a provider may give' }
  }
}

function strangerProblem(request: HostRequest, host: Host): string | undefined {
  if (host.machineUid !== request.machineUid) return `${host.providerID} belongs to another machine`
  return host.machine === request.machine
    ? undefined
    : `${host.providerID} is named after machine ${text(host.machine)}`
}

function hostProblem(name: string, host: Host): string | undefined {
  if (typeof host !== 'object' || host === null) return 'it is no host'
  const { providerID, machine, machineUid, clientToken, state, address, offering, createdAt } = host
  if (!isText(providerID) || !providerID.startsWith(`${name}://`) || providerID.length > LONGEST_ID)
    return `its id does not begin with ${name}:// or is too long`
  // eslint-disable-next-line no-control-regex -- exactly these are refused
  if (/[\s\u0000-\u001f\u007f]/.test(providerID)) return 'its id has spaces or control characters'
  if (![machine, machineUid, clientToken].every((t) => typeof t === 'string' && t.length <= LONGEST_ID))
    return `${providerID} has no machine or token`
  if (!STATES.has(state)) return `${providerID} is in no known state`
  if (address !== undefined && !(isText(address) && address.length <= LONGEST_ID)) return `${providerID} has no address`
  if (typeof createdAt !== 'string' || Number.isNaN(Date.parse(createdAt))) return `${providerID} has no creation time`
  return offering === undefined || isOffering(offering) ? undefined : `${providerID} has an offering that is none`
}

const isOffering = ({ zone, type }: Offering): boolean => [zone, type].every((t) => t === undefined || isText(t))

/** A list that names a host twice was read while pages moved: others may be missing in it. */
function listProblem(name: string, list: HostList): string | undefined {
  if (typeof list !== 'object' || list === null || !Array.isArray(list.hosts)) return 'the answer is no list'
  if (list.hosts.length > MOST_HOSTS) return `it has ${list.hosts.length} hosts (limit ${MOST_HOSTS})`
  const ids = new Set<string>()
  for (const host of list.hosts as readonly Host[]) {
    const why = hostProblem(name, host)
    if (why !== undefined) return why
    if (ids.has(host.providerID)) return `${host.providerID} is listed twice`
    ids.add(host.providerID)
  }
  return undefined
}

const isEvent = (event: HostEvent): boolean => typeof event?.machine === 'string'
const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''

const text = (value: unknown): string => {
  const shown = printableLine(typeof value === 'string' ? value : 'no reason given')
  return shown.length <= MOST_TEXT ? shown : `${shown.slice(0, MOST_TEXT - 1)}…`
}

const retryMs = (ms: unknown): number =>
  typeof ms === 'number' && Number.isFinite(ms)
    ? Math.min(LONGEST_RETRY_MS, Math.max(SHORTEST_RETRY_MS, ms))
    : SHORTEST_RETRY_MS
