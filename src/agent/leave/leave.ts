// How an agent leaves: components first, then its objects on the server and its last report, then itself. Each phase is on the disk before it begins.
import type { Clock } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import { isNotFound } from '#kube/errors.ts'
import type { Files } from '../files/port.ts'
import type { NodeDir } from '../node-dir.ts'
import { recordLeaving, type Leaving } from './leaving.ts'

export interface LeaveDeps {
  readonly files: Files
  readonly dir: NodeDir
  readonly clock: Clock
  readonly log: Logger
  readonly areComponentsOff: () => boolean
  /** Removes the agent's conditions from the Node, then reports Left. */
  readonly report: () => Promise<void>
  readonly signal: AbortSignal
}

const POLL_MS = 250
const RETRY_MS = 2_000
/** The server may be down for hours; the host is released without it. */
const REPORT_WITHIN_MS = { Machine: 600_000, Person: 60_000 } as const

/** Resolves when only the agent itself is left; throws when it is stopped before. */
export async function leave(deps: LeaveDeps, from: Leaving): Promise<void> {
  const { clock, log, signal } = deps
  let leaving = from
  if (leaving.phase === 'Components') {
    while (!deps.areComponentsOff()) await clock.sleep(POLL_MS, signal)
    leaving = { ...leaving, phase: 'Report' }
    await recordLeaving(deps, leaving)
    log.info('every component was handed back')
  }
  if (leaving.phase === 'Report') {
    await reportLeft(deps, REPORT_WITHIN_MS[leaving.by])
    await recordLeaving(deps, { ...leaving, phase: 'Host' })
  }
}

async function reportLeft({ clock, log, report, signal }: LeaveDeps, withinMs: number): Promise<void> {
  const until = clock.monotonic() + withinMs
  for (;;)
    try {
      return await report()
    } catch (error) {
      // The Machine was deleted: the report was received, or no controller waits for it.
      if (isNotFound(error)) return
      if (clock.monotonic() >= until) {
        log.warn('leaving without a last report', { reason: messageOf(error) })
        return
      }
      log.warn('cannot report that the host was handed back', { error, retryInMs: RETRY_MS })
      await clock.sleep(RETRY_MS, signal)
    }
}
