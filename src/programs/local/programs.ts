// Which programs each cluster of the local fleet runs, in which process and with which options.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseDocuments } from '#lib/documents.ts'
import { writeWholeFile } from '#lib/whole-file.ts'
import { TRUST_FILE } from './artifacts.ts'
import type { Rehearsal } from '#sync/rehearsal/rehearsed.ts'
import type { ProgramIdentity } from './identities.ts'
import { type Driver, DRIVERS } from './driver.ts'
import type { Program } from './keeper.ts'
import { HUB } from './layout.ts'
import type { Layout } from './layout.ts'

/** A tenfold of what each needs with fifty nodes a cluster; sync also holds what it renders, controllers every object of their cluster. */
const ROLE_HEAP_MB: Readonly<Record<ProgramIdentity, number>> = {
  sync: 512,
  controllers: 512,
  approver: 256,
  defender: 256,
  cluster: 256,
}
/** Heaps are given out when processes start, before anyone knows how many clusters there will be. */
const CLUSTERS_FORESEEN = 4

/** All of it is on this machine; a free port, since several defenders are. */
const WEBHOOK = ['--webhook-host', '127.0.0.1', '--webhook-port', '0'] as const

/**
 * Which roles share a process. In production each role of a cluster has one of its own; on one machine all clusters share two, which saves a start most of its
 * processor time: a role loads and warms up once instead of once for each cluster. Each still acts with its own identity in its own cluster only. The approver,
 * whose identity is worth that of every host, shares its process with no other role here either.
 */
const PROCESSES: readonly Process[] = [
  { name: 'programs', ofHub: ['sync', 'defender', 'cluster'], ofBusiness: ['controllers', 'defender'] },
  { name: 'approvers', ofHub: [], ofBusiness: ['approver'] },
]
interface Process {
  readonly name: string
  readonly ofHub: readonly ProgramIdentity[]
  readonly ofBusiness: readonly ProgramIdentity[]
}

/** Sync acts in every Cluster, with a kubeconfig that role cluster makes for it. */
export const identitiesIn = (layout: Layout, cluster: string): readonly ProgramIdentity[] =>
  PROCESSES.flatMap((process) => (cluster === HUB ? onHub(process, layout) : process.ofBusiness))

/** The hub of a fleet of a person is a cluster with nodes too, as `kubenode init` makes it. */
const onHub = ({ ofHub, ofBusiness }: Process, { follows }: Layout): readonly ProgramIdentity[] =>
  follows === undefined ? ofHub : [...new Set([...ofHub, ...ofBusiness])]

/** The processes, each of which runs for the clusters that its file names. */
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

/** What each process reads: the programs of a cluster that left the list end. */
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
    ...(roles.includes('sync') ? syncOptions(layout, rehearsal) : []),
    ...(roles.includes('cluster') ? ['--control-planes', layout.controlSocket] : []),
    ...(roles.includes('controllers') ? hostOptions(layout, cluster) : []),
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

/** What the controllers of a cluster read: who makes its hosts on this machine, and the providers that a person added. */
export function writeProviders({ artifacts, cluster }: Layout, name: string, driver: Driver): void {
  const { nodes, providers } = cluster(name)
  // Machines with the same components need ports of their own, and see the archives where the fleet keeps them.
  const options = driver === 'nspawn' ? { dir: nodes, network: 'Own', share: artifacts } : { dir: nodes }
  const added = addedTo(providers)
  if (added === undefined) return
  const served = { providers: [{ name: driver, options }, ...added] }
  writeWholeFile(providers, `${JSON.stringify(served, null, 2)}\n`)
}

/** Undefined for a file that is no such list, as after a slip of a person: it stays, and the controllers say what is wrong in which line. */
function addedTo(file: string): readonly unknown[] | undefined {
  if (!existsSync(file)) return []
  const value = parseDocuments(readFileSync(file, 'utf8')).documents[0]?.value as Partial<Listed> | undefined
  const listed = value?.providers
  return Array.isArray(listed) ? listed.filter((p) => !DRIVERS.some((driver) => driver === p?.name)) : undefined
}

interface Listed {
  readonly providers: readonly ({ readonly name?: unknown } | null)[]
}
