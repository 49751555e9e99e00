// Turns a kubeconfig file, or the account of our pod, into a client. A file that contains only data needs no library; anything more goes through client-node.
import { existsSync, readFileSync } from 'node:fs'
import { delimiter } from 'node:path'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import type { ConnectionConfig } from '#kube/http/connection.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { type Environment, isInPod, podAccount } from '#kube/in-cluster.ts'
import { parseSafeKubeconfig, safeKubeconfigProblems } from '#kube/kubeconfig-safe.ts'
import { runErrors } from './run-errors.ts'

export interface Connection {
  readonly config: ConnectionConfig
  readonly context: string
  readonly warnings: readonly string[]
}

/** The name of no context: a program in a pod gets the name of its cluster by an option. */
const IN_POD = ''

export interface Chosen {
  /** As the user gave it. */
  readonly file?: string | undefined
  readonly context?: string | undefined
  readonly env: Environment
  /** Another root of the file system, in tests. */
  readonly root?: string
}

/** What the user named, else what KUBECONFIG names, else the account of our pod. */
export async function chosenConnection({ file, context, env, root }: Chosen): Promise<Connection> {
  if (file !== undefined) return connectionOf(file, context)
  const named = (env['KUBECONFIG'] ?? '').split(delimiter).filter((f) => f !== '')
  const [first] = named
  if (first !== undefined && named.length === 1) return connectionOf(first, context)
  if (named.length > 1) return listedConnection(named, context)
  if (!isInPod(env)) throw new KubeNodeError(runErrors.KN1312())
  return podConnection(env, root)
}

export const podConnection = (env: Environment, root?: string): Connection => ({
  config: podAccount(env, root),
  context: IN_POD,
  warnings: [],
})

/** As kubectl: files of a list that are not there are left out. */
async function listedConnection(files: readonly string[], context: string | undefined): Promise<Connection> {
  const there = files.filter((f) => existsSync(f))
  if (there.length === 0)
    throw new KubeNodeError(runErrors.KN1301({ file: files.join(', '), why: 'none of them exists' }))
  const { loadKubeconfig } = await import('#kube/kubeconfig.ts')
  return loadKubeconfig({ files: there, ...(context !== undefined && { context }) })
}

export async function connectionOf(file: string, context?: string): Promise<Connection> {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    throw new KubeNodeError(runErrors.KN1301({ file, why: messageOf(cause) }), { cause })
  }
  if (safeKubeconfigProblems(text).length === 0) {
    return { ...parseSafeKubeconfig(text, file, context), warnings: [] }
  }
  const { loadKubeconfig } = await import('#kube/kubeconfig.ts')
  return loadKubeconfig({ files: [file], ...(context === undefined ? {} : { context }) })
}

export const clientOf = (config: ConnectionConfig, userAgent: string): HttpKubeClient =>
  new HttpKubeClient(config, { userAgent })

/** For a user, who is shown what the command waits for. Simultaneous slow requests are reported once. */
export function talkingClientOf(config: ConnectionConfig, say: (line: string) => void): HttpKubeClient {
  let last = ''
  const onSlow = (method: string, path: string): void => {
    const line = `waiting for ${config.server}: ${method} ${path.split('?', 1)[0]}`
    if (line !== last) say(line)
    last = line
  }
  return new HttpKubeClient(config, { userAgent: 'kubenode-cli', onSlow })
}

/** PEM of the CA of a connection, and its address: what other programs need to reach the same server. */
export function serverOf({ config }: Connection): { readonly server: string; readonly ca: string } {
  const { server, ca } = config
  if (ca === undefined) throw new KubeNodeError(runErrors.KN1302({ server }))
  return { server, ca: 'data' in ca ? ca.data : readFileSync(ca.file, 'utf8') }
}
