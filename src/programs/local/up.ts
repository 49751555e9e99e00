// The one-command local fleet: a hub and its business clusters on this machine, built from the same programs as production.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { defined } from '#lib/defined.ts'
import { systemClock } from '#lib/system-clock.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { keepFilesPrivate, makeFolders } from '#lib/private-folder.ts'
import { type Doubt, requireTrustedWay } from '#lib/trusted-way.ts'
import type { KubeClient } from '#kube/client.ts'
import type { Rehearsal } from '#sync/rehearsal/rehearsed.ts'
import type { Pack } from './artifacts.ts'
import { buildApart, manifestsBy, markedBuild } from '#install/package/build.ts'
import { entryIn, sourcesOf, type Entries } from '#install/package/built.ts'
import { programEnv } from './environment.ts'
import { DeclaredFiles, packedLine } from './declared.ts'
import type { DebianTools } from '#providers/nspawn/debian.ts'
import { type Driver, driverOf } from './driver.ts'
import { writeAllContexts } from './all-contexts.ts'
import { LocalClusters } from './clusters.ts'
import { followFleet, seconds, type UpResult } from './follow.ts'
import { declareHub } from './hub.ts'
import { provideIdentity } from './identities.ts'
import { messageOf } from '#lib/errors.ts'
import { installManifests } from './install.ts'
import { Keeper } from '../hosted/keeper.ts'
import {
  closeFolder,
  clusterFolders,
  DATA_FORMAT,
  HUB,
  layoutOf,
  prepareFolders,
  readState,
  writeState,
} from './layout.ts'
import type { Followed, Layout } from './layout.ts'
import { localErrors } from './local-errors.ts'
import { takeLock } from './lock.ts'
import { followedAt } from './own-fleet.ts'
import { portsFor } from './ports.ts'
import { programsFor } from './real.ts'
import { reset } from './reset.ts'
import { identitiesIn, programsOf, writeProviders } from './programs.ts'
import { renewLink } from './renew-link.ts'
import {
  commitMachines,
  commitNames,
  commitSize,
  newestCommit,
  provideDemo,
  requireGit,
  uncommittedNotice,
} from './repository.ts'
import { patiently } from './patience.ts'
import type { Screen } from '#lib/terminal/screen.ts'
import { stopNodes } from './stop-nodes.ts'
import { type Connect, serverUp } from './server-up.ts'
import { Ends } from './why-ended.ts'

export interface UpOptions {
  /** The checkout this program belongs to. */
  readonly root: string
  readonly data: string
  /** The folder of a user's fleet, started instead of the demo. */
  readonly own: string | undefined
  /** The running file. */
  readonly program: string | undefined
  readonly reset: boolean
  readonly nodes?: number
  /** Undefined: the driver recorded in the folder. */
  readonly driver?: Driver
  /** Clusters get real Kubernetes control planes. Recorded in the folder, like the driver. */
  readonly isReal: boolean
  /** Folder of their programs. */
  readonly assets: string | undefined
  /** The variable PATH, searched for a driver's tools. */
  readonly path: string
  /** Exits once the fleet matches git, or the deadline has passed. */
  readonly check: boolean
  /** Each API server records the rights its clients use. */
  readonly recordsRights: boolean
  readonly node: string
  /** Folder where all programs cache code that Node compiled; undefined if no folder can be trusted. */
  readonly compileCache: string | undefined
  readonly screen: Screen
  readonly pack: Pack
  readonly debian: DebianTools
  /** Builds the tree that systemd machines boot from, once per machine. */
  readonly buildTree: () => Promise<void>
  /** Serves the page for these clusters and returns a function that makes links. After each use of a link the next one is printed. */
  readonly console: (
    clients: ReadonlyMap<string, KubeClient>,
    layout: Layout,
    lines: ConsoleLines,
  ) => Promise<LocalConsole>
  readonly connect: Connect
  readonly signal: AbortSignal
}

/** Where the console prints. */
export interface ConsoleLines {
  print(line: string): void
  printLink(link: string): void
}

export interface LocalConsole {
  newLink(): string
  /** How long a link is valid. */
  readonly linkMs: number
  /** Shows these clusters from now on, by name. */
  show(clients: ReadonlyMap<string, KubeClient>): void
  stop(): Promise<void>
}

const linkLine = (link: string): string => `console (opens once, within 10 minutes): ${link}`
const HOW_TO_GET_A_LINK =
  'the link to the console is shown only on a terminal; for a link, run kubenode console in the folder of this fleet'

