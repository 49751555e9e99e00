// `kubenode local up`, which `npm start` runs: a whole fleet on this machine.
import { Option, type Command } from 'commander'
import { join, resolve } from 'node:path'
import { systemClock } from '#lib/system-clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { releaseRoot } from '#lib/release-root.ts'
import type { KubeClient } from '#kube/client.ts'
import type { HttpKubeClient } from '#kube/http/client.ts'
import { DRIVERS, type Driver } from '#programs/local/driver.ts'
import { DATA_FOLDER, findData } from '#programs/local/find-data.ts'
import { ownFleetFolder } from '#programs/local/own-fleet.ts'
import { ASSETS } from '#programs/local/real.ts'
import type { ConsoleLines, LocalConsole } from '#programs/local/up.ts'
import { compileCache } from '#lib/compile-cache.ts'
import { shownLine, shownLines } from '#lib/printable.ts'
import { EXIT_DIFFERENT, Exit } from '#lib/terminal/exit.ts'
import { type Io, showProblem } from '#lib/terminal/io.ts'
import { linePainter } from '#lib/terminal/paint-line.ts'
import { hasColors, paintOf } from '#lib/terminal/paint.ts'
import { runningProgram } from '#lib/trusted-folder.ts'
import { cliErrors } from '../cli-errors.ts'

interface UpOptions {
  readonly data?: string
  readonly nodes?: string
  readonly driver?: Driver
  readonly real?: boolean
  readonly reset?: boolean
  readonly check?: boolean
  readonly recordRights?: boolean
}

interface StatusOptions {
  readonly data?: string
  readonly wait?: boolean
  readonly timeout: string
}

const MAX_LOCAL_NODES = 50

function nodesOf(text: string | undefined): { nodes: number } | Record<string, never> {
  if (text === undefined) return {}
  const nodes = Number(text)
  if (!Number.isInteger(nodes) || nodes < 1 || nodes > MAX_LOCAL_NODES) {
    throw new KubeNodeError(cliErrors.KN1214({ text, maxLocalNodes: MAX_LOCAL_NODES }))
  }
  return { nodes }
}

const withData = (command: Command): Command =>
  command.option(
    '--data <dir>',
    'data folder of the local fleet; when left out, .kubenode in the fleet around the current folder, or in the checkout',
  )

export function register(program: Command, io: Io): void {
  const local = program.command('local').description('a whole fleet on this machine')
  withData(local.command('up'))
    .description(
      'start the fleet in the current folder on this machine, or the demo in a checkout of KubeNode: a hub, its clusters, nodes; follow its commits and show what happens; Ctrl-C stops all',
    )
    .option(
      '--nodes <n>',
      'nodes in each cluster of the demo, by a commit; in a fleet of your own the machines of each pool here',
    )
    .addOption(
      new Option(
        '--driver <name>',
        'what the nodes are: process, of this user, with demo components; or nspawn, systemd machines with components of real nodes, which needs root and Debian 12',
      ).choices(DRIVERS),
    )
    .option(
      '--real',
      'clusters get the etcd, kube-apiserver and kube-controller-manager of the folder that KUBEBUILDER_ASSETS names; the hub stays embedded',
    )
    .option('--reset', 'delete the data of earlier runs first')
    .option('--check', 'exit when the fleet is in sync with git: 0, or 1 when it did not get there')
    .option('--record-rights', 'keep in used-rights.jsonl of each API server which rights its clients use')
    .action((options: UpOptions) => startFleet(options, io))

  withData(local.command('status'))
    .description(
      'show the state of the local fleet; exit 1 while it is not in sync with git, or something needs attention',
    )
    .option('--wait', 'wait until in sync with git')
    .option('--timeout <duration>', 'how long to wait', '5m')
    .action((options: StatusOptions) => showStatus(options, io))
}

