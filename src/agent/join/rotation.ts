// Gets the next certificate before 80 % of the life of the current one is over, and tries again until it has one.
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
const EARLIEST = 0.7
const LATEST = 0.8
const RETRY_MS = 60_000
/** A clock that is far off must not make us ask without a pause. */
const LEAST_WAIT_MS = 10_000

/** Milliseconds until the next certificate should be asked for. */
export function renewInMs(certificate: string, now: number, share: number): number {
  const life = lifeOf(certificate)
  if (life === undefined) return 0
  const at = life.from + (life.to - life.from) * (EARLIEST + (LATEST - EARLIEST) * share)
  return Math.max(0, at - now)
}

export async function keepRenewing(deps: RotationDeps, first: Pair, signal: AbortSignal): Promise<void> {
  const { clock, random, log } = deps
  let pair = first
  while (!signal.aborted) {
    await clock.sleep(Math.max(LEAST_WAIT_MS, renewInMs(pair.certificate, clock.now(), random.next())), signal)
    // Timers are capped far below the life of some certificates.
    if (renewInMs(pair.certificate, clock.now(), 0) > 0) continue
    try {
      pair = await deps.renew()
      deps.onRenewed(pair)
      log.info('certificate renewed')
    } catch (error) {
      if (signal.aborted) return
      log.warn('certificate not renewed', { error })
      await clock.sleep(random.jitter(RETRY_MS, 0.5), signal)
    }
  }
}
