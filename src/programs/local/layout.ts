// Where the local fleet keeps everything: one data folder, with its format and ports recorded in fleet.json.
import { existsSync, lstatSync, readFileSync, readdirSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { KubeNodeError, isKubeNodeError, messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { makeFolders, makePrivateFolder } from '#lib/private-folder.ts'
import { systemTrouble } from '#lib/system-trouble.ts'
import { writeWholeFile } from '#lib/whole-file.ts'
import type { Driver } from './driver.ts'
import { localErrors } from './local-errors.ts'

export const HUB = 'hub'
const IGNORED = '.gitignore'
const GIT_CACHE = 'git-cache'
const CONTROL_PLANES = 'control-planes'
const HISTORY = 'history'
/** Not a valid cluster name. */
const WEBHOOKS = '.webhooks'
/** Programs write here where Prometheus finds them. Not a valid cluster name either. */
const METRICS = '.metrics'
const PROMETHEUS = 'prometheus'
/** Entries next to the cluster folders that are not clusters. */
const REPOSITORY = 'repository'
const OTHER_FOLDERS: readonly string[] = [
  'logs',
  'artifacts',
  'debian',
  REPOSITORY,
  // The repository of format 2; --reset removes it.
  'fleet',
  GIT_CACHE,
  CONTROL_PLANES,
  HISTORY,
  PROMETHEUS,
]

/** Why no cluster on this machine can have this name. A dot is allowed once, after the namespace of a Cluster outside the system namespace. */
export function badClusterName(name: string): string | undefined {
  if (name.length > MAX_NAME || !/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)?$/.test(name))
    return `use at most ${MAX_NAME} lowercase letters, digits and dashes`
  return name === HUB || OTHER_FOLDERS.includes(name) ? 'the name is taken' : undefined
}
/** The name is part of socket paths, which are short. */
const MAX_NAME = 40

/** Raised when this version can no longer use an older program's data folder. */
export const DATA_FORMAT = 3

/** A user's own repository, which the fleet follows in place. */
export interface Followed {
  readonly repository: string
  /** Folder of the fleet inside it. */
  readonly path: string
  /** The branch checked out at the start; undefined if there was none, in which case the fleet follows that commit. */
  readonly branch?: string
}

export interface FleetState {
  readonly format: typeof DATA_FORMAT
  /** Port of the hub; kept, so that kubeconfigs stay valid. Ports of Clusters are kept with their control planes. */
  readonly ports: Readonly<Record<string, number>>
  /** Driver of its machines; processes by default. */
  readonly driver?: Driver
  /** Kind of its Clusters' control planes; the embedded server by default. */
  readonly controlPlanes?: 'programs'
  /** The repository it follows; by default the demo repository in this folder. */
  readonly follows?: Followed
  /** Where the folder was at the time of writing. Links below it are absolute, and node identities are only valid there. */
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
  /** Packages fetched from Debian. */
  readonly debian: string
  /** The git repository that the fleet follows. */
  readonly repository: string
  /** The user's repository; undefined for the demo. */
  readonly follows: Followed | undefined
  /** Copies of the repositories that sync follows. */
  readonly gitCache: string
  /** Control planes of Clusters. Their host creates and removes each one's folder. */
  readonly controlPlanes: string
  /** Defenders write their webhook addresses here, one file each: the only addresses on this machine that control planes may call. */
  readonly webhooks: string
  /** Programs write the ports of their metrics here, one file each. */
  readonly metrics: string
  /** Configuration and data of a Prometheus beside the fleet. */
  readonly prometheus: string
  /** What happened in each cluster. */
  readonly history: string
  /** Socket of the control plane host. */
  readonly controlSocket: string
  /** Lists the clusters that a process runs programs for, with their options. */
  readonly clustersOf: (process: string) => string
  /** Every cluster as a context. */
  readonly adminKubeconfig: string
  readonly cluster: (name: string) => ClusterLayout
}

export interface ClusterLayout {
  /** Data of the API server; for a Cluster, a link to its host's folder. */
  readonly apiserver: string
  readonly adminKubeconfig: string
  readonly nodes: string
  /** Lists the cluster's provider: hosts are processes of this machine. */
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
  metrics: join(root, METRICS),
  prometheus: join(root, PROMETHEUS),
  history: join(root, HISTORY),
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

/** Folders of clusters, including the hub's, whatever fleet.json records. */
export function clusterFolders({ root }: Pick<Layout, 'root'>): readonly string[] {
  if (!existsSync(root)) return []
  return readdirSync(root, { withFileTypes: true })
    .filter((e) => e.isDirectory() && !OTHER_FOLDERS.includes(e.name))
    .map((e) => e.name)
    .filter((name) => isThere(join(root, name, 'apiserver')) || isThere(join(root, name, 'nodes')))
}

/** True for a dangling link too. */
const isThere = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined

export const businessFolders = (layout: Pick<Layout, 'root'>): readonly string[] =>
  clusterFolders(layout).filter((name) => name !== HUB)

/** Everything a start created, except the file that marks the folder as a fleet's. */
export const madeBy = (layout: Layout): readonly string[] => [
  ...clusterFolders(layout).map((name) => join(layout.root, name)),
  ...OTHER_FOLDERS.map((name) => join(layout.root, name)),
  layout.adminKubeconfig,
  layout.webhooks,
  layout.metrics,
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

/** A refused or killed start leaves at most these. */
const isOfLock = (name: string): boolean => /^lock(\.partial|\.db(-journal)?)?$/.test(name)

/** The recorded state of a data folder; undefined for a new one. A folder that is something else is never written to. */
export function readState(layout: Layout): FleetState | undefined {
  if (!existsSync(layout.state)) {
    const foreign = existsSync(layout.root) ? readdirSync(layout.root).filter((f) => !isOfLock(f)) : []
    if (foreign.length === 0) return undefined
    throw new KubeNodeError(localErrors.KN1203({ root: layout.root, file: foreign[0] ?? '' }))
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

/** For a folder used before, with the repository it follows. */
export function layoutIn(root: string): Layout {
  const layout = layoutOf(root)
  return existsSync(layout.state) ? layoutOf(root, readState(layout)?.follows) : layout
}

export function writeState(layout: Layout, state: Omit<FleetState, 'folder'>): void {
  const written: FleetState = { ...state, folder: realpathSync(layout.root) }
  writeWholeFile(layout.state, `${JSON.stringify(written, null, 2)}\n`)
  // Next to a user's fleet the folder would otherwise be committed with it.
  if (layout.follows !== undefined) writeWholeFile(join(layout.root, IGNORED), '*\n')
}

/** Nodes are separate machines: only their top folder is closed, the modes inside belong to them. Returns how many entries were open to others. */
export function closeFolder(layout: Layout): number {
  const nodes = new Set(clusterFolders(layout).map((c) => layout.cluster(c).nodes))
  try {
    return makePrivateFolder(layout.root, { isSealed: (path) => nodes.has(dirname(path)) })
  } catch (cause) {
    if (isKubeNodeError(cause)) throw cause
    throw new KubeNodeError(localErrors.KN1205({ folder: layout.root, why: systemTrouble(cause) }), { cause })
  }
}

export function prepareFolders(layout: Layout): void {
  try {
    for (const folder of [layout.root, layout.logs, layout.artifacts, layout.controlPlanes]) makeFolders(folder)
  } catch (cause) {
    throw new KubeNodeError(localErrors.KN1205({ folder: layout.root, why: systemTrouble(cause) }), { cause })
  }
}
