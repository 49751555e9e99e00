// Decides which programs each cluster of the local fleet runs, in which process and with which options.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseDocuments } from '#lib/documents.ts'
import { writeWholeFile } from '#lib/whole-file.ts'
import { TRUST_FILE } from './artifacts.ts'
import type { Rehearsal } from '#sync/rehearsal/rehearsed.ts'
import type { ProgramIdentity } from './identities.ts'
import { type Driver, DRIVERS } from './driver.ts'
import type { Program } from '../hosted/keeper.ts'
import { HUB } from './layout.ts'
import type { Layout } from './layout.ts'

/** Ten times what each needs at fifty nodes per cluster. Sync also holds what it renders; controllers hold every object of their cluster. */
const ROLE_HEAP_MB: Readonly<Record<ProgramIdentity, number>> = {
  sync: 512,
  controllers: 512,
  approver: 256,
  defender: 256,
  cluster: 256,
  history: 128,
}
/** Heap sizes are fixed when processes start, before the number of clusters is known. */
const CLUSTERS_FORESEEN = 4

/** All callers are on this machine. A free port, because there are several Defenders. */
const WEBHOOK = ['--webhook-host', '127.0.0.1', '--webhook-port', '0'] as const

/**
 * Which roles share a process. In production each role of a cluster has its own. On one machine all clusters share two, which saves most of the CPU time of a
 * start: a role loads and warms up once instead of once per cluster. Each still acts with its own identity in its own cluster only. The approver's identity is
 * worth that of every host, so it shares its process with no other role here either.
 */
const PROCESSES: readonly Process[] = [
  {
    name: 'programs',
    ofHub: ['sync', 'defender', 'cluster', 'history'],
    ofBusiness: ['controllers', 'defender', 'history'],
  },
  { name: 'approvers', ofHub: [], ofBusiness: ['approver'] },
]
interface Process {
  readonly name: string
  readonly ofHub: readonly ProgramIdentity[]
  readonly ofBusiness: readonly ProgramIdentity[]
}

/** Sync acts in every Cluster, with a kubeconfig that the cluster role makes for it. */
export const identitiesIn = (layout: Layout, cluster: string): readonly ProgramIdentity[] =>
  PROCESSES.flatMap((process) => (cluster === HUB ? onHub(process, layout) : process.ofBusiness))

/** In a user's fleet the hub has nodes too, as `kubenode init` sets it up. */
const onHub = ({ ofHub, ofBusiness }: Process, { follows }: Layout): readonly ProgramIdentity[] =>
  follows === undefined ? ofHub : [...new Set([...ofHub, ...ofBusiness])]

/** The processes. Each runs for the clusters listed in its file. */
export function programsOf(layout: Layout, rehearsal?: Rehearsal): readonly Program[] {
  return PROCESSES.map((process) => {
    const { name, ofBusiness } = process
    const ofHub = onHub(process, layout)
    const heapOf = (roles: readonly ProgramIdentity[]) => roles.reduce((sum, role) => sum + ROLE_HEAP_MB[role], 0)
    const own = ofHub.length === 0 ? [] : optionsOf(layout, HUB, ofHub, rehearsal)
    const heapMb = heapOf(ofHub) + CLUSTERS_FORESEEN * heapOf(ofBusiness)
    return { name, heapMb, args: ['run', ...own, '--follow', layout.clustersOf(name)] }
  })
}

/** Writes the list that each process reads. Programs of a cluster that is no longer listed stop. */
export function writeClusters(layout: Layout, clusters: readonly string[]): void {
  for (const { name: process, ofBusiness } of PROCESSES) {
    const entries = clusters.map((name) => optionsOf(layout, name, ofBusiness))
    writeWholeFile(layout.clustersOf(process), `${JSON.stringify(entries, null, 2)}\n`)
  }
}

function optionsOf(
  layout: Layout,
  cluster: string,
  roles: readonly ProgramIdentity[],
  rehearsal?: Rehearsal,
): readonly string[] {
  const { kubeconfig } = layout.cluster(cluster)
  return [
    '--roles',
    roles.join(','),
    ...roles.flatMap((role) => ['--kubeconfig', `${role}=${kubeconfig(role)}`]),
    '--cluster',
    cluster,
    '--metrics-announce',
    layout.metrics,
    ...(roles.includes('sync') ? syncOptions(layout, rehearsal) : []),
    ...(roles.includes('cluster') ? ['--control-planes', layout.controlSocket] : []),
    ...(roles.includes('controllers') ? hostOptions(layout, cluster) : []),
    ...(roles.includes('history') ? ['--history', layout.history] : []),
    ...(roles.includes('defender') ? [...WEBHOOK, '--webhook-announce', join(layout.webhooks, cluster)] : []),
  ]
}

const syncOptions = ({ gitCache, repository }: Layout, rehearsal?: Rehearsal): readonly string[] => [
  '--cache',
  gitCache,
  '--local-repository',
  repository,
  '--weak-cage',
  'allow',
  ...(rehearsal === undefined ? [] : ['--rehearse', rehearsal.provider]),
  ...(rehearsal?.nodes === undefined ? [] : ['--rehearse-nodes', String(rehearsal.nodes)]),
]

const hostOptions = ({ artifacts, cluster }: Layout, name: string): readonly string[] => [
  '--providers',
  cluster(name).providers,
  '--artifact-base',
  `file://${artifacts}/`,
  '--trust',
  join(artifacts, TRUST_FILE),
]

/** The provider file that a cluster's controllers read: the local host provider, and providers that a user added. */
export function writeProviders({ artifacts, cluster }: Layout, name: string, driver: Driver): void {
  const { nodes, providers } = cluster(name)
  // Machines with the same components need separate ports, and read archives from the fleet's folder.
  const options = driver === 'nspawn' ? { dir: nodes, network: 'Own', share: artifacts } : { dir: nodes }
  const added = addedTo(providers)
  if (added === undefined) return
  const served = { providers: [{ name: driver, options }, ...added] }
  writeWholeFile(providers, `${JSON.stringify(served, null, 2)}\n`)
}

/** Undefined if the file is not a valid list, such as after a typo. The file stays, and the controllers report the line. */
function addedTo(file: string): readonly unknown[] | undefined {
  if (!existsSync(file)) return []
  const value = parseDocuments(readFileSync(file, 'utf8')).documents[0]?.value as Partial<Listed> | undefined
  const listed = value?.providers
  return Array.isArray(listed) ? listed.filter((p) => !DRIVERS.some((driver) => driver === p?.name)) : undefined
}

interface Listed {
  readonly providers: readonly ({ readonly name?: unknown } | null)[]
}