const API_SERVERS = 'apiservers'
/** They hold all objects of their clusters. 10,000 nodes at 15 KB are about 600 MB; a fleet on one machine needs a fiftieth of that. */
const API_SERVERS_HEAP_MB = 1_024

export async function up(options: UpOptions): Promise<UpResult> {
  const began = systemClock.monotonic()
  const beganAt = systemClock.now()
  const layout = await layoutFor(options)
  requireTrusted(options, (doubt) => options.screen.print(warningOf(doubt)))
  const entries = await builtEntries(options)
  // From here on, only the owner can read files of this process and its children.
  keepFilesPrivate()
  // A folder that is something else stays untouched.
  if (!existsSync(layout.state)) readState(layout)
  const open = closeFolder(layout)
  // Another process may have created it meanwhile, in a parent that every user can write to.
  requireTrusted(options)
  if (open > 0) options.screen.print(`removed other users' access to ${open} files and folders in ${layout.root}`)
  const unlock = takeLock(layout)
  const ends = new Ends(layout.logs)
  const keeper = new Keeper({
    node: options.node,
    entry: entryIn(entries, 'main'),
    logs: layout.logs,
    env: programEnv(options.compileCache),
    clock: systemClock,
    onEnd: (name, how, againInMs) => {
      const log = join(layout.logs, `${name}.log`)
      const why = ends.why(name)
      options.screen.print(`${name} ended (${how}); it is started again in ${seconds(againInMs)}, see ${log}`)
      if (why !== undefined) options.screen.print(`  its last error: ${why}`)
    },
  })
  const clients: Closable[] = []
  const nodes: Nodes = { areOurs: false }
  try {
    return await run({ layout, keeper, ends, entries, options, opened: clients, nodes, began, beganAt })
  } finally {
    options.screen.end()
    if (keeper.pids().size > 0) options.screen.print('stopping all processes')
    for (const client of clients) client.close()
    // Programs and nodes first, so that no program restarts an agent. API servers last, so that programs can finish their writes.
    const names = [...keeper.pids().keys()]
    const patience = { clock: systemClock, print: (line: string) => options.screen.print(line) }
    const toEnd = (isMeant: (name: string) => boolean) => () =>
      `${[...keeper.pids().keys()].filter(isMeant).join(', ')} to end`
    const isServer = (name: string) => name === API_SERVERS
    try {
      const isProgram = (name: string) => !isServer(name)
      await patiently(patience, toEnd(isProgram), keeper.stop(names.filter(isProgram)))
      if (nodes.areOurs || options.signal.aborted) {
        const ended = stopNodes(
          clusterFolders(layout).map((c) => layout.cluster(c).nodes),
          driverIn(layout),
        )
        await patiently(patience, 'the agents of the nodes and their components to end', ended)
      }
    } finally {
      await patiently(patience, toEnd(isServer), keeper.stop())
      unlock()
    }
  }
}

/** A folder used before keeps its repository, on the branch that is checked out now. */
async function layoutFor({ data, own, reset: isReset }: UpOptions): Promise<Layout> {
  const before = isReset || !existsSync(layoutOf(data).state) ? undefined : readState(layoutOf(data))
  const folder = own ?? (before?.follows && join(before.follows.repository, before.follows.path))
  const follows = folder === undefined ? undefined : await followedAt(folder)
  const known = before?.follows
  if (before !== undefined && (known?.repository !== follows?.repository || known?.path !== follows?.path)) {
    const nameIn = (f: Followed | undefined) => (f === undefined ? 'the demo' : join(f.repository, f.path))
    throw new KubeNodeError(localErrors.KN1202_followed({ root: data, known: nameIn(known), asked: nameIn(follows) }))
  }
  return layoutOf(data, follows)
}

const requireTrusted = ({ data, program }: UpOptions, onWarning: (doubt: Doubt) => void = () => undefined): void =>
  requireTrustedWay(data, { program, onWarning, isClosedByCaller: true })

const warningOf = ({ seen: what, command }: Doubt): string =>
  `warning: ${what}, so another user can change the programs that run here; to end that: ${command}`

const driverIn = (layout: Layout): Driver => readState(layout)?.driver ?? 'process'

/** Connections that would keep a server from stopping. */
interface Closable {
  close(): void
}

