// Gets the next certificate before two thirds of the current one's lifetime have passed, and retries until it has one.
import type { Clock } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import { isTokenPair, lifeOf, type Credential } from './identity.ts'
import type { Renewal } from './renew.ts'

/** Triggers a renewal before its scheduled time. */
export class EarlyRenewal {
  #asked = new AbortController()

  ask(): void {
    this.#asked.abort()
  }

  /** Returns true if a renewal was requested, before or during this sleep. Throws when the signal aborts. */
  async sleep(clock: Pick<Clock, 'sleep'>, ms: number, signal: AbortSignal): Promise<boolean> {
    const asked = this.#asked.signal
    await clock.sleep(ms, AbortSignal.any([signal, asked])).catch((error: unknown) => {
      if (signal.aborted) throw error
    })
    if (asked.aborted) this.#asked = new AbortController()
    return asked.aborted
  }
}

export interface RotationDeps {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** A new key and its certificate, already stored; or a wait for a user's approval. */
  readonly renew: () => Promise<Renewal>
  readonly onRenewed: (pair: Credential) => void
  readonly early?: EarlyRenewal
}

/** Spread, so that a fleet that joined together does not renew together. */
const EARLIEST = 0.6
/** The last third is a reserve for when an approver or a server is unavailable. */
const LATEST = 2 / 3
/** Doubles after each failure, up to a small part of the lifetime, so that the last third has room for many tries. */
const RETRY_MS = 60_000
const MOST_RETRY_MS = 30 * 60_000
const MOST_RETRY_SHARE = 1 / 120
const LEAST_WAIT_MS = 10_000
const TOKEN_RETRY_MS = 60_000
const TOKEN_JITTER = 0.2
/** If the clock is far ahead, every new certificate looks old: renew after this share of its lifetime, not immediately. */
const LEAST_SHARE = 0.05

/** Delay before the next try, without jitter; `failures` in a row. */
export function retryMs(certificate: string, failures: number): number {
  const most = Math.max(RETRY_MS, Math.min(MOST_RETRY_MS, lifeMs(certificate) * MOST_RETRY_SHARE))
  return Math.min(most, RETRY_MS * 2 ** Math.min(failures - 1, 16))
}

/** A token's lifetime is shorter than the retry delay for certificates. */
const retryOf = (pair: Credential, failures: number): number =>
  isTokenPair(pair) ? Math.min(pair.askAgainMs, TOKEN_RETRY_MS) : retryMs(pair.certificate, failures)

/**
 * Milliseconds until the next certificate should be requested. A certificate that is not valid yet was signed while a clock was far ahead, and is
 * useless until then, so the next one is requested now. A host with a slow clock asks as rarely as one with a fast clock: after a small share of the
 * lifetime, or the pause after a failure.
 */
export function renewInMs(certificate: string, now: number, share: number): number {
  const life = lifeOf(certificate)
  if (life === undefined || life.from > now) return 0
  const at = life.from + (life.to - life.from) * (EARLIEST + (LATEST - EARLIEST) * share)
  return Math.max(0, at - now)
}

function lifeMs(certificate: string): number {
  const life = lifeOf(certificate)
  return life === undefined ? 0 : life.to - life.from
}

export async function keepRenewing(deps: RotationDeps, first: Credential, signal: AbortSignal): Promise<void> {
  const { clock, random, log, early = new EarlyRenewal() } = deps
  let pair = first
  const life = (): number => (isTokenPair(pair) ? 0 : lifeMs(pair.certificate))
  /** The approver replaces tokens: ask in fixed intervals, whatever the host's clock shows. */
  const waitMs = (share: number): number =>
    isTokenPair(pair)
      ? random.jitter(pair.askAgainMs, TOKEN_JITTER)
      : Math.max(leastMs, renewInMs(pair.certificate, clock.now(), share))
  let leastMs = LEAST_WAIT_MS
  let failures = 0
  const failed = (error: unknown): Promise<void> => {
    log.warn(isTokenPair(pair) ? 'cannot get the next token' : 'cannot renew the certificate', { error })
    return clock.sleep(random.jitter(retryOf(pair, ++failures), 0.5), signal)
  }
  while (!signal.aborted) {
    const isAsked = await early.sleep(clock, waitMs(random.next()), signal)
    // Timers are capped far below the lifetime of some certificates.
    if (!isAsked && !isTokenPair(pair) && renewInMs(pair.certificate, clock.now(), 0) > 0) continue
    leastMs = LEAST_WAIT_MS
    try {
      const renewal = await deps.renew()
      if (renewal.kind === 'Waiting') {
        log.warn('waiting to be readmitted', { error: renewal.why })
        await clock.sleep(random.jitter(renewal.retryMs, 0.5), signal)
        continue
      }
      const isNew = renewal.pair !== pair
      pair = renewal.pair
      failures = 0
      leastMs = Math.max(LEAST_WAIT_MS, life() * LEAST_SHARE)
      if (!isNew) continue
      deps.onRenewed(pair)
      log.info(isTokenPair(pair) ? 'token replaced' : 'certificate renewed')
    } catch (error) {
      if (signal.aborted) return
      await failed(error)
    }
  }
}
