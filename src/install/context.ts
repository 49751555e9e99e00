// The context of every step of install, check and uninstall: the cluster, a clock, and where to report progress.
import type { PhaseProgress } from './phase-bars.ts'
import type { Clock } from '#lib/clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { KubeClient } from '#kube/client.ts'
import { isApiError } from '#kube/errors.ts'
import type { ResourceTypes } from '#delivery/resource-types.ts'
import { installErrors } from './install-errors.ts'

export interface TurnTimes {
  /** Others wait this long after the last renewal they observed. */
  readonly leaseMs: number
  readonly renewMs: number
}

export interface InstallContext {
  readonly client: KubeClient
  /** Its address as seen from this machine. */
  readonly server?: string
  readonly types: ResourceTypes
  readonly clock: Clock
  /** Progress for users, one line each. */
  readonly print: (line: string) => void
  /** On a terminal: the current wait by name, with its reason; undefined once it is over. Elsewhere a wait is printed when its reason changes. */
  readonly showWait?: (what: string, why: string | undefined) => void
  /** On a terminal: the progress of each phase. Elsewhere a phase is printed when it is done. */
  readonly showPhases?: (phases: readonly PhaseProgress[]) => void
  /** Time limit for one wait. */
  readonly timeoutMs: number
  readonly signal?: AbortSignal
  /** Shorter in tests. */
  readonly turnTimes?: TurnTimes
}

const POLL_MS = 500
/** Shorter waits are not shown. */
const SILENT_MS = 2_000

/** The result, or why there is none yet. */
export type PollResult<T> = { readonly done: T } | { readonly waitsFor: string }

/** Polls until there is a result, and shows what it is waiting for. */
export async function until<T>(
  { clock, timeoutMs, signal, print, showWait }: InstallContext,
  what: string,
  poll: () => Promise<PollResult<T>>,
): Promise<T> {
  const began = clock.monotonic()
  let printed = ''
  let why = 'the server does not answer'
  const show = (why: string): void => {
    if (showWait !== undefined) showWait(what, why)
    else if (why !== printed) print(`waiting for ${what}: ${why}`)
    printed = why
  }
  try {
    for (;;) {
      signal?.throwIfAborted()
      const seen = await answerWithin({ clock, signal }, began + timeoutMs - clock.monotonic(), poll)
      if (seen !== undefined && 'done' in seen) return seen.done
      why = seen?.waitsFor ?? why
      if (seen === undefined || clock.monotonic() - began > timeoutMs)
        throw new KubeNodeError(installErrors.KN1418({ seconds: Math.round(timeoutMs / 1_000), what, why }))
      if (clock.monotonic() - began >= SILENT_MS) show(seen.waitsFor)
      await clock.sleep(POLL_MS, signal)
    }
  } finally {
    showWait?.(what, undefined)
  }
}

/** Undefined: a server that accepts requests and never answers must not outlast the limit, nor an interrupt. */
async function answerWithin<T>(
  { clock, signal }: Pick<InstallContext, 'clock'> & { readonly signal: AbortSignal | undefined },
  ms: number,
  poll: () => Promise<PollResult<T>>,
): Promise<PollResult<T> | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<undefined>()
  const timer = clock.after(Math.max(ms, POLL_MS), () => resolve(undefined))
  const interrupt = (): void => reject(signal?.reason as Error)
  signal?.addEventListener('abort', interrupt)
  try {
    return await Promise.race([poll(), promise])
  } finally {
    timer.cancel()
    signal?.removeEventListener('abort', interrupt)
  }
}

/** For a kind it does not serve, a server answers as if there were no objects. */
export async function ifServed<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work()
  } catch (error) {
    if (isApiError(error) && error.status === 404) return undefined
    throw error
  }
}