/**
 * The nodes of the folder. Nodes that a killed fleet left running belong to this start only once its hub serves. A start that fails earlier leaves them
 * running, and the next start takes them over.
 */
interface Nodes {
  areOurs: boolean
}

interface Start {
  readonly layout: Layout
  readonly keeper: Keeper
  readonly ends: Ends
  readonly entries: Entries
  readonly options: UpOptions
  /** Every opened connection is added here. */
  readonly opened: Closable[]
  readonly nodes: Nodes
  readonly began: number
  /** The same moment in wall-clock time, which leases use. */
  readonly beganAt: number
}

async function run({
  layout,
  keeper,
  ends,
  entries,
  options,
  opened,
  nodes,
  began,
  beganAt,
}: Start): Promise<UpResult> {
  const { screen, signal, connect } = options
  const print = (line: string): void => screen.print(line)
  const patience = { clock: systemClock, print, signal }
  const since = () => seconds(systemClock.monotonic() - began)
  await requireGit()
  const state = options.reset ? await reset(layout) : readState(layout)
  const driver = driverOf(options.driver, state, options.path)
  const programs = programsFor(options.isReal, state, options.assets)
  const ports = await portsFor([HUB], state?.ports)
  // Written first: a folder without this file is not a fleet's.
  writeState(layout, {
    format: DATA_FORMAT,
    ports,
    ...(driver === 'nspawn' && { driver }),
    ...(programs !== undefined && { controlPlanes: 'programs' }),
    ...defined({ follows: layout.follows }),
  })
  prepareFolders(layout)
  if (layout.follows !== undefined) print(rehearsing(layout.follows, driver))

  if (driver === 'nspawn') {
    print('looking for the Debian tree of the machines; the first one takes minutes to build')
    await options.buildTree()
  }
  keeper.start({
    name: API_SERVERS,
    heapMb: API_SERVERS_HEAP_MB,
    args: serverArgs(layout, ports, { ...options, programs }),
  })
  // Prepare the declared files while the servers start.
  const debian = driver === 'nspawn' ? { cache: layout.debian, tools: options.debian } : undefined
  const files = new DeclaredFiles({ layout, pack: options.pack, print, ...defined({ debian }) })
  const cloned = provideFleet(layout, { ...options, driver })
  const packed = cloned.then((commit) => files.serve(commit, signal))
  packed.catch(() => undefined)

  const manifests = manifestsBy(entries, options.root)
  const { adminKubeconfig, kubeconfig } = layout.cluster(HUB)
  const wait = <T>(what: string, work: Promise<T>) => patiently(patience, `${what} of ${HUB}`, work)
  const {
    client: hub,
    server,
    ca,
  } = await wait(
    'the API server',
    serverUp(adminKubeconfig, connect, signal, () => ends.last(API_SERVERS)),
  )
  opened.push(hub)
  await wait('the kinds, roles and policies', installManifests(hub, manifests, systemClock, true))
  const provide = () =>
    Promise.all(
      identitiesIn(layout, HUB).map((identity) =>
        provideIdentity(hub, { name: HUB, server, ca }, identity, kubeconfig(identity), systemClock),
      ),
    )
  await wait('the certificates of the programs', provide())
  print(`${since()}  the hub answers; kinds, roles and policies are installed`)
  let page: LocalConsole | undefined
  const withHub = (clients: ReadonlyMap<string, KubeClient>) => new Map([[HUB, hub], ...clients])
  const isMember = layout.follows !== undefined
  const rehearsal: Rehearsal | undefined = isMember
    ? { provider: driver, ...defined({ nodes: options.nodes }) }
    : undefined
  const working = new AbortController()
  const clusters = new LocalClusters({
    hub,
    layout,
    driver,
    connect,
    print: (line) => print(`${since()}  ${line}`),
    onChange: (clients) => {
      writeAllContexts(layout, [HUB, ...clients.keys()])
      page?.show(withHub(clients))
    },
    signal: AbortSignal.any([signal, working.signal]),
  })
  writeAllContexts(layout, [HUB])
  nodes.areOurs = true
  const hosting = clusters.run()
  const keeping = keepIdentities(provide, print, AbortSignal.any([signal, working.signal]))
  let renewing: Promise<void> | undefined
  try {
    if (isMember) {
      // The hub is a cluster with nodes too, and its controllers need the trust document to start.
      makeFolders(layout.cluster(HUB).nodes)
      writeProviders(layout, HUB, driver)
      await patiently(patience, 'the signed components of the repository', packed)
    }
    for (const program of programsOf(layout, rehearsal)) keeper.start(program)
    const commit = await patiently(patience, 'the repository', cloned)
    await declareHub(hub, layout, commit)
    print(`${since()}  programs are started`)
    const components = await patiently(patience, 'the signed components of the repository', packed)
    print(`${since()}  ${packedLine(await commitNames(layout.repository)(commit), components)}`)
    const printLink = (link: string) => screen.pinForPerson(linkLine(link), HOW_TO_GET_A_LINK)
    page = options.check ? undefined : await options.console(withHub(clusters.clients), layout, { print, printLink })
    // Clusters that appeared while the console started.
    page?.show(withHub(clusters.clients))
    if (page !== undefined) {
      const renewed = page
      printLink(renewed.newLink())
      const during = { clock: systemClock, signal: working.signal }
      if (screen.isTerminal) renewing = renewLink(() => printLink(renewed.newLink()), renewed.linkMs, during)
    }
    const business = () => (isMember ? withHub(clusters.clients) : clusters.clients)
    const check = options.check
    return await followFleet({ hub, business, layout, files, screen, check, driver, began, beganAt, signal })
  } finally {
    working.abort()
    await Promise.all([hosting, keeping, renewing])
    await page?.stop()
    await files.idle()
  }
}

