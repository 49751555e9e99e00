// Where the local fleet keeps everything: one data folder, whose format and ports are remembered in fleet.json.
import { existsSync, lstatSync, readFileSync, readdirSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { KubeNodeError, isKubeNodeError, messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { makeFolders, makePrivateFolder } from '#lib/private-folder.ts'
import { writeWholeFile } from '#lib/whole-file.ts'
import type { Driver } from './driver.ts'
import { localErrors } from './local-errors.ts'

export const HUB = 'hub'
const IGNORED = '.gitignore'
const GIT_CACHE = 'git-cache'
const CONTROL_PLANES = 'control-planes'
/** No cluster can be called so. */
const WEBHOOKS = '.webhooks'
/** Entries next to the cluster folders that are not clusters. */
const REPOSITORY = 'repository'
const OTHER_FOLDERS: readonly string[] = [
  'logs',
  'artifacts',
  'debian',
  REPOSITORY,
  // The repository of format 2, which --reset removes.
  'fleet',
  GIT_CACHE,
  CONTROL_PLANES,
]

/** Why no cluster of this machine can have the name; the one dot is behind the namespace of a Cluster that is not in ours. */
export function badClusterName(name: string): string | undefined {
  if (name.length > MAX_NAME || !/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)?$/.test(name))
    return `use at most ${MAX_NAME} lowercase letters, digits and dashes`
  return name === HUB || OTHER_FOLDERS.includes(name) ? 'the name is taken' : undefined
}
/** It is part of paths of sockets, which are short. */
const MAX_NAME = 40

/** Changes when a data folder of an older program can no longer be used. */
export const DATA_FORMAT = 3

/** A repository of a person, which the fleet follows in place. */
export interface Followed {
  readonly repository: string
  /** Folder of the fleet in it. */
  readonly path: string
  /** The one that was checked out when the fleet started; undefined where none was: then that commit is followed. */
  readonly branch?: string
}

export interface FleetState {
  readonly format: typeof DATA_FORMAT
  /** Port of the hub; kept, so that kubeconfigs stay good. Those of Clusters are kept with their control planes. */
  readonly ports: Readonly<Record<string, number>>
  /** Driver of its machines; processes by default. */
  readonly driver?: Driver
  /** Kind of its Clusters' control planes; the embedded server by default. */
  readonly controlPlanes?: 'programs'
  /** The repository it follows; by default the demo repository in this folder. */
  readonly follows?: Followed
  /** Where the folder was when it was written. Links below it are absolute, and nodes have identities that hold only there. */
  readonly folder?: string
}

export interface Layout {
  readonly root: string
  readonly lock: string
  /** The process that holds the lock. */
  readonly holder: string
  readonly state: string
  readonly logs: string
  readonly artifacts: string
  /** Packages that were fetched from Debian. */
  readonly debian: string
  /** The git repository that the fleet follows. */
  readonly repository: string
  /** That of a person; undefined for the demo. */
  readonly follows: Followed | undefined
  /** Copies of the repositories that sync follows. */
  readonly gitCache: string
  /** Of Clusters, each in a folder that the host of control planes makes and removes. */
  readonly controlPlanes: string
  /** Where Defenders tell the addresses of their webhooks, each in a file: the only ones of this machine that control planes call. */
  readonly webhooks: string
  /** Where the host of control planes is asked. */
  readonly controlSocket: string
  /** Names the clusters that a process of programs runs for, with their options. */
  readonly clustersOf: (process: string) => string
  /** Every cluster as a context. */
  readonly adminKubeconfig: string
  readonly cluster: (name: string) => ClusterLayout
}

interface ClusterLayout {
  /** Data of the API server; of a Cluster a link to where its host keeps it. */
  readonly apiserver: string
  readonly adminKubeconfig: string
  readonly nodes: string
  /** Says that the cluster's hosts are processes of this machine. */
  readonly providers: string
  readonly kubeconfig: (identity: string) => string
}

export const layoutOf = (root: string, follows?: Followed): Layout => ({
  root,
  lock: join(root, 'lock.db'),
  holder: join(root, 'lock'),
  state: join(root, 'fleet.json'),
  logs: join(root, 'logs'),
  artifacts: join(root, 'artifacts'),
  debian: join(root, 'debian'),
  repository: follows?.repository ?? join(root, REPOSITORY),
  follows,
  gitCache: join(root, GIT_CACHE),
  controlPlanes: join(root, CONTROL_PLANES),
  webhooks: join(root, WEBHOOKS),
  controlSocket: join(root, 'control.sock'),
  clustersOf: (process) => join(root, `${process}.json`),
  adminKubeconfig: join(root, 'admin.kubeconfig'),
  cluster: (name) => ({
    apiserver: join(root, name, 'apiserver'),
    adminKubeconfig: join(root, name, 'apiserver', 'admin.kubeconfig'),
    nodes: join(root, name, 'nodes'),
    providers: join(root, name, 'providers.json'),
    kubeconfig: (identity) => join(root, name, `${identity}.kubeconfig`),
  }),
})

/** Control planes of Clusters: `namespace.name`, as the hub names them to their host. */
export const planeFolder = ({ controlPlanes }: Pick<Layout, 'controlPlanes'>, id: string): string =>
  join(controlPlanes, id)

/** Folders of clusters, the hub's among them, whatever is remembered of them. */
export function clusterFolders({ root }: Pick<Layout, 'root'>): readonly string[] {
  if (!existsSync(root)) return []
  return readdirSync(root, { withFileTypes: true })
    .filter((e) => e.isDirectory() && !OTHER_FOLDERS.includes(e.name))
    .map((e) => e.name)
    .filter((name) => isThere(join(root, name, 'apiserver')) || isThere(join(root, name, 'nodes')))
}

/** Also a link that leads nowhere. */
const isThere = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined

export const businessFolders = (layout: Pick<Layout, 'root'>): readonly string[] =>
  clusterFolders(layout).filter((name) => name !== HUB)

/** What a start made, without what says that the folder is ours. */
export const madeBy = (layout: Layout): readonly string[] => [
  ...clusterFolders(layout).map((name) => join(layout.root, name)),
  ...OTHER_FOLDERS.map((name) => join(layout.root, name)),
  layout.adminKubeconfig,
  layout.webhooks,
  layout.controlSocket,
]

const isFollowed = (v: unknown): boolean =>
  isObject(v) &&
  typeof v['repository'] === 'string' &&
  typeof v['path'] === 'string' &&
  (v['branch'] === undefined || typeof v['branch'] === 'string')

const isState = (v: unknown): v is FleetState =>
  isObject(v) &&
  v['format'] === DATA_FORMAT &&
  isObject(v['ports']) &&
  Object.values(v['ports']).every(Number.isInteger) &&
  (v['driver'] === undefined || v['driver'] === 'nspawn') &&
  (v['controlPlanes'] === undefined || v['controlPlanes'] === 'programs') &&
  (v['follows'] === undefined || isFollowed(v['follows'])) &&
  (v['folder'] === undefined || typeof v['folder'] === 'string')

/** A start that was refused or killed leaves these at most. */
const isOfLock = (name: string): boolean => /^lock(\.partial|\.db(-journal)?)?$/.test(name)

/** What is remembered in a data folder; undefined in a new one. A folder that is something else is never written to. */
export function readState(layout: Layout): FleetState | undefined {
  if (!existsSync(layout.state)) {
    const strangers = existsSync(layout.root) ? readdirSync(layout.root).filter((f) => !isOfLock(f)) : []
    if (strangers.length === 0) return undefined
    throw new KubeNodeError(localErrors.KN1203({ root: layout.root, stranger: strangers[0] ?? '' }))
  }
  let seen: unknown
  try {
    seen = JSON.parse(readFileSync(layout.state, 'utf8'))
  } catch (cause) {
    throw new KubeNodeError(localErrors.KN1202_damaged({ state: layout.state, why: messageOf(cause) }), {
      cause,
    })
  }
  if (isState(seen)) {
    const here = realpathSync(layout.root)
    if (seen.folder === undefined || seen.folder === here) return seen
    throw new KubeNodeError(localErrors.KN1202_moved({ root: here, folder: seen.folder }))
  }
  const format = isObject(seen) ? JSON.stringify(seen['format']) : 'none'
  throw new KubeNodeError(localErrors.KN1202({ root: layout.root, format, dataFormat: DATA_FORMAT }))
}

/** Of a folder that was used before, with the repository that it follows. */
export function layoutIn(root: string): Layout {
  const layout = layoutOf(root)
  return existsSync(layout.state) ? layoutOf(root, readState(layout)?.follows) : layout
}

export function writeState(layout: Layout, state: Omit<FleetState, 'folder'>): void {
  const written: FleetState = { ...state, folder: realpathSync(layout.root) }
  writeWholeFile(layout.state, `${JSON.stringify(written, null, 2)}\n`)
  // Beside a fleet of a person it would be committed with it.
  if (layout.follows !== undefined) writeWholeFile(join(layout.root, IGNORED), '*\n')
}

/** Nodes are machines of their own: their folder is closed, the modes in it are theirs. Answers how much was open to others. */
export function closeFolder(layout: Layout): number {
  const nodes = new Set(clusterFolders(layout).map((c) => layout.cluster(c).nodes))
  try {
    return makePrivateFolder(layout.root, { isSealed: (path) => nodes.has(dirname(path)) })
  } catch (cause) {
    if (isKubeNodeError(cause)) throw cause
    throw new KubeNodeError(localErrors.KN1205({ folder: layout.root, why: messageOf(cause) }), { cause })
  }
}

export function prepareFolders(layout: Layout): void {
  try {
    for (const folder of [layout.root, layout.logs, layout.artifacts, layout.controlPlanes]) makeFolders(folder)
  } catch (cause) {
    throw new KubeNodeError(localErrors.KN1205({ folder: layout.root, why: messageOf(cause) }), { cause })
  }
}
