// Which programs each cluster of the local fleet runs, with which arguments, and when they lead there.
import { join } from 'node:path'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { systemClock } from '#lib/clock.ts'
import { writeWholeFile } from '#lib/whole-file.ts'
import type { KubeClient } from '#kube/client.ts'
import { leaseType } from '#runtime/lease.ts'
import { TRUST_FILE } from './artifacts.ts'
import type { ProgramIdentity } from './identities.ts'
import type { Driver } from './driver.ts'
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

/** All of it is on this machine; a free port, since several defenders are. */
const WEBHOOK = ['--webhook-host', '127.0.0.1', '--webhook-port', '0'] as const

/**
 * Which roles share a process. In production each role of a cluster has one of its own; on one machine all clusters share two, which saves a start most of its
 * processor time: a role loads and warms up once instead of once for each cluster. Each still acts with its own identity in its own cluster only. The approver,
 * whose identity is worth that of every host, shares its process with no other role here either.
 */
const PROCESSES: readonly Process[] = [
  { name: 'programs', ofHub: ['sync', 'defender'], ofBusiness: ['controllers', 'defender'] },
  { name: 'approvers', ofHub: [], ofBusiness: ['approver'] },
]
interface Process {
  readonly name: string
  readonly ofHub: readonly ProgramIdentity[]
  readonly ofBusiness: readonly ProgramIdentity[]
}

const rolesOf = (cluster: string, { ofHub, ofBusiness }: Process): readonly ProgramIdentity[] =>
  cluster === HUB ? ofHub : ofBusiness

/** Sync acts in every cluster. */
export const identitiesIn = (cluster: string): readonly ProgramIdentity[] => [
  ...new Set<ProgramIdentity>(['sync', ...PROCESSES.flatMap((p) => rolesOf(cluster, p))]),
]

/** The processes of all clusters. */
export function programsOf(layout: Layout, clusters: readonly string[]): readonly Program[] {
  return PROCESSES.map((process) => {
    const groups = clusters.map((cluster) => ({ cluster, roles: rolesOf(cluster, process) }))
    const parts = groups.filter(({ roles }) => roles.length > 0)
    const heapMb = parts.flatMap(({ roles }) => roles).reduce((sum, role) => sum + ROLE_HEAP_MB[role], 0)
    const options = parts.map(({ cluster, roles }) => optionsOf(layout, cluster, roles))
    return { name: process.name, heapMb, args: ['run', ...options.flatMap((o, n) => (n === 0 ? o : ['--', ...o]))] }
  })
}

function optionsOf(layout: Layout, cluster: string, roles: readonly ProgramIdentity[]): readonly string[] {
  const { kubeconfig } = layout.cluster(cluster)
  return [
    '--roles',
    roles.join(','),
    ...roles.flatMap((role) => ['--kubeconfig', `${role}=${kubeconfig(role)}`]),
    '--cluster',
    cluster,
    ...(roles.includes('sync') ? syncOptions(layout) : []),
    ...(roles.includes('controllers') ? hostOptions(layout, cluster) : []),
    ...(roles.includes('defender') ? WEBHOOK : []),
  ]
}

const syncOptions = ({ gitCache, repository }: Layout): readonly string[] => [
  '--cache',
  gitCache,
  '--local-repository',
  repository,
  '--weak-cage',
  'allow',
]

const hostOptions = ({ artifacts, cluster }: Layout, name: string): readonly string[] => [
  '--providers',
  cluster(name).providers,
  '--artifact-base',
  `file://${artifacts}/`,
  '--trust',
  join(artifacts, TRUST_FILE),
]

/** What the controllers of a cluster read: who makes its hosts on this machine. */
export function writeProviders({ artifacts, cluster }: Layout, name: string, driver: Driver): void {
  const { nodes, providers } = cluster(name)
  // Machines with the same components need ports of their own, and see the archives where the fleet keeps them.
  const options = driver === 'nspawn' ? { dir: nodes, network: 'Own', share: artifacts } : { dir: nodes }
  const served = { providers: [{ name: driver, options }] }
  writeWholeFile(providers, `${JSON.stringify(served, null, 2)}\n`)
}

const LED_BY: readonly ProgramIdentity[] = ['controllers', 'approver', 'defender']
/** A guess at when a slow machine has loaded them; nothing depends on it. */
const LED_WITHIN_MS = 4_000
const LOOK_EVERY_MS = 100

const leaseNames = async (client: KubeClient): Promise<readonly (string | undefined)[]> =>
  (await client.list(leaseType, { namespace: SYSTEM_NAMESPACE })).items.map((lease) => lease.metadata.name)

/** Answers once all programs of a cluster lead there. */
export async function isLed(client: KubeClient, signal: AbortSignal): Promise<void> {
  const until = systemClock.monotonic() + LED_WITHIN_MS
  while (systemClock.monotonic() < until && !signal.aborted) {
    const held = await leaseNames(client).catch((): readonly string[] => [])
    if (LED_BY.every((role) => held.includes(`kubenode-${role}`))) return
    await systemClock.sleep(LOOK_EVERY_MS, signal).catch(() => undefined)
  }
}
