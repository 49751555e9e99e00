// What every controller gets on top of what every module gets: what the program knows about its cluster.
import type { EventRecorder } from '#kube/events.ts'
import type { JoinBundle } from '#api/join-bundle.ts'
import type { OrphanPolicy } from '#providers/definition.ts'
import type { Provider } from '#providers/port.ts'
import type { Module, ModuleContext } from '#runtime/module.ts'
import type { ChecksConfig } from '#runtime/outbound/external-checks.ts'
import type { OutboundPlaces } from '#runtime/outbound/places.ts'

/** The settings that all join bundles of a cluster share. */
export type JoinGround = Pick<
  JoinBundle,
  'server' | 'caData' | 'artifactBase' | 'artifactCaData' | 'joinScript' | 'trust'
> & {
  /** What is still missing. No host gets a bundle until it is there. */
  readonly waitsFor?: string | undefined
}

/** What the program that runs the controllers knows about its cluster. Only the programs read the environment. */
export interface ControllersConfig {
  readonly cluster: string
  readonly providers: Readonly<Record<string, Provider>>
  /** What to do with provider hosts that belong to no Machine. Default: Report. */
  readonly orphans?: Readonly<Record<string, OrphanPolicy>>
  /** What rollout inspections may reach outside the cluster: the Prometheus for queries, and origins that may resolve to this host or its link. */
  readonly inspections?: ChecksConfig
  /** What hosts receive at join, besides their own name and token. */
  readonly join: JoinGround
  /** Where repairs may call webhooks. Default: nowhere. */
  readonly outbound?: OutboundPlaces
}

export interface ControllerContext extends ModuleContext {
  /** A recorder that reports as `kubenode.io/<module>`. */
  readonly events: EventRecorder
  readonly config: ControllersConfig
}

export type ControllerModule = Module<ControllerContext>
