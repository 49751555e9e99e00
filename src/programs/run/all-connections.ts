// Connections to every cluster of a kubeconfig, or to its named contexts.
import type { Environment } from '#kube/in-cluster.ts'
import { consoleErrors } from '#console/server/console-errors.ts'
import { isKubeNodeError, KubeNodeError } from '#lib/errors.ts'
import { contextsIn } from '#kube/contexts.ts'
import { kubeErrors } from '#kube/kube-errors.ts'
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

/** A page for more clusters should read from a hub of hubs. */
const MOST = 200

/** A usable context, or why it is not usable. */
export type FoundContext = Connection | { readonly context: string; readonly problem: unknown }

/** Reads each context on its own, so that a broken one does not hide the others. A named one must exist. The chosen context comes first. */
export async function foundContexts(wanted: Wanted): Promise<readonly FoundContext[]> {
  const names = await wantedContexts(wanted)
  const { file, contexts, env, cwd } = wanted
  const found = await Promise.all(
    names.map((context): Promise<FoundContext> =>
      chosenConnection({ file, context, env, cwd }).catch((problem: unknown) => {
        if (context === undefined || (contexts.length > 0 && isUnknownContext(problem))) throw problem
        return { context, problem }
      }),
    ),
  )
  if (names.length < 2) return found
  const chosen = await chosenConnection({ file, context: undefined, env, cwd }).catch(() => undefined)
  return found.toSorted((a, b) => Number(b.context === chosen?.context) - Number(a.context === chosen?.context))
}

/** A name that a user mistyped must not look like a cluster that does not answer. */
const isUnknownContext = (problem: unknown): boolean =>
  isKubeNodeError(problem) && problem.code === kubeErrors.KN2015.code

/** Keyed by context name. */
export async function allConnections(wanted: Wanted): Promise<ReadonlyMap<string, Connection>> {
  const { file, env, cwd } = wanted
  const names = await wantedContexts(wanted)
  const connections = await Promise.all(names.map((context) => chosenConnection({ file, context, env, cwd })))
  return new Map(connections.map((c) => [c.context, c]))
}

/** Undefined: the context of the file, or of this pod. */
async function wantedContexts({ file, contexts, env, cwd }: Wanted): Promise<readonly (string | undefined)[]> {
  const found = contexts.length > 0 ? contexts : await contextsIn(await filesOf({ file, env, cwd }))
  if (found.length > MOST) throw new KubeNodeError(consoleErrors.KN16002({ found: found.length, most: MOST }))
  return found.length === 0 ? [undefined] : found
}

async function filesOf({ file, env, cwd }: Omit<Wanted, 'contexts'>): Promise<readonly string[]> {
  if (file !== undefined) return [file]
  const listed = listedFiles(env)
  if (listed.length > 0) return listed
  const unnamed = await unnamedCluster({ env, cwd }, undefined)
  return unnamed === undefined ? [] : [unnamed.file]
}