async function startFleet(options: UpOptions, io: Io): Promise<void> {
  const [{ up }, { createScreen }, { packFolder }, { untilEnded }, { collectAtRest, thisEngine }, machines] =
    await Promise.all([
      import('#programs/local/up.ts'),
      import('#lib/terminal/screen.ts'),
      import('#artifacts/authoring/pack.ts'),
      import('#runtime/until-ended.ts'),
      import('#lib/collect-at-rest.ts'),
      import('#artifacts/authoring/from/local-machines.ts'),
    ])
  const size = nodesOf(options.nodes)
  collectAtRest(systemClock, thisEngine())
  // A folder that is named continues with what it follows.
  const own = ownFleetFolder(io.cwd, releaseRoot())
  const data = dataFolder(options.data, own, io)
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
      ...size,
      ...(options.driver !== undefined && { driver: options.driver }),
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
      debian: machines.debianTools,
      buildTree: machines.buildTree,
      console: localConsole,
      connect: connector,
      signal: shutdown.signal,
    })
  const result = await start().catch((e: unknown) => {
    // An interrupt shows up as several kinds of errors.
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
  repository: string,
  lines: ConsoleLines,
): Promise<LocalConsole> {
  const [{ serveConsole }, { ConsoleRepository }, { LINK_MS }] = await Promise.all([
    import('#programs/run/serve-console.ts'),
    import('#console/repository/repository.ts'),
    import('#console/server/sessions.ts'),
  ])
  // As sync of this fleet renders it.
  const own = new ConsoleRepository({ folder: repository, path: '.', weakCage: 'allow' })
  // To read the clusters before the page is open would slow their start.
  const running = await serveConsole({ clients, port: 0, repository: own, readsWhenUsed: true, ...lines })
  return { ...running, linkMs: LINK_MS }
}

async function showStatus({ data, wait = false, timeout }: StatusOptions, io: Io): Promise<void> {
  const [{ fleetStatus }, { formatAge, parseDuration }, { waitScreen }] = await Promise.all([
    import('#programs/local/status.ts'),
    import('#lib/duration.ts'),
    import('../wait-screen.ts'),
  ])
  const waitMs = parseDuration(timeout)
  const screen = waitScreen(io)
  const began = systemClock.monotonic()
  const waited = () => `waited ${formatAge(systemClock.monotonic() - began)} of ${timeout}`
  const { lines, missing, stuck, attention } = await fleetStatus({
    data: dataFolder(data, ownFleetFolder(io.cwd, releaseRoot()), io),
    waitMs: wait ? waitMs : 0,
    connect: connector,
    onWait: (reasons, picture) => {
      const lines = reasons.map((what) => `waiting for: ${what}`)
      screen.show(screen.isTerminal ? [...picture, ...lines, waited()] : lines)
    },
  }).finally(() => screen.end())
  io.out(shownLines(lines))
  if (attention !== undefined) io.out(`\n${shownLines(attention.lines)}`)
  for (const reason of missing) showProblem(io, shownLine(reason))
  if (wait && stuck !== undefined) showProblem(io, shownLine(`no longer waiting: ${stuck}`))
  if (missing.length > 0 || (attention?.needsPerson ?? 0) > 0) throw new Exit(EXIT_DIFFERENT)
}

/** A terminal without a known size, as under `script` or `docker run -t`, reports 0. */
const terminalSize = () => ({ columns: process.stderr.columns || 100, rows: process.stderr.rows || 50 })

function dataFolder(given: string | undefined, own: string | undefined, io: Io): string {
  if (given !== undefined) return resolve(io.cwd, given)
  return own === undefined ? (findData(io.cwd) ?? join(releaseRoot(), DATA_FOLDER)) : join(own, DATA_FOLDER)
}

async function connector(file: string): Promise<{ client: HttpKubeClient; server: string; ca: string }> {
  const { clientOf, connectionOf, serverOf } = await import('#programs/run/connect.ts')
  const connection = await connectionOf(file)
  return { client: clientOf(connection.config, 'kubenode-local'), ...serverOf(connection) }
}
