// Which programs each cluster of the local fleet runs, with which arguments, and when they lead there.
import { join } from 'node:path'
import { SYSTEM_NAMESPACE } from '#api/names.ts'
import { systemClock } from '#lib/clock.ts'
import { writeWholeFile } from '#lib/whole-file.ts'
import type { KubeClient } from '#kube/client.ts'
import { leaseType } from '#runtime/lease.ts'
import { TRUST_FILE } from './artifacts.ts'
import type { ProgramIdentity } from './identities.ts'
import type { Keeper } from './keeper.ts'
import { HUB } from './layout.ts'
import type { Layout } from './layout.ts'

/** A tenfold of what each needs with fifty nodes a cluster; sync also holds what it renders, controllers every object of their cluster. */
const ROLE_HEAP_MB: Readonly<Record<ProgramIdentity, number>> = {
  sync: 512,
  controllers: 512,
  approver: 256,
  defender: 256,
}

/** All of it is on this machine; a free port, since several defenders are. */
const WEBHOOK = ['--webhook-host', '127.0.0.1', '--webhook-port', '0'] as const

/**
 * The roles of each process. In production each role is a process of its own; on one machine two share one, which halves what they take to start and to run.
 * Each still acts with its own identity only. The approver, whose identity is worth that of every host, shares its process with no other role here either.
 */
const processesIn = (cluster: string): readonly (readonly ProgramIdentity[])[] =>
  cluster === HUB ? [['sync', 'defender']] : [['controllers', 'defender'], ['approver']]

/** Sync acts in every cluster. */
export const identitiesIn = (cluster: string): readonly ProgramIdentity[] => [
  ...new Set<ProgramIdentity>(['sync', ...processesIn(cluster).flat()]),
]

/** Which programs each cluster runs, and with which arguments. */
export class Programs {
  readonly #layout: Layout
  readonly #keeper: Keeper

  constructor(layout: Layout, keeper: Keeper) {
    this.#layout = layout
    this.#keeper = keeper
  }

  /** Starts sync, which rolls out the first commit, and the Defender of Clusters. */
  startHub(): void {
    const { root, repository } = this.#layout
    const cache = ['--cache', join(root, 'git-cache')]
    this.#start(HUB, [...cache, '--local-repository', repository, '--weak-cage', 'allow', ...WEBHOOK])
  }

  startBusiness(name: string): void {
    const { artifacts, cluster } = this.#layout
    const { nodes, providers } = cluster(name)
    const served = { providers: [{ name: 'process', options: { dir: nodes } }] }
    writeWholeFile(providers, `${JSON.stringify(served, null, 2)}\n`)
    this.#start(name, [
      '--providers',
      providers,
      '--artifact-base',
      `file://${artifacts}/`,
      '--trust',
      join(artifacts, TRUST_FILE),
      ...WEBHOOK,
    ])
  }

  /** `more` is for the first process of the cluster. */
  #start(cluster: string, more: readonly string[]): void {
    const { kubeconfig } = this.#layout.cluster(cluster)
    for (const [n, roles] of processesIn(cluster).entries())
      this.#keeper.start({
        name: `${cluster}-${roles.join('-')}`,
        heapMb: roles.reduce((sum, role) => sum + ROLE_HEAP_MB[role], 0),
        args: [
          'run',
          '--roles',
          roles.join(','),
          ...roles.flatMap((role) => ['--kubeconfig', `${role}=${kubeconfig(role)}`]),
          '--cluster',
          cluster,
          ...(n === 0 ? more : []),
        ],
      })
  }
}

const LED_BY: readonly ProgramIdentity[] = ['controllers', 'approver', 'defender']
/** A guess at when a slow machine has loaded them; nothing depends on it. */
const LED_WITHIN_MS = 4_000
const LOOK_EVERY_MS = 100

/** Answers once all programs of a cluster lead there. */
export async function isLed(client: KubeClient, signal: AbortSignal): Promise<void> {
  const until = systemClock.monotonic() + LED_WITHIN_MS
  const isHeld = async (name: ProgramIdentity) =>
    (await client.get(leaseType, { name: `kubenode-${name}`, namespace: SYSTEM_NAMESPACE })) !== undefined
  while (systemClock.monotonic() < until && !signal.aborted) {
    const held = await Promise.all(LED_BY.map(isHeld)).catch(() => [false])
    if (held.every(Boolean)) return
    await systemClock.sleep(LOOK_EVERY_MS, signal).catch(() => undefined)
  }
}
