// Deletes ComponentConfigs that no machine, kept revision, slice or canary refers to. Each set recreates what it needs.
import type { ComponentCanary } from '#api/kinds/component-canary.ts'
import { type ComponentConfig, componentConfig, renderedConfig } from '#api/kinds/component-config.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { Clock, Timer } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import type { KubeClient } from '#kube/client.ts'
import type { Part } from '#runtime/manager.ts'
import { deleteExactly } from '#runtime/preconditions.ts'
import { configNames } from './configs.ts'
import type { ControllerRevision } from './revisions.ts'

/**
 * A configuration is created shortly before the object that refers to it. And a commit that is reverted within the hour finds its configuration
 * again.
 */
export const CONFIG_GRACE_MS = 3_600_000
export const SWEEP_EVERY_MS = 300_000
/** A few at a time: a year's backlog must not cause a burst of writes. */
export const MOST_A_SWEEP = 100

export interface Referrers {
  readonly machines: readonly Machine[]
  readonly sets: readonly MachineComponentSet[]
  readonly revisions: readonly ControllerRevision[]
  readonly canaries: readonly ComponentCanary[]
}

export interface SweepInput extends Referrers {
  readonly configs: readonly ComponentConfig[]
  /** By UID: when each was first observed without references, on the monotonic clock. */
  readonly since: ReadonlyMap<string, number>
  readonly now: number
}

export interface SweepPlan {
  /** By UID, for the next sweep. */
  readonly since: ReadonlyMap<string, number>
  readonly remove: readonly ComponentConfig[]
}

export function planSweep({ configs, since, now, ...referrers }: SweepInput): SweepPlan {
  const named = namedBy(referrers)
  const idle = configs.filter((c) => c.metadata.uid !== undefined && !named.has(c.metadata.name ?? ''))
  const seenSince = ({ metadata }: ComponentConfig): number => since.get(metadata.uid ?? '') ?? now
  return {
    since: new Map(idle.map((c) => [c.metadata.uid ?? '', seenSince(c)])),
    remove: idle.filter((c) => now - seenSince(c) >= CONFIG_GRACE_MS).slice(0, MOST_A_SWEEP),
  }
}

function namedBy({ machines, sets, revisions, canaries }: Referrers): ReadonlySet<string> {
  return new Set([
    ...machines.flatMap((m) => (m.spec.components ?? []).flatMap((c) => c.config ?? [])),
    // Other kinds also keep revisions here.
    ...revisions.flatMap((r) => (Array.isArray(r.data?.components) ? configNames(r.data.components) : [])),
    ...sets.flatMap((s) => [
      ...configNames(s.spec.components),
      ...(s.status?.slices ?? []).flatMap((w) => w.config ?? []),
    ]),
    ...canaries.flatMap((c) => c.spec.components.flatMap((w) => renderedConfig(w)?.object ?? [])),
  ])
}

export interface SweepTools {
  readonly client: KubeClient
  readonly clock: Clock
  readonly log: Logger
  /** Throws while a cache is not fresh; in that case nothing is deleted. */
  readonly read: () => Referrers & Pick<SweepInput, 'configs'>
}

export class ConfigSweep implements Part {
  readonly name = 'configuration cleanup'
  readonly #tools: SweepTools
  readonly #stop = new AbortController()
  #since: ReadonlyMap<string, number> = new Map()
  #timer: Timer | undefined
  #busy: Promise<void> = Promise.resolve()

  constructor(tools: SweepTools) {
    this.#tools = tools
  }

  start(): void {
    this.#timer = this.#tools.clock.after(SWEEP_EVERY_MS, () => {
      this.#busy = this.sweep().finally(() => {
        if (!this.#stop.signal.aborted) this.start()
      })
    })
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    this.#timer?.cancel()
    await this.#busy
  }

  async sweep(): Promise<void> {
    const { client, clock, log, read } = this.#tools
    try {
      const { since, remove } = planSweep({ ...read(), since: this.#since, now: clock.monotonic() })
      this.#since = since
      const { signal } = this.#stop
      for (const config of remove) {
        if (signal.aborted) return
        const { kind } = await deleteExactly(client, componentConfig, config, { signal })
        log.info('configuration removed', {
          config: config.metadata.name,
          outcome: kind,
          reason: 'nothing references it',
        })
      }
    } catch (error) {
      log.warn('configuration cleanup failed', { error })
    }
  }
}