const rehearsing = ({ repository, path, branch }: Followed, driver: Driver): string => {
  const at = branch === undefined ? 'the commit that is checked out' : `branch ${branch}`
  return `rehearsing the fleet in ${join(repository, path)} (${at}): its clusters are embedded ones here, its pools are ${driver} machines, and steps and stages are watched for 5s at most`
}

const IDENTITIES_POLL_MS = 60_000

/**
 * A fleet may run past half of their life, and after a clock moved back they are not valid yet. Programs that exit because of this restart with the new one.
 */
async function keepIdentities(
  provide: () => Promise<unknown>,
  print: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  let reported = ''
  while (!signal.aborted) {
    await systemClock.sleep(IDENTITIES_POLL_MS, signal).catch(() => undefined)
    if (signal.aborted) return
    try {
      await provide()
      reported = ''
    } catch (e) {
      // Reported once: an unreachable server would fail every poll.
      if (reported !== messageOf(e))
        print(`the certificates of the programs of ${HUB} could not be looked after: ${messageOf(e)}`)
      reported = messageOf(e)
    }
  }
}

/** One process serves the hub and starts a second one for all Clusters. A process per Cluster would load, compile and keep the same code in memory again. */
const serverArgs = (
  layout: Layout,
  ports: Readonly<Record<string, number>>,
  { recordsRights, programs }: Pick<UpOptions, 'recordsRights'> & { readonly programs: string | undefined },
): readonly string[] => [
  'apiserver',
  '--data',
  layout.cluster(HUB).apiserver,
  '--port',
  String(ports[HUB]),
  '--control-planes',
  layout.controlPlanes,
  '--control-socket',
  layout.controlSocket,
  '--webhook-allow-in',
  layout.webhooks,
  ...(programs === undefined ? [] : ['--programs', programs]),
  ...(recordsRights ? ['--record-rights'] : []),
]

/** Built on a checkout's first start and after each edit. */
async function builtEntries({ root, node, compileCache, screen, signal }: UpOptions): Promise<Entries> {
  if (compileCache === undefined) return sourcesOf(root)
  const where = { root, cache: compileCache }
  const built = markedBuild(where)
  if (built !== undefined) return built
  screen.print('first start: building the programs once')
  return await buildApart({ ...where, node, env: programEnv(compileCache), signal })
}

/** The repository that the fleet follows, at the commit that this start should reach. A user's repository is never written to. */
async function provideFleet(layout: Layout, { root, nodes, driver, screen, signal }: UpOptions): Promise<string> {
  const { repository, follows } = layout
  // An interrupted start waits for the current step, not for all of them.
  if (follows === undefined) await provideDemo(root, repository, systemClock.now(), signal)
  const notice = await uncommittedNotice(follows === undefined ? repository : join(repository, follows.path))
  if (notice !== undefined) screen.print(`note: ${notice}`)
  if (follows !== undefined) return newestCommit(layout)
  if (driver === 'nspawn') await commitMachines(repository, nodes)
  else if (nodes !== undefined) await commitSize(repository, nodes)
  signal.throwIfAborted()
  return newestCommit(layout)
}
