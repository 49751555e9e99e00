// `kubenode console`: one page for every cluster of a kubeconfig, served on this machine to its user alone.
import type { Command } from 'commander'
import { KubeNodeError } from '#lib/errors.ts'
import { shownLine } from '#lib/printable.ts'
import { EXIT_OK, Exit } from '#lib/terminal/exit.ts'
import type { Io } from '#lib/terminal/io.ts'
import { serverErrors } from '#programs/server-errors.ts'
import { weakCageOption } from '../weak-cage.ts'

interface ConsoleOptions {
  readonly kubeconfig?: string
  readonly context: readonly string[]
  readonly port: string
  readonly repo?: string
  readonly path: string
  readonly weakCage: 'allow' | 'refuse'
}

export function register(program: Command, io: Io): void {
  program
    .command('console')
    .description('serve a page for the clusters of a kubeconfig on this machine and print its link; Ctrl-C ends it')
    .option(
      '--kubeconfig <file>',
      'kubeconfig of the cluster; all its contexts are shown; when left out KUBECONFIG, then ~/.kube/config or the local fleet around this folder',
    )
    .option(
      '--context <name>',
      'context of the kubeconfig; several times for several, all when left out',
      (name: string, names: readonly string[]) => [...names, name],
      [],
    )
    .option('--port <n>', 'port on the loopback address; 0 takes a free one', '0')
    .option('--repo <dir>', 'repository of the fleet, for plans of its commits')
    .option('--path <dir>', 'folder of the fleet in the repository', '.')
    .addOption(weakCageOption())
    .action((options: ConsoleOptions) => serve(options, io))
}

function portOf(text: string): number {
  const port = Number(text)
  if (Number.isInteger(port) && port >= 0 && port <= 65_535 && text !== '') return port
  throw new KubeNodeError(serverErrors.KN1031({ text: JSON.stringify(text) }))
}

async function serve({ kubeconfig, context, port: portText, ...place }: ConsoleOptions, io: Io): Promise<void> {
  const port = portOf(portText)
  const [
    { allConnections },
    { clientOf },
    { serveConsole },
    { untilEnded },
    { collectAtRest, thisEngine },
    { systemClock },
  ] = await Promise.all([
    import('#programs/run/all-connections.ts'),
    import('#programs/run/connect.ts'),
    import('#programs/run/serve-console.ts'),
    import('#runtime/until-ended.ts'),
    import('#lib/collect-at-rest.ts'),
    import('#lib/system-clock.ts'),
  ])
  // Lists of thousands of machines leave more garbage than what is kept of them.
  collectAtRest(systemClock, thisEngine())
  const repository = await repositoryOf(place, io)
  const connections = await allConnections({ file: kubeconfig, contexts: context, env: io.env, cwd: io.cwd })
  for (const { warnings } of connections.values()) for (const warning of warnings) io.err(shownLine(warning))
  const clients = new Map([...connections].map(([name, { config }]) => [name, clientOf(config, 'kubenode-console')]))
  const shutdown = untilEnded()
  const say = (line: string) => io.err(shownLine(line))
  // As the first link, it goes where the user of this command reads; a file keeps it for others.
  const sayLink = (link: string) =>
    say(
      process.stderr.isTTY
        ? `the console was opened; for another browser: ${link}`
        : 'the console was opened; for another browser start `kubenode console` again',
    )
  const running = await serveConsole({ clients, port, repository, say, sayLink })
  io.err(
    `the console shows ${[...clients.keys()].map((name) => name || 'this cluster').join(', ')}; open this link within 10 minutes, once:\n`,
  )
  io.out(`${running.newLink()}\n`)
  io.err('(a browser that does not find this name opens it with 127.0.0.1 in its place)\n')
  await ended(shutdown.signal)
  await running.stop()
  for (const client of clients.values()) client.close()
  throw new Exit(shutdown.signal.aborted ? shutdown.exitCode() : EXIT_OK)
}

/** Before any cluster is asked: a wrong folder is the quickest mistake to report. */
async function repositoryOf({ repo, path, weakCage }: Pick<ConsoleOptions, 'repo' | 'path' | 'weakCage'>, io: Io) {
  if (repo === undefined) return undefined
  const [{ resolve }, { ConsoleRepository }] = await Promise.all([
    import('node:path'),
    import('#console/repository/repository.ts'),
  ])
  return new ConsoleRepository({ folder: resolve(io.cwd, repo), path, weakCage })
}

const ended = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
    return undefined
  })
