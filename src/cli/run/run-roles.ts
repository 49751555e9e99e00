// Runs roles of one or more clusters in this process, each with its own connection and leader election, until the process is stopped or one of them ends.
import { hostname } from 'node:os'
import { isInPod } from '#kube/in-cluster.ts'
import { systemClock } from '#lib/clock.ts'
import { collectAtRest, thisEngine } from '#lib/collect-at-rest.ts'
import { pinoLogger } from '#lib/log-pino.ts'
import { shownLine } from '#lib/printable.ts'
import { keepFilesPrivate, letOthersRead } from '#lib/private-folder.ts'
import { holderName } from '#nodes/own-pods.ts'
import { EXIT_ERROR, Exit } from '../exit.ts'
import type { Io } from '../io.ts'
import { untilEnded } from '../until-ended.ts'
import { clientOf, type Connection, serverOf } from './connect.ts'
import { type Listening, listenersOf, listeningOf } from './listeners.ts'
import { connectionFor, connectionsOf, type Identities } from './role-connections.ts'
import { runRole } from './role.ts'
import { type RoleName, roleNamed } from './roles.ts'
import { clusterConfigOf, configOf, rolesIn, type RunOptions } from './run-options.ts'
import { untilOneEnds } from './until-one-ends.ts'

/** The roles of one cluster. */
interface Group {
  readonly options: RunOptions
  readonly names: readonly RoleName[]
  readonly listening: Listening
  readonly config: ReturnType<typeof configOf>
  readonly connections: ReadonlyMap<RoleName, Connection>
}

/** `all`: the options of each cluster. */
export async function runRoles(all: readonly RunOptions[], io: Io): Promise<void> {
  const groups = await groupsOf(all, io)
  for (const w of new Set(groups.flatMap((g) => [...g.connections.values()].flatMap((c) => c.warnings))))
    io.err(shownLine(w))
  const log = pinoLogger({ ...(all[0] !== undefined && { level: all[0].logLevel }) })
  if (groups.some((g) => g.config.providers.some((p) => p.writesForOthers))) letOthersRead()
  else keepFilesPrivate()
  const shutdown = untilEnded()
  const engine = thisEngine()
  if (engine !== undefined) collectAtRest(systemClock, engine)
  // Every container counts processes from one: the name of the pod tells two of them apart, and where the leader is.
  const identity = holderName(isInPod(io.env) ? hostname() : undefined, `${process.pid}-${Date.now().toString(36)}`)
  const roles = groups.flatMap((group) => group.names.map((name) => ({ group, name })))
  const ended = await untilOneEnds(roles, shutdown.signal, async ({ group, name }, signal) => {
    const { options, config, connections, listening } = group
    const connection = connectionFor(connections, name)
    const { context: ownContext } = connection
    const own = {
      ...config,
      ...clusterConfigOf(options, {
        ...serverOf(connection),
        context: ownContext,
        connection: connection.config,
      }),
    }
    return runRole(await roleNamed(name, own, identity), {
      client: clientOf(connection.config, `kubenode-${name}`),
      clientAs: (user) => clientOf({ ...connection.config, impersonate: { user } }, `kubenode-${name}`),
      leaseClient: clientOf(connection.config, `kubenode-${name}-lease`),
      log: groups.length > 1 ? log.with({ cluster: own.cluster }) : log,
      cluster: own.cluster,
      listeners: (served) => listenersOf(listening, served, name),
      signal,
    })
  })
  const failed = ended.find((e) => e.error !== undefined)
  if (failed !== undefined) throw failed.error
  if (ended.some((e) => e.reason !== 'Stopped')) throw new Exit(EXIT_ERROR)
}

/** No two roles have one identity, whichever clusters they are for. */
async function groupsOf(all: readonly RunOptions[], io: Io): Promise<readonly Group[]> {
  const identities: Identities = new Map()
  const groups: Group[] = []
  for (const options of all) {
    const names = rolesIn(options.roles)
    const listening = listeningOf(options, names)
    const config = configOf(options, names, io.env)
    const { kubeconfig: files = [], context, sharedIdentity: mayShare = false } = options
    const connections = await connectionsOf({ names, files, context, mayShare, env: io.env }, identities)
    groups.push({ options, names, listening, config, connections })
  }
  return groups
}
