// Clusters of flavor kubernetes, many on one hub: made together, upgraded over a minor in stages of 1, a quarter and the rest, and deleted together. The hub, the
// controller, its host and the Defender are the real ones, in this process; pods are played, so the figures are what KubeNode adds to the programs of Kubernetes.
import { API_GROUP_VERSION } from '#api/kind.ts'
import { cluster as clusterKind, type Cluster } from '#api/kinds/cluster.ts'
import { type DefenderPolicy, defenderPolicy } from '#api/kinds/defender-policy.ts'
import { systemClock } from '#lib/system-clock.ts'
import { MACHINES_OVER_MS, playedClusters, type PlayedClusters } from '#test/support/worlds/played-clusters.ts'
import { type BenchOptions, type BenchResult, type Figures, rounded } from './result.ts'

const CLUSTERS = 20
const [BEFORE, AFTER] = ['1.35.9', '1.36.2']
const LOOK_MS = 200
const WITHIN_MS = 600_000
/** The built-in policy spreads deletions over minutes, on purpose. */
const OPEN = {
  apiVersion: API_GROUP_VERSION,
  kind: defenderPolicy.kind,
  metadata: { name: 'open' },
  spec: { budgets: [{ max: '100%', of: 'unavailable' }] },
} as unknown as DefenderPolicy

export const smoke: Figures = { clusters: 1 }

export async function run({ numbers }: BenchOptions): Promise<BenchResult> {
  const { clusters = CLUSTERS } = numbers
  const names = Array.from({ length: clusters }, (_, n) => `plane-${n}`)
  const world = await playedClusters()
  try {
    await world.admin.create(defenderPolicy, OPEN)
    await world.startController(world.newHost())
    const create = await timed(() => at(world, names, BEFORE))
    const stages = [names.slice(0, 1), names.slice(1, Math.ceil(clusters / 4)), names.slice(Math.ceil(clusters / 4))]
    const upgrade = await timed(async () => {
      for (const stage of stages) await at(world, stage, AFTER)
    })
    await world.stopController()
    for (const name of names) await world.remove(name)
    await world.startController(world.newHost(), MACHINES_OVER_MS)
    const gone = await timed(() => until(world, 'all are deleted', async () => (await all(world)).length === 0))
    // Final snapshots stay for a week; the host knows them as deleted.
    const leftovers = (await world.newHost().list()).length
    const figures = { clusters, create_s: create, upgrade_in_stages_s: upgrade, delete_s: gone, leftovers }
    return { figures, peer: null, ratio: {} }
  } finally {
    await world.close()
  }
}

async function timed(work: () => Promise<void>): Promise<number> {
  const began = performance.now()
  await work()
  return rounded((performance.now() - began) / 1_000)
}

const all = async ({ admin }: PlayedClusters): Promise<readonly Cluster[]> => (await admin.list(clusterKind)).items

const runs = ({ status }: Cluster, version: string): boolean =>
  status?.phase === 'Ready' && status.change === undefined && status.versions?.[0]?.version === version

async function at(world: PlayedClusters, names: readonly string[], version: string): Promise<void> {
  for (const name of names) await world.declareKubernetes(version, {}, name)
  await until(world, `${names.length} run ${version}`, async () => {
    const seen = new Map((await all(world)).map((c) => [c.metadata.name, c]))
    return names.every((name) => {
      const cluster = seen.get(name)
      return cluster !== undefined && runs(cluster, version)
    })
  })
}

async function until(world: PlayedClusters, what: string, holds: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + WITHIN_MS
  while (!(await holds())) {
    if (performance.now() > end) {
      const seen = (await all(world)).map((c) => `${c.metadata.name}: ${JSON.stringify(c.status)}`)
      throw new Error(`not within ${WITHIN_MS / 1_000} s: ${what}; ${seen.slice(0, 3).join('; ')}`)
    }
    await systemClock.sleep(LOOK_MS)
  }
}
