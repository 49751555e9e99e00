// Runs roles of one or more clusters in this process, each with its own connection and leader election, until the process is stopped or one of them ends.
import { hostname } from 'node:os'
import type { ConnectionConfig } from '#kube/http/connection.ts'
import { isInPod } from '#kube/in-cluster.ts'
import { MIB } from '#lib/bytes.ts'
import { systemClock } from '#lib/system-clock.ts'
import { collectAtRest, thisEngine } from '#lib/collect-at-rest.ts'
import { favorMemory, letHeapGrow } from '#lib/heap-growth.ts'
import type { Logger } from '#lib/log.ts'
import { pinoLogger } from '#lib/log-pino.ts'
import { shownLine } from '#lib/printable.ts'
import { keepFilesPrivate, letOthersRead } from '#lib/private-folder.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { holderName } from '#nodes/own-pods.ts'
import type { Ended } from '#runtime/manager.ts'
import { runtimeErrors } from '#runtime/runtime-errors.ts'
import type { Io } from '#lib/terminal/io.ts'
import { exitSoon, untilEnded } from '#runtime/until-ended.ts'
import { clientOf, type Connection, serverOf } from './connect.ts'
import { type Listening, listenersOf, listeningOf } from './listeners.ts'
import type { FollowSource } from './follow-source.ts'
import { type ReadOptions, runFollowed } from './followed-clusters.ts'
import { connectionFor, connectionsOf, type Identities } from './role-connections.ts'
import { runRole } from './role.ts'
import type { RoleName } from '../all.ts'
import { roleNamed } from './role-named.ts'
import { clusterConfigOf, configOf, rolesIn, type RunOptions } from './run-options.ts'
import { untilOneEnds } from './until-one-ends.ts'

/**
 * A commit to a hundred clusters makes garbage so fast that the engine let 54 MB of live data grow to 203 MB. With this bound, sync takes 242 MB instead of
 * 352 MB at its highest, for 3 % more processor time. Controllers make less garbage: the engine's own rule holds them below it.
 */
const SYNC_GROWTH_PERCENT = 100
/** Which of both, and of which role, is in the log of that role. */
const LOST = 'another replica leads, or the API server did not answer in time'

/** The roles of one cluster. */
interface Group {
  readonly options: RunOptions
  readonly names: readonly RoleName[]
  readonly listening: Listening
  readonly config: ReturnType<typeof configOf>
  readonly connections: ReadonlyMap<RoleName, Connection>
}

export interface RolesOptions {
  readonly logLevel: RunOptions['logLevel']
  /** Lists more clusters, which come and go while this process runs. */
  readonly follow?: { readonly source: FollowSource; readonly read: ReadOptions }
}

/** `all`: one set of options per cluster. */
export async function runRoles(all: readonly RunOptions[], io: Io, { logLevel, follow }: RolesOptions): Promise<void> {
  const identities: Identities = new Map()
  const groups: Group[] = []
  for (const options of all) groups.push(await groupOf(options, io, identities))
  const log = pinoLogger({ level: logLevel })
  if (groups.some(writesForOthers)) letOthersRead()
  else keepFilesPrivate()
  const shutdown = untilEnded()
  collectAtRest(systemClock, thisEngine())
  if (groups.some(({ names }) => names.includes('sync'))) letHeapGrow(SYNC_GROWTH_PERCENT)
  else if (groups.every(({ names }) => names.every((name) => name === 'history'))) favorMemory()
  // Containers number their processes from one. The pod name tells two holders apart and shows where the leader is.
  const identity = holderName(isInPod(io.env) ? hostname() : undefined, `${process.pid}-${Date.now().toString(36)}`)
  const isOne = groups.length === 1 && follow === undefined
  const run = (group: Group, signal: AbortSignal) =>
    untilOneEnds(group.names, signal, (name, own) => ran({ group, name, identity, log, isOne, signal: own }))
  const parts = [
    ...groups.map((group) => (signal: AbortSignal) => run(group, signal)),
    ...(follow === undefined
      ? []
      : [
          (signal: AbortSignal) =>
            runFollowed({
              ...follow,
              log,
              signal,
              // A stopped cluster frees its identities.
              run: async (options, until) => {
                const group = await groupOf(options, io, new Map(identities))
                // Otherwise only root could enter a machine's root folder.
                if (writesForOthers(group)) letOthersRead()
                return run(group, until)
              },
            }),
        ]),
  ]
  const ended = await untilOneEnds(parts, shutdown.signal, (part, signal) => part(signal))
    .then((all) => all.flat())
    .finally(() => exitSoon(systemClock))
  const failed = ended.find((e) => e.error !== undefined)
  if (failed !== undefined) throw failed.error
  if (ended.some((e) => e.reason !== 'Stopped'))
    throw new KubeNodeError(runtimeErrors.KN3012({ reason: LOST }), { retry: 'later' })
}

/** The administrators of one cluster, who may answer for its API server, must not end the roles of the others in this process. */
const OF_ONE_OF_MANY = { parsed: 16 * MIB, text: 16 * MIB, listed: 128 * MIB }

/** All clients of a role. */
export function clientsOf(config: ConnectionConfig, userAgent: string, isOne: boolean) {
  const bounds = isOne ? undefined : OF_ONE_OF_MANY
  return {
    client: clientOf(config, userAgent, bounds),
    clientAs: (user: string) => clientOf({ ...config, impersonate: { user } }, userAgent, bounds),
    leaseClient: clientOf(config, `${userAgent}-lease`, bounds),
  }
}

const writesForOthers = ({ config }: Group): boolean => config.providers.some((p) => p.writesForOthers)

interface RoleOptions {
  readonly group: Group
  readonly name: RoleName
  readonly identity: string
  readonly log: Logger
  /** This process runs roles of one cluster only. */
  readonly isOne: boolean
  readonly signal: AbortSignal
}

async function ran({ group, name, identity, log, isOne, signal }: RoleOptions): Promise<Ended> {
  const { options, config, connections, listening } = group
  const connection = connectionFor(connections, name)
  const { context: ownContext } = connection
  const own = {
    ...config,
    ...clusterConfigOf(options, {
      server: connection.config.server,
      ca: () => serverOf(connection).ca,
      context: ownContext,
      connection: connection.config,
    }),
  }
  return runRole(await roleNamed(name, own, identity), {
    ...clientsOf(connection.config, `kubenode-${name}`, isOne),
    log: isOne ? log : log.with({ cluster: own.cluster }),
    cluster: own.cluster,
    listeners: (served) => listenersOf(listening, served, { role: name, cluster: own.cluster }),
    signal,
  })
}

/** No two roles share an identity, even across clusters. */
async function groupOf(options: RunOptions, io: Io, identities: Identities): Promise<Group> {
  const names = rolesIn(options.roles)
  const listening = listeningOf(options, names)
  const config = configOf(options, names, io.env)
  const { kubeconfig: files = [], context, sharedIdentity: mayShare = false } = options
  const connections = await connectionsOf({ names, files, context, mayShare, env: io.env }, identities)
  for (const warning of new Set([...connections.values()].flatMap((c) => c.warnings))) io.err(shownLine(warning))
  return { options, names, listening, config, connections }
}
