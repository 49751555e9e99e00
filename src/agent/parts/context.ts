// What every part of an agent is built from: its start options, its identity, and its access to the API server and to programs.
import { dirname } from 'node:path'
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import type { Logger } from '#lib/log.ts'
import type { Random } from '#lib/random.ts'
import type { AgentConfig } from '#api/agent-config/agent-config.ts'
import { type AgentEvents, agentEvents } from '../agent-events.ts'
import { type Fetcher, createFetcher } from '../components/fetch.ts'
import type { Files } from '../files/port.ts'
import { proxyEnv } from '../join/host-proxy.ts'
import { KnownFields } from '../known-fields.ts'
import { loopbackAddress } from '../node/address.ts'
import type { DeletedNode } from '../node/deleted-node.ts'
import type { Leaving } from '../leave/leaving.ts'
import type { NoticeWatchDeps } from '../notices/notice-watch.ts'
import type { HostFacts } from '../node/facts.ts'
import type { NodeDir } from '../node-dir.ts'
import { nodeVariables } from '../node-variables.ts'
import { Reboots } from '../reboots.ts'
import type { Session } from '../session.ts'
import { systemctlOf } from '../supervise/choose.ts'
import type { Systemctl } from '../supervise/systemd/systemctl.ts'

export interface PartsOptions {
  readonly files: Files
  readonly dir: NodeDir
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly signal: AbortSignal
  readonly version: string
  readonly nodeBinary: string
  readonly isHost: boolean
  readonly slot?: string
  readonly endForSwitch?: () => never
  readonly config: AgentConfig
  readonly facts: HostFacts
  readonly session: Session
  readonly onReboot: () => void
  readonly metadataOrigins?: NoticeWatchDeps['origins']
}

/** The Machine's latest order for this node. */
export interface Target {
  machineUid: string | undefined
  /** Its hardware class. Empty: it has none. Undefined: not known yet. */
  machineClass: string | undefined
  /** The Machine is being deleted, and its Node with it. */
  isLeaving: boolean
  deletedNode: DeletedNode | undefined
  /** The agent hands its host back. */
  leaving: Leaving | undefined
}

export interface PartsContext extends PartsOptions {
  /** What nearly every part needs. */
  readonly base: Pick<PartsOptions, 'files' | 'dir' | 'clock' | 'random' | 'log'>
  readonly client: Session['client']
  readonly machine: string
  readonly node: string
  readonly address: string
  readonly binFolder: string
  /** Environment of all programs that the agent starts on the node. */
  readonly environment: { readonly [name: string]: string }
  readonly platform: { readonly os: string; readonly arch: string }
  readonly systemctl: Systemctl | undefined
  readonly fetcher: Fetcher
  /** Variables of the host's proxy. */
  readonly proxy: { readonly [name: string]: string } | undefined
  readonly eventsOf: AgentEvents
  readonly known: KnownFields
  readonly target: Target
  readonly reboots: Reboots
}

export function partsContext(o: PartsOptions): PartsContext {
  const { files, dir, clock, random, log, config, facts, session } = o
  const { client, identity } = session
  const { machine, node } = identity
  const address = config.address ?? (o.isHost ? '127.0.0.1' : loopbackAddress(identity.cluster, machine))
  const binFolder = dirname(o.nodeBinary)
  const systemctl = o.isHost ? systemctlOf() : undefined
  const proxy = identity.proxy && proxyEnv(identity.proxy)
  return {
    ...o,
    base: { files, dir, clock, random, log },
    client,
    machine,
    node,
    address,
    binFolder,
    environment: nodeVariables({ address, machine, node, root: dir.root, binFolder }),
    platform: { os: facts.os, arch: facts.arch },
    systemctl,
    reboots: new Reboots({ ...o, bootId: facts.bootId, systemctl }),
    fetcher: createFetcher({
      base: identity.artifactBase,
      allowedOrigins: config.allowedOrigins,
      ...defined({ ca: identity.artifactCa, proxy }),
    }),
    proxy,
    eventsOf: agentEvents({ client, clock, machine, machineUid: session.machineUid }),
    known: new KnownFields(log),
    target: {
      machineUid: undefined,
      machineClass: undefined,
      isLeaving: false,
      deletedNode: undefined,
      leaving: undefined,
    },
  }
}
