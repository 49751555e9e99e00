// Serves the console to this machine's user, for the clusters of a kubeconfig.
import { resolve } from 'node:path'
import { ConsoleRepository } from '#console/repository/repository.ts'
import { collectAtRest, thisEngine } from '#lib/collect-at-rest.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { shownLine } from '#lib/printable.ts'
import { systemClock } from '#lib/system-clock.ts'
import { EXIT_OK, Exit } from '#lib/terminal/exit.ts'
import type { Io } from '#lib/terminal/io.ts'
import { untilEnded } from '#runtime/until-ended.ts'
import { serverErrors } from '../server-errors.ts'
import { findData } from '../local/find-data.ts'
import { layoutOf } from '../local/layout.ts'
import { allConnections } from './all-connections.ts'
import { consoleClient } from './console-client.ts'
import { serveConsole } from './serve-console.ts'

export interface ConsoleAsked {
  readonly kubeconfig?: string
  readonly context: readonly string[]
  readonly port: string
  readonly repo?: string
  readonly path: string
  readonly history?: string
  readonly weakCage: 'allow' | 'refuse'
}

function portOf(text: string): number {
  const port = Number(text)
  if (Number.isInteger(port) && port >= 0 && port <= 65_535 && text !== '') return port
  throw new KubeNodeError(serverErrors.KN1002_port({ text: JSON.stringify(text) }))
}

/** Runs until stopped; prints the link once. */
export async function serveOwnConsole(
  { kubeconfig, context, port: portText, ...place }: ConsoleAsked,
  io: Io,
): Promise<void> {
  const port = portOf(portText)
  // Listing thousands of machines leaves more garbage than live data.
  collectAtRest(systemClock, thisEngine())
  const repository = repositoryOf(place, io)
  const connections = await allConnections({ file: kubeconfig, contexts: context, env: io.env, cwd: io.cwd })
  for (const { warnings } of connections.values()) for (const warning of warnings) io.err(shownLine(warning))
  const clients = new Map([...connections].map(([name, { config }]) => [name, consoleClient(config)]))
  const shutdown = untilEnded()
  const print = (line: string) => io.err(shownLine(line))
  // Later links go to the same place as the first, the user's terminal; a file keeps them for others.
  const printLink = (link: string) =>
    print(
      process.stderr.isTTY
        ? `the console was opened; for another browser: ${link}`
        : 'the console was opened; for another browser start `kubenode console` again',
    )
  const history = place.history === undefined ? localHistory(io.cwd) : resolve(io.cwd, place.history)
  const running = await serveConsole({ clients, port, repository, history, print, printLink })
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

/** Runs before any cluster is contacted: a wrong folder is the fastest mistake to report. */
function repositoryOf({ repo, path, weakCage }: Pick<ConsoleAsked, 'repo' | 'path' | 'weakCage'>, io: Io) {
  if (repo === undefined) return undefined
  return new ConsoleRepository({ folder: resolve(io.cwd, repo), path, weakCage })
}

/** What the local fleet around this folder records. */
function localHistory(cwd: string): string | undefined {
  const data = findData(cwd)
  return data === undefined ? undefined : layoutOf(data).history
}

const ended = (signal: AbortSignal): Promise<void> =>
  new Promise((done) => {
    if (signal.aborted) return done()
    signal.addEventListener('abort', () => done(), { once: true })
    return undefined
  })
