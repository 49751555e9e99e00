// Runs roles in this process, each with its own connection and leader election, until the process is stopped or one of them ends.
import { hostname } from 'node:os'
import { isInPod } from '#kube/in-cluster.ts'
import { systemClock } from '#lib/clock.ts'
import { collectAtRest, thisEngine } from '#lib/collect-at-rest.ts'
import { pinoLogger } from '#lib/log-pino.ts'
import { shownLine } from '#lib/printable.ts'
import { keepFilesPrivate } from '#lib/private-folder.ts'
import { holderName } from '#nodes/own-pods.ts'
import { EXIT_ERROR, Exit } from '../exit.ts'
import type { Io } from '../io.ts'
import { untilEnded } from '../until-ended.ts'
import { clientOf, serverOf } from './connect.ts'
import { listenersOf, listeningOf } from './listeners.ts'
import { connectionFor, connectionsOf } from './role-connections.ts'
import { runRole } from './role.ts'
import { roleNamed } from './roles.ts'
import { clusterConfigOf, configOf, rolesIn, type RunOptions } from './run-options.ts'
import { untilOneEnds } from './until-one-ends.ts'

export async function runRoles(options: RunOptions, io: Io): Promise<void> {
  const names = rolesIn(options.roles)
  const listening = listeningOf(options, names)
  const config = configOf(options, names, io.env)
  const { kubeconfig: files = [], context, sharedIdentity: mayShare = false } = options
  const connections = await connectionsOf({ names, files, context, mayShare, env: io.env })
  for (const w of new Set([...connections.values()].flatMap((c) => c.warnings))) io.err(shownLine(w))
  const log = pinoLogger({ level: options.logLevel })
  if (!config.providers.some((p) => p.writesForOthers)) keepFilesPrivate()
  const shutdown = untilEnded()
  const engine = thisEngine()
  if (engine !== undefined) collectAtRest(systemClock, engine)
  // Every container counts processes from one: the name of the pod tells two of them apart, and where the leader is.
  const identity = holderName(isInPod(io.env) ? hostname() : undefined, `${process.pid}-${Date.now().toString(36)}`)
  const ended = await untilOneEnds(names, shutdown.signal, async (name, signal) => {
    const connection = connectionFor(connections, name)
    const { context: ownContext } = connection
    const own = { ...config, ...clusterConfigOf(options, { ...serverOf(connection), context: ownContext }) }
    return runRole(await roleNamed(name, own, identity), {
      client: clientOf(connection.config, `kubenode-${name}`),
      clientAs: (user) => clientOf({ ...connection.config, impersonate: { user } }, `kubenode-${name}`),
      leaseClient: clientOf(connection.config, `kubenode-${name}-lease`),
      log,
      cluster: own.cluster,
      listeners: (served) => listenersOf(listening, served, name),
      signal,
    })
  })
  const failed = ended.find((e) => e.error !== undefined)
  if (failed !== undefined) throw failed.error
  if (ended.some((e) => e.reason !== 'Stopped')) throw new Exit(EXIT_ERROR)
}
