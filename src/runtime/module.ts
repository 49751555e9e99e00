// What every part of a program is to the role that runs it: a name, and a setup that turns a context into loops. Controllers, Defender and sync have this one shape.
import type { Clock } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import type { KubeClient } from '#kube/client.ts'
import type { Controller } from './controller.ts'
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

export interface RunningModule {
  readonly controllers: readonly Controller[]
  /** What else has a lifetime, such as a loop that listens to a provider. Started after the controllers, stopped before them. */
  readonly parts?: readonly Part[]
}

/** `Running` is a promise where the setup has to ask the server first. */
export interface Module<
  Context extends Partial<ModuleContext> = ModuleContext,
  Running extends RunningModule | Promise<RunningModule> = RunningModule,
> {
  readonly name: string
  /** Called once a term. It asks for caches, adds handlers that enqueue, and starts nothing itself. */
  setup(context: Context): Running
}

/** All that is started, in this order: controllers report their health and progress. */
export const partsOf = (
  { controllers, parts = [] }: RunningModule,
  supervision: Pick<Supervision, 'controller'>,
): readonly Part[] => [...controllers.map((c) => supervision.controller(c)), ...parts]
