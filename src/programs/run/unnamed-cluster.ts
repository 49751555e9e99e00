// Picks the cluster of a command that names none: that of ~/.kube/config, as kubectl does, or the local fleet around the current folder. It never guesses
// between the two.
import { existsSync, lstatSync } from 'node:fs'
import { join } from 'node:path'
import { KubeNodeError } from '#lib/errors.ts'
import type { Environment } from '#kube/in-cluster.ts'
import { contextsOf } from '#kube/contexts.ts'
import { runErrors } from './run-errors.ts'

export interface UnnamedCluster {
  readonly file: string
  /** As messages name it: `~/.kube/config`. */
  readonly called: string
  /** Found around the current folder, which may be a clone of another user's repository: only data counts. */
  readonly isFleet: boolean
}

export interface Place {
  readonly env: Environment
  readonly cwd: string
}

/** kubectl's last fallback; undefined without a home directory. */
export const homeKubeconfig = ({ HOME: home }: Environment): string | undefined =>
  home === undefined || home === '' ? undefined : join(home, '.kube', 'config')

/** Files that exist; they may hold nothing usable. */
export async function unnamedKubeconfigs({ env, cwd }: Place): Promise<readonly UnnamedCluster[]> {
  const home = homeKubeconfig(env)
  const { runningFleet } = await import('../local/find-data.ts')
  const fleet = runningFleet(cwd)
  return [
    ...(home === undefined || !existsSync(home) ? [] : [{ file: home, called: '~/.kube/config', isFleet: false }]),
    ...(fleet === undefined || !isOurs(fleet.kubeconfig)
      ? []
      : [{ file: fleet.kubeconfig, called: `the local fleet in ${fleet.data}`, isFleet: true }]),
  ]
}

/** The local fleet around this folder, if it has the context that another file lacks. */
export async function fleetWith(context: string, cwd: string): Promise<UnnamedCluster | undefined> {
  const [fleet] = await unnamedKubeconfigs({ env: {}, cwd })
  return fleet !== undefined && (await readable(fleet.file))?.includes(context) === true ? fleet : undefined
}

/** A kubeconfig can run programs, so skip one that another user left in a parent folder. */
const isOurs = (file: string): boolean => lstatSync(file, { throwIfNoEntry: false })?.uid === process.geteuid?.()

/** Undefined if there is none. A context picks between two files if only one has it. */
export async function unnamedCluster(place: Place, context: string | undefined): Promise<UnnamedCluster | undefined> {
  const all = await unnamedKubeconfigs(place)
  const read = await Promise.all(all.map(async (one) => ({ one, contexts: await readable(one.file) })))
  const usable = read.filter(({ contexts }) => contexts === undefined || contexts.length > 0)
  const having = usable.filter(({ contexts }) => context !== undefined && contexts?.includes(context) === true)
  const [first, second] = having.length > 0 ? having : usable
  if (first === undefined || second === undefined) return first?.one
  throw new KubeNodeError(
    runErrors.KN1002_twoClusters({
      first: first.one.called,
      second: second.one.called,
      option: `--kubeconfig ${first.one.file}`,
      other: `--kubeconfig ${second.one.file}`,
    }),
  )
}

/** Undefined if the file cannot be read: using it reports the error, and no other cluster replaces it. */
const readable = (file: string): Promise<readonly string[] | undefined> => contextsOf(file).catch(() => undefined)

/** Requests that do not change the cluster: POST queries of the API, log requests, which users regard as reads, and dry runs. */
const NO_CHANGE =
  /^\/apis\/((authorization|authentication)\.k8s\.io\/|kubenode\.io\/[^/]+\/logrequests\b)|[?&]dryRun=All(&|$)/

/** Whether a request changes the cluster. */
export const isChange = (method: string, path: string): boolean => method !== 'GET' && !NO_CHANGE.test(path)
