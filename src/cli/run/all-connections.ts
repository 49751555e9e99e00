// Connections to every cluster of a kubeconfig, or to the named contexts of it.
import type { Environment } from '#kube/in-cluster.ts'
import { consoleErrors } from '#console/server/console-errors.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { contextsIn } from '../complete/contexts.ts'
import { chosenConnection, type Connection, listedFiles } from './connect.ts'
import { unnamedCluster } from './unnamed-cluster.ts'

export interface Wanted {
  /** As the user gave it. */
  readonly file: string | undefined
  /** Empty: all contexts. */
  readonly contexts: readonly string[]
  readonly env: Environment
  readonly cwd: string
}

/** A page for more clusters is read from a hub of hubs. */
const MOST = 200

/** By the name of the context. */
export async function allConnections({ file, contexts, env, cwd }: Wanted): Promise<ReadonlyMap<string, Connection>> {
  const found = contexts.length > 0 ? contexts : await contextsIn(await filesOf({ file, env, cwd }))
  if (found.length > MOST) throw new KubeNodeError(consoleErrors.KN16002({ found: found.length, most: MOST }))
  const wanted = found.length === 0 ? [undefined] : found
  const connections = await Promise.all(wanted.map((context) => chosenConnection({ file, context, env, cwd })))
  return new Map(connections.map((c) => [c.context, c]))
}

async function filesOf({ file, env, cwd }: Omit<Wanted, 'contexts'>): Promise<readonly string[]> {
  if (file !== undefined) return [file]
  const listed = listedFiles(env)
  if (listed.length > 0) return listed
  const unnamed = await unnamedCluster({ env, cwd }, undefined)
  return unnamed === undefined ? [] : [unnamed.file]
}
