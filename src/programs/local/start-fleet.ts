// Starts a user's local fleet and shows its progress until the user stops it.
import { buildTree, debianTools } from '#artifacts/authoring/from/local-machines.ts'
import { packFolder } from '#artifacts/authoring/pack.ts'
import { ConsoleRepository } from '#console/repository/repository.ts'
import { LINK_MS } from '#console/server/sessions.ts'
import type { KubeClient } from '#kube/client.ts'
import { collectAtRest, thisEngine } from '#lib/collect-at-rest.ts'
import { compileCache } from '#lib/compile-cache.ts'
import { defined } from '#lib/defined.ts'
import { releaseRoot } from '#lib/release-root.ts'
import { systemClock } from '#lib/system-clock.ts'
import { EXIT_DIFFERENT, Exit } from '#lib/terminal/exit.ts'
import type { Io } from '#lib/terminal/io.ts'
import { linePainter } from '#lib/terminal/paint-line.ts'
import { hasColors, paintOf } from '#lib/terminal/paint.ts'
import { createScreen } from '#lib/terminal/screen.ts'
import { runningProgram } from '#lib/trusted-folder.ts'
import { untilEnded } from '#runtime/until-ended.ts'
import { serveConsole } from '../run/serve-console.ts'
import { connector } from './connector.ts'
import { dataFolder } from './data-folder.ts'
import type { Driver } from './driver.ts'
import type { Layout } from './layout.ts'
import { ownFleetFolder } from './own-fleet.ts'
import { ASSETS } from './real.ts'
import { type ConsoleLines, type LocalConsole, up } from './up.ts'

export interface UpAsked {
  readonly data?: string
  readonly nodes?: number
  readonly driver?: Driver
  readonly real?: boolean
  readonly reset?: boolean
  readonly check?: boolean
  readonly recordRights?: boolean
}

/** Runs until stopped. Exits with 1 if a check fails. */
export async function startFleet(options: UpAsked, io: Io): Promise<void> {
  collectAtRest(systemClock, thisEngine())
  // A named folder keeps the repository it follows.
  const own = ownFleetFolder(io.cwd, releaseRoot())
  const data = dataFolder(options.data, own, io.cwd)
  const shutdown = untilEnded()
  const start = () =>
    up({
      root: releaseRoot(),
      data,
      own,
      program: runningProgram(),
      reset: options.reset ?? false,
      check: options.check ?? false,
      recordsRights: options.recordRights ?? false,
      ...defined({ nodes: options.nodes, driver: options.driver }),
      isReal: options.real ?? false,
      assets: io.env[ASSETS],
      path: io.env['PATH'] ?? '',
      node: process.execPath,
      compileCache: compileCache(),
      screen: createScreen((t) => io.err(t), {
        isTerminal: process.stderr.isTTY,
        foldsLongLines: true,
        size: terminalSize,
        paint: linePainter(paintOf(hasColors({ ...io, isTerminal: process.stderr.isTTY }))),
      }),
      pack: packFolder,
      debian: debianTools,
      buildTree,
      console: localConsole,
      connect: connector,
      signal: shutdown.signal,
    })
  const result = await start().catch((e: unknown) => {
    // An interrupt surfaces as various errors.
    if (shutdown.signal.aborted) return undefined
    throw e
  })
  if (shutdown.signal.aborted || result === undefined) throw new Exit(shutdown.exitCode())
  if (options.check) {
    io.out(
      `${JSON.stringify({ ready: result.isReady, ready_s: result.readyMs === undefined ? null : result.readyMs / 1_000 })}\n`,
    )
    for (const reason of result.isReady ? [] : result.unmet) io.err(`${reason}\n`)
    if (!result.isReady) throw new Exit(EXIT_DIFFERENT)
  }
}

async function localConsole(
  clients: ReadonlyMap<string, KubeClient>,
  { repository, history }: Pick<Layout, 'repository' | 'history'>,
  lines: ConsoleLines,
): Promise<LocalConsole> {
  // Rendered the way this fleet's sync renders it.
  const own = new ConsoleRepository({ folder: repository, path: '.', weakCage: 'allow' })
  // Clusters that are read before the page is open slow down the start, and take as much memory as all else here.
  const running = await serveConsole({ clients, port: 0, repository: own, history, readsWhenUsed: true, ...lines })
  return { ...running, linkMs: LINK_MS }
}

/** A terminal without a known size, as under `script` or `docker run -t`, reports 0. */
const terminalSize = () => ({ columns: process.stderr.columns || 100, rows: process.stderr.rows || 50 })
