// What every controller is to the program that runs it: a name, the kinds it watches, and a setup that turns a context into loops.
import type { Clock } from '#lib/clock.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import type { KubeClient } from '#kube/client.ts'
import type { EventRecorder } from '#kube/events.ts'
import type { JoinBundle } from '#api/join-bundle.ts'
import type { Provider } from '#providers/port.ts'
import type { Controller } from '#runtime/controller.ts'
import type { Informers } from '#runtime/informers.ts'
import type { Part } from '#runtime/manager.ts'
import type { RuntimeMetrics } from '#runtime/metrics.ts'
import type { OutboundPlaces } from '#runtime/outbound/places.ts'

/** What the program that runs the controllers knows about its cluster; nothing here is read from the environment below the CLI. */
export interface ControllersConfig {
  readonly cluster: string
  readonly providers: Readonly<Record<string, Provider>>
  /** What inspections of rollouts may ask beyond the cluster: the Prometheus that queries go to, and origins that may lead to this host or its link. */
  readonly inspections?: { readonly prometheus?: string; readonly allow?: readonly string[] }
  /** What hosts receive at join, beside their own name and token. */
  readonly join: Pick<JoinBundle, 'server' | 'caData' | 'artifactBase' | 'trust'>
  /** Where repairs may call webhooks; nowhere without it. */
  readonly outbound?: OutboundPlaces
}

export interface ControllerContext {
  /** Fenced by leadership where there is an election: reads and lists at the server, and every write. */
  readonly client: KubeClient
  /** Shared caches; one list-watch a kind and process. */
  readonly informers: Informers
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly metrics: RuntimeMetrics
  /** A recorder that reports as `kubenode.io/<module>`. */
  readonly events: EventRecorder
  readonly config: ControllersConfig
}

export interface RunningModule {
  readonly controllers: readonly Controller[]
  /** What else has a lifetime, such as a loop that listens to a provider. Started after the controllers, stopped before them. */
  readonly parts?: readonly Part[]
}

export interface ControllerModule {
  readonly name: string
  /** Called once a term. It asks for caches, adds handlers that enqueue, and starts nothing itself. */
  setup(context: ControllerContext): RunningModule
}
