// A command's connection: which cluster its options name, and the client for it.
import type { Command } from 'commander'
import type { KubeClient } from '#kube/client.ts'
import { shownLine } from '#lib/printable.ts'
import type { Connection } from '#programs/run/connect.ts'
import { type Io, showProblem } from '#lib/terminal/io.ts'

export interface ServerOptions {
  readonly kubeconfig?: string
  readonly context?: string
}

const withKubeconfig = (command: Command): Command =>
  command.option(
    '--kubeconfig <file>',
    'kubeconfig of the cluster; when left out KUBECONFIG, then ~/.kube/config or the local fleet around this folder, in a pod its own account',
  )

export const withServer = (command: Command): Command =>
  withKubeconfig(command).option('--context <name>', 'context of the kubeconfig')

/** For commands on all clusters of a kubeconfig. */
export const withServers = (command: Command): Command =>
  withKubeconfig(command).option(
    '--context <name>',
    'context of the kubeconfig; several times for several, all when left out',
    (name: string, names: readonly string[]) => [...names, name],
    [],
  )

export interface NamespaceOptions {
  readonly namespace?: string
}

/** For commands on objects that may have a namespace. */
export const withNamespace = (command: Command): Command =>
  command.option(
    '-n, --namespace <name>',
    'namespace of the objects; that of the context, or kubenode-system when left out',
  )

export const connect = async (options: ServerOptions, io: Io): Promise<KubeClient> =>
  (await connectionTo(options, io)).client

/** The cluster that the options name. At a terminal, a login program may prompt. */
export async function chosenBy({ kubeconfig, context }: ServerOptions, io: Io): Promise<Connection> {
  const { chosenConnection } = await import('#programs/run/connect.ts')
  return chosenConnection({
    file: kubeconfig,
    context,
    env: io.env,
    cwd: io.cwd,
    show: io.ask && ((text) => showProblem(io, text)),
  })
}

export async function connectionTo(
  options: ServerOptions,
  io: Io,
): Promise<{ readonly client: KubeClient; readonly server: string; readonly namespace: string | undefined }> {
  const { talkingClientOf } = await import('#programs/run/connect.ts')
  const chosen = await chosenBy(options, io)
  const { config, warnings } = chosen
  const printLine = (line: string): void => io.err(shownLine(line))
  for (const w of warnings) printLine(w)
  if (config.clientCertificate !== undefined || config.token !== undefined) {
    const { expiredCredential } = await import('#programs/run/expired-credential.ts')
    const expired = expiredCredential(config, Date.now())
    if (expired !== undefined) showProblem(io, shownLine(expired))
  }
  return {
    client: talkingClientOf(chosen, printLine, await announcement(chosen, printLine)),
    server: config.server,
    namespace: config.namespace,
  }
}

/** If the user named no cluster, show which one the first change goes to. */
async function announcement(
  { unnamed, context, config }: Connection,
  printLine: (line: string) => void,
): Promise<((method: string, path: string) => void) | undefined> {
  if (unnamed === undefined) return undefined
  const { isChange } = await import('#programs/run/unnamed-cluster.ts')
  let isAnnounced = false
  return (method, path) => {
    if (isAnnounced || !isChange(method, path)) return
    isAnnounced = true
    printLine(`changing context ${context} of ${unnamed} (${config.server})`)
  }
}
