// One cloud API call: takes its turn, signs, has a deadline, and retries only where that is safe, with the same parameters, so that a client token stays the
// same. Never throws for a vendor's or network's behavior; anything it does not understand is `NoAnswer`.
import { type Clock } from '#lib/clock.ts'
import { assertNever, KubeNodeError, messageOf } from '#lib/errors.ts'
import { followSignal } from '#lib/follow-signal.ts'
import type { Random } from '#lib/random.ts'
import { type Credentials, type Keys, withoutKeys } from './credentials.ts'
import type { CloudAnswer, CloudRequest, Transport } from './http.ts'
import type { Rate } from './rate.ts'
import { providersErrors } from '../providers-errors.ts'

export type Params = Readonly<Record<string, string>>

export interface ApiCall {
  readonly action: string
  readonly params: Params
}

export type CallResult =
  | { readonly kind: 'Answer'; readonly body: unknown }
  /** The vendor refused it with one of its codes. `isAfterLost`: an earlier attempt of the same call got no answer and may have been executed. */
  | { readonly kind: 'Code'; readonly code: string; readonly message: string; readonly isAfterLost?: true }
  | { readonly kind: 'Throttled'; readonly retryAfterMs: number }
  /** It may or may not have been executed. */
  | { readonly kind: 'NoAnswer'; readonly message: string }

export type Read =
  | { readonly kind: 'Body'; readonly body: unknown }
  | { readonly kind: 'Code'; readonly code: string; readonly message: string; readonly retryAfterMs?: number }
  | { readonly kind: 'Unreadable' }

/** The wire format of a vendor's API. */
export interface Wire {
  sign(call: ApiCall, keys: Keys, now: number): CloudRequest
  read(answer: CloudAnswer): Read
  isThrottle(code: string): boolean
  /** Definitely a refusal, whatever the HTTP status: one vendor reports missing stock with status 500. */
  isVerdict(code: string): boolean
  /** The keys expired or the request is too old: other keys or a new signature may help. */
  isStale(code: string): boolean
}

export interface CallerOptions {
  readonly wire: Wire
  readonly transport: Transport
  readonly credentials: Credentials
  readonly rate: Rate
  readonly clock: Clock
  readonly random: Random
}

interface CallHow {
  readonly signal?: AbortSignal | undefined
  /** Not repeatable, because a second call would act twice, as with a reboot. */
  readonly once?: boolean
}

/** The slowest call, which creates a host, answers within ten seconds. */
const CALL_DEADLINE_MS = 30_000
const TRIES = 3
const FIRST_BACKOFF_MS = 500
/** A vendor's message goes into a status. */
const MESSAGE_CHARS = 300

export type Call = (call: ApiCall, how?: CallHow) => Promise<CallResult>

export function createCaller(options: CallerOptions): Call {
  const { clock, random } = options
  return async (call, { signal, once = false } = {}) => {
    let last: CallResult = { kind: 'NoAnswer', message: 'it was not asked' }
    for (let tries = 0; tries < (once ? 1 : TRIES); tries++) {
      if (tries > 0 && last.kind === 'NoAnswer')
        await clock.sleep(random.jitter(FIRST_BACKOFF_MS * 4 ** (tries - 1), 0.5), signal)
      const next = await attempt(options, call, signal)
      signal?.throwIfAborted()
      // A lost reply stays lost: the vendor may have acted without answering.
      const isLost = tries > 0 && last.kind === 'NoAnswer'
      if (next.kind === 'Away') return isLost ? last : throttledFor(next.ms)
      if (next.kind === 'Code' && isLost) return { ...next, isAfterLost: true }
      if (next.kind === 'Answer' || next.kind === 'Code') return next
      if (next.kind === 'NoAnswer' || !isLost) last = next
    }
    return last
  }
}

/** The queue is too long: the call was not sent. */
interface Away {
  readonly kind: 'Away'
  readonly ms: number
}

const throttledFor = (retryAfterMs: number): CallResult => ({ kind: 'Throttled', retryAfterMs })
const noAnswer = (message: string): CallResult => ({ kind: 'NoAnswer', message: message.slice(0, MESSAGE_CHARS) })

/** Sends once, and again with a new signature if the keys had expired. The vendor counts both, so each takes a turn. */
async function attempt(
  options: CallerOptions,
  call: ApiCall,
  signal: AbortSignal | undefined,
): Promise<CallResult | Away> {
  const first = await inTurn(options, call, signal)
  return first.kind === 'Code' && options.wire.isStale(first.code) ? inTurn(options, call, signal) : first
}

