// What every controller gets on top of what every module gets: what the program knows about its cluster.
import type { EventRecorder } from '#kube/events.ts'
import type { JoinBundle } from '#api/join-bundle.ts'
import type { OrphanPolicy } from '#providers/definition.ts'
import type { Provider } from '#providers/port.ts'
import type { Module, ModuleContext } from '#runtime/module.ts'
import type { Machine, SshSessionStep } from '#api/kinds/machine.ts'
import type { Secret } from '#nodes/objects.ts'
import type { RescueLine } from '#ssh/login/key-of-secret.ts'
import type { Failed } from '#ssh/failures.ts'
import type { Conversation, SshSessions } from '#ssh/ssh-sessions.ts'
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

export interface SshJoinConfig {
  readonly sessions: Pick<SshSessions, 'run' | 'inTurn'>
  /** Throws a KubeNodeError while the machine has no join token. The first two steps need none. */
  readonly scriptOf: (
    step: SshSessionStep,
    machine: Machine,
    token: Secret | undefined,
    now: number,
    rescue: RescueLine | undefined,
  ) => string
}

export type VisitResult = { readonly kind: 'Done' } | Failed

export interface SshNodesConfig {
  /** One session on a host without an agent, in which all is done that can be done now. `current`: the Machine; undefined: the visit is to end. */
  readonly visit: (
    login: Pick<Conversation, 'target' | 'identity' | 'sudo'>,
    machine: Machine,
    current: () => Machine | undefined,
    signal: AbortSignal,
  ) => Promise<VisitResult>
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
  /** How hosts are joined over SSH. Absent: these controllers join none. */
  readonly sshJoin?: SshJoinConfig
  /** How machines without an agent are worked on. Absent: these controllers work on none. */
  readonly sshNodes?: SshNodesConfig
  /** Where repairs may call webhooks. Default: nowhere. */
  readonly outbound?: OutboundPlaces
}

export interface ControllerContext extends ModuleContext {
  /** A recorder that reports as `kubenode.io/<module>`. */
  readonly events: EventRecorder
  readonly config: ControllersConfig
}

export type ControllerModule = Module<ControllerContext>
