// What a role runs: a name, and a setup that builds controllers and parts from a context. Controllers, Defender and sync share this shape.
import type { Clock } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import type { KubeClient } from '#kube/client.ts'
import { Controller, type ControllerOptions } from './controller.ts'
import type { Informers } from './informers.ts'
import type { Part } from './manager.ts'
import type { RuntimeMetrics } from './metrics.ts'
import type { Supervision } from './supervision.ts'

export interface ModuleContext {
  /** Fenced if there is an election. For reads and lists at the server, and for every write. */
  readonly client: KubeClient
  /** Shared caches; one list-watch per kind and process. */
  readonly informers: Informers
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly metrics: RuntimeMetrics
}

type FromContext = 'clock' | 'random' | 'log' | 'metrics'

/** A module's controller; its metrics carry its name. */
export const controllerIn = (
  { clock, random, log, metrics }: Pick<ModuleContext, FromContext>,
  own: Omit<ControllerOptions, FromContext>,
): Controller => new Controller({ ...own, clock, random, log, metrics: metrics.controller(own.name) })

export interface RunningModule {
  readonly controllers: readonly Controller[]
  /** Other things with a lifetime, such as a loop on a provider's events. Started after the controllers, stopped before them. */
  readonly parts?: readonly Part[]
}

/** `Running` is a promise if the setup reads from the server. */
export interface Module<
  Context extends Partial<ModuleContext> = ModuleContext,
  Running extends RunningModule | Promise<RunningModule> = RunningModule,
> {
  readonly name: string
  /** Called once per leadership term. It requests caches and adds handlers that enqueue, but starts nothing. */
  setup(context: Context): Running
}

/** The parts in start order. Controllers report health and progress to the supervision. */
export const partsOf = (
  { controllers, parts = [] }: RunningModule,
  supervision: Pick<Supervision, 'controller'>,
): readonly Part[] => [...controllers.map((c) => supervision.controller(c)), ...parts]
