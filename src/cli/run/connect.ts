// Turns a kubeconfig file into a client. A file that contains only data needs no library; anything more goes through client-node.
import { readFileSync } from 'node:fs'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import type { ConnectionConfig } from '#kube/http/connection.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { parseSafeKubeconfig, safeKubeconfigProblems } from '#kube/kubeconfig-safe.ts'
import { cliErrors } from '../cli-errors.ts'

export interface Connection {
  readonly config: ConnectionConfig
  readonly context: string
  readonly warnings: readonly string[]
}

export async function connectionOf(file: string, context?: string): Promise<Connection> {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    throw new KubeNodeError(cliErrors.KN1301({ file, why: messageOf(cause) }), { cause })
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
  if (ca === undefined) throw new KubeNodeError(cliErrors.KN1302({ server }))
  return { server, ca: 'data' in ca ? ca.data : readFileSync(ca.file, 'utf8') }
}