/** Get keys before taking a turn: otherwise calls that waited for slow keys would all be sent at once, on turns from a minute ago. */
async function inTurn(
  options: CallerOptions,
  call: ApiCall,
  signal: AbortSignal | undefined,
): Promise<CallResult | Away> {
  const { credentials, rate } = options
  const keys = await withDeadline(options, signal, (stop) => credentials.current(stop))
  if (keys.kind === 'Failed') return noAnswer(`no credentials: ${keys.why}`)
  const turn = await rate.take(call.action, signal)
  if (turn.kind === 'Wait') return { kind: 'Away', ms: turn.ms }
  const answer = await exchange(options, call, keys.value, signal)
  // The vendor counts it even if this side stopped waiting for the answer.
  if (answer.kind === 'Failed' && answer.isLeft) turn.left()
  else turn.answered()
  if (answer.kind === 'Failed') return noAnswer(withoutKeys(answer.why, keys.value))
  const result = resultOf(options.wire, answer.value, keys.value, options.credentials)
  if (result.kind !== 'Throttled') return result
  return throttledFor(rate.throttled(call.action, result.retryAfterMs === 0 ? undefined : result.retryAfterMs))
}

const exchange = (
  options: CallerOptions,
  call: ApiCall,
  keys: Keys,
  signal: AbortSignal | undefined,
): Promise<Done<CloudAnswer>> =>
  withDeadline(options, signal, async (stop) =>
    options.transport(options.wire.sign(call, keys, options.clock.now()), stop),
  )

type Done<T> =
  | { readonly kind: 'Done'; readonly value: T }
  /** Left: this side gave up, not the other one. */
  | { readonly kind: 'Failed'; readonly why: string; readonly isLeft: boolean }

async function withDeadline<T>(
  { clock }: CallerOptions,
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<Done<T>> {
  const stop = new AbortController()
  const unfollow = followSignal(stop, signal)
  const deadline = clock.after(CALL_DEADLINE_MS, () =>
    stop.abort(new Error(`no answer within ${CALL_DEADLINE_MS / 1_000} s`)),
  )
  try {
    return { kind: 'Done', value: await work(stop.signal) }
  } catch (e) {
    const isLeft = stop.signal.aborted
    return { kind: 'Failed', why: isLeft ? messageOf(stop.signal.reason) : causeOf(e), isLeft }
  } finally {
    deadline.cancel()
    unfollow()
  }
}

/** fetch itself only reports "fetch failed". */
const causeOf = (e: unknown): string =>
  e instanceof Error && e.cause instanceof Error ? `${e.message}: ${e.cause.message}` : messageOf(e)

function resultOf(wire: Wire, answer: CloudAnswer, keys: Keys, credentials: Credentials): CallResult {
  const read = wire.read(answer)
  if (read.kind === 'Code') {
    const { code, retryAfterMs } = read
    if (wire.isStale(code)) credentials.drop(keys)
    if (wire.isThrottle(code)) return throttledFor(retryAfterMs ?? 0)
    const message = withoutKeys(read.message, keys).slice(0, MESSAGE_CHARS)
    // A code from a broken server is not a verdict.
    return answer.status >= 500 && !wire.isVerdict(code)
      ? noAnswer(`${code}: ${message}`)
      : { kind: 'Code', code, message }
  }
  if (read.kind === 'Body' && answer.status === 200) return { kind: 'Answer', body: read.body }
  return noAnswer(`the answer cannot be read (status ${answer.status}, ${answer.text.length} characters)`)
}

/** For calls that must succeed: the answer, or an error with the vendor's message. */
export function bodyOf(result: CallResult, { action }: ApiCall, place: string): unknown {
  switch (result.kind) {
    case 'Answer':
      return result.body
    case 'Code':
      throw new KubeNodeError(providersErrors.KN11040({ action, place, code: result.code, message: result.message }), {
        retry: 'later',
      })
    case 'Throttled':
      throw new KubeNodeError(
        providersErrors.KN11041({ action, place, seconds: Math.ceil(result.retryAfterMs / 1_000) }),
        { retry: 'later', data: { retryAfterMs: result.retryAfterMs } },
      )
    case 'NoAnswer':
      throw new KubeNodeError(providersErrors.KN11042({ action, place, why: result.message }), { retry: 'later' })
    default:
      return assertNever(result)
  }
}
