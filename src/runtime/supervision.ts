// Connects the parts of a program to its health, watchdog and manager: which must be synced for readiness, and whose silence is a stall.
import type { Clock } from '#lib/clock.ts'
import { formatDuration } from '#lib/duration.ts'
import type { Logger } from '#lib/log.ts'
import type { Controller } from './controller.ts'
import type { Health } from './health.ts'
import type { Election, ElectionEvents, Part } from './manager.ts'
import type { RuntimeMetrics } from './metrics.ts'
import { Watchdog } from './watchdog.ts'

/** The part of an informer that this file needs. */
interface CachedKind {
  run(signal: AbortSignal): Promise<void>
  synced(signal?: AbortSignal): Promise<void>
  readonly isSynced: boolean
  silentForMs(): number
}

/** Bookmarks arrive each minute. A reflector drops a silent connection after at most 2.5 minutes and needs time to reconnect. */
const WATCH_BOUND_MS = 180_000
/** How long a loop may be silent, beyond what its longest reconcile takes. */
const LOOP_BOUND_MS = 90_000

export interface Supervision {
  readonly watchdog: Watchdog
  /** A part for the manager's caches; its start resolves when the cache is complete. */
  cache(name: string, cached: CachedKind): Part
  /** A part for the manager's controllers. */
  controller(controller: Controller): Part
  /** The same election, with metrics. */
  election(make: (events: ElectionEvents) => Election): (events: ElectionEvents) => Election
}

export interface SupervisionOptions {
  readonly clock: Clock
  readonly log: Logger
  readonly health: Health
  readonly metrics: RuntimeMetrics
}

/** The name of a controller's loop in logs and /healthz. */
export const controllerPartName = (controller: string): string => `controller ${controller}`

export function supervise({ clock, log, health, metrics }: SupervisionOptions): Supervision {
  const watchdog = new Watchdog({
    clock,
    onStalled: ({ part, silentMs, boundMs }) => {
      metrics.stalled(part, true)
      log.error('stalled', { part, reason: 'Silent', silentMs, boundMs })
    },
    onRecovered: (part) => {
      metrics.stalled(part, false)
      log.info('recovered', { part })
    },
  })
  // A silent watch is the server's or the network's fault and no restart fixes it: the process is unready. A stuck loop is its own fault.
  const isStalled = (part: string) => () => {
    const silent = watchdog.silent().find((s) => s.part === part)
    return silent && `silent for ${formatDuration(silent.silentMs)}`
  }
  return {
    watchdog,
    cache: (name, cached) => {
      const part = `watch ${name}`
      health.readyWhen(part, () => (cached.isSynced ? isStalled(part)() : 'not synced yet'))
      return cachePart(part, cached, clock, watchdog)
    },
    controller: (controller) => {
      const part = controllerPartName(controller.name)
      health.liveWhen(part, isStalled(part))
      return controllerPart(part, controller, watchdog)
    },
    election: (make) => (events) =>
      make({
        onElected: (term) => {
          metrics.leader(true)
          events.onElected(term)
        },
        onLost: (reason) => {
          metrics.leader(false)
          events.onLost(reason)
        },
      }),
  }
}

function cachePart(name: string, cached: CachedKind, clock: Clock, watchdog: Watchdog): Part {
  const stop = new AbortController()
  let running: Promise<void> | undefined
  return {
    name,
    start: async (signal) => {
      running = cached.run(stop.signal)
      watchdog.watch(name, WATCH_BOUND_MS, () => clock.monotonic() - cached.silentForMs())
      await cached.synced(signal)
    },
    stop: async () => {
      watchdog.unwatch(name)
      stop.abort()
      await running
    },
  }
}

function controllerPart(name: string, controller: Controller, watchdog: Watchdog): Part {
  return {
    name,
    start: () => {
      controller.start()
      watchdog.watch(name, controller.longestTurnMs + LOOP_BOUND_MS, () => controller.state().lastProgressAt)
    },
    stop: async (withinMs) => {
      watchdog.unwatch(name)
      return controller.stop(withinMs)
    },
  }
}
