// The one shape of what a role runs: a name, and a setup that makes controllers and parts from a context. Controllers, Defender and sync have it.
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
  /** Fenced by leadership where there is an election: reads and lists at the server, and every write. */
  readonly client: KubeClient
  /** Shared caches; one list-watch a kind and process. */
  readonly informers: Informers
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly metrics: RuntimeMetrics
}

type FromContext = 'clock' | 'random' | 'log' | 'metrics'

/** A controller of a module: its metrics carry its name. */
export const controllerIn = (
  { clock, random, log, metrics }: Pick<ModuleContext, FromContext>,
  own: Omit<ControllerOptions, FromContext>,
): Controller => new Controller({ ...own, clock, random, log, metrics: metrics.controller(own.name) })

export interface RunningModule {
  readonly controllers: readonly Controller[]
  /** Other things with a lifetime, such as a loop that listens to a provider. Started after the controllers, stopped before them. */
  readonly parts?: readonly Part[]
}

/** `Running` is a promise when the setup reads from the server. */
export interface Module<
  Context extends Partial<ModuleContext> = ModuleContext,
  Running extends RunningModule | Promise<RunningModule> = RunningModule,
> {
  readonly name: string
  /** Called once per leadership term. It requests caches and adds handlers that enqueue, but starts nothing. */
  setup(context: Context): Running
}

/** The parts to start, in this order. Controllers report their health and progress to the supervision. */
export const partsOf = (
  { controllers, parts = [] }: RunningModule,
  supervision: Pick<Supervision, 'controller'>,
): readonly Part[] => [...controllers.map((c) => supervision.controller(c)), ...parts]
