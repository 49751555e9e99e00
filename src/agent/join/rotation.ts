// Gets the next certificate before two thirds of the life of the current one is over, and tries again until it has one.
import type { Clock } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import { lifeOf, type Pair } from './identity.ts'

export interface RotationDeps {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  /** A new key and its certificate, stored already. */
  readonly renew: () => Promise<Pair>
  readonly onRenewed: (pair: Pair) => void
}

/** Spread, so that a fleet that joined together does not renew together. */
const EARLIEST = 0.6
/** A third is left for an approver or a server that is away. */
const LATEST = 2 / 3
const RETRY_MS = 60_000
const LEAST_WAIT_MS = 10_000
/** To a clock that is far ahead each new certificate is old already: it is asked for so much of its life later, not at once. */
const LEAST_SHARE = 0.05

/** Milliseconds until the next certificate should be asked for. */
export function renewInMs(certificate: string, now: number, share: number): number {
  const life = lifeOf(certificate)
  if (life === undefined) return 0
  const at = life.from + (life.to - life.from) * (EARLIEST + (LATEST - EARLIEST) * share)
  return Math.max(0, at - now)
}

function lifeMs(certificate: string): number {
  const life = lifeOf(certificate)
  return life === undefined ? 0 : life.to - life.from
}

export async function keepRenewing(deps: RotationDeps, first: Pair, signal: AbortSignal): Promise<void> {
  const { clock, random, log } = deps
  let pair = first
  let leastMs = LEAST_WAIT_MS
  while (!signal.aborted) {
    await clock.sleep(Math.max(leastMs, renewInMs(pair.certificate, clock.now(), random.next())), signal)
    // Timers are capped far below the life of some certificates.
    if (renewInMs(pair.certificate, clock.now(), 0) > 0) continue
    leastMs = LEAST_WAIT_MS
    try {
      pair = await deps.renew()
      leastMs = Math.max(LEAST_WAIT_MS, lifeMs(pair.certificate) * LEAST_SHARE)
      deps.onRenewed(pair)
      log.info('certificate renewed')
    } catch (error) {
      if (signal.aborted) return
      log.warn('cannot renew the certificate', { error })
      await clock.sleep(random.jitter(RETRY_MS, 0.5), signal)
    }
  }
}
