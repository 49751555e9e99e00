// What controllers are given beyond what every module is given: what the program knows about its cluster.
import type { EventRecorder } from '#kube/events.ts'
import type { JoinBundle } from '#api/join-bundle.ts'
import type { OrphanPolicy } from '#providers/definition.ts'
import type { Provider } from '#providers/port.ts'
import type { Module, ModuleContext } from '#runtime/module.ts'
import type { ChecksConfig } from '#runtime/outbound/external-checks.ts'
import type { OutboundPlaces } from '#runtime/outbound/places.ts'

/** What join bundles of a cluster have in common. */
export type JoinGround = Pick<
  JoinBundle,
  'server' | 'caData' | 'artifactBase' | 'artifactCaData' | 'joinScript' | 'trust'
> & {
  /** What is still missing of it; no host is given a bundle before. */
  readonly waitsFor?: string | undefined
}

/** What the program that runs the controllers knows about its cluster; nothing here is read from the environment below the programs. */
export interface ControllersConfig {
  readonly cluster: string
  readonly providers: Readonly<Record<string, Provider>>
  /** What is done with hosts of a provider that belong to no Machine; left out: Report. */
  readonly orphans?: Readonly<Record<string, OrphanPolicy>>
  /** What inspections of rollouts may ask beyond the cluster: the Prometheus that queries go to, and origins that may lead to this host or its link. */
  readonly inspections?: ChecksConfig
  /** What hosts receive at join, beside their own name and token. */
  readonly join: JoinGround
  /** Where repairs may call webhooks; nowhere without it. */
  readonly outbound?: OutboundPlaces
}

export interface ControllerContext extends ModuleContext {
  /** A recorder that reports as `kubenode.io/<module>`. */
  readonly events: EventRecorder
  readonly config: ControllersConfig
}

export type ControllerModule = Module<ControllerContext>
