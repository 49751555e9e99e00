// How well the minutes of `kubenode plan` hold: rollouts of a fresh local fleet, each predicted by its controllers when it began. Every commit switches a component
// between two good versions in both clusters; after some twenty switches in ten minutes the built-in rate limit makes the next ones wait, which is predicted too: 25
// commits take most of an hour. A rollout of a component that was never switched before is not predicted. The figures:
//   rollouts       that ended and had been predicted; two for each commit.
//   median_error   half of the predictions were off by at most this share of what the rollout took; at most 0.25.
//   p90_error      nine of ten.
//   median_took_s  what a rollout took.
//   within         1 when the bound holds.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { controllerRevisionType } from '#controllers/componentset/revisions/revisions.ts'
import { type Compared, comparedOf } from '#forecast/accuracy/accuracy.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { quantile } from '#lib/quantile.ts'
import { layoutIn } from '#programs/local/layout.ts'
import { type BenchOptions, type BenchResult, type Figures, rounded } from './result.ts'
import { endLeftovers, followBeacon, startLocal, stopLocal, untilReady } from './whole-way/local-fleet.ts'
import { livingOf, treeOf } from './whole-way/process-tree.ts'

const COMMITS = 25
const NODES = 3
const MOST_ERROR = 0.25
const CLUSTERS = ['test', 'prod'] as const
const BETWEEN = ['1.1.0', '1.0.0'] as const

export const smoke: Figures = { commits: 1, nodes: 1 }

export async function run({ numbers }: BenchOptions): Promise<BenchResult> {
  const { commits = COMMITS, nodes = NODES } = numbers
  const data = mkdtempSync(join(tmpdir(), 'kubenode-bench-predictions-'))
  const child = startLocal(data, nodes)
  try {
    await untilReady(child)
    const ended = new Map<string, Compared>()
    for (let n = 0; n < commits; n++) {
      await followBeacon(data, BETWEEN[n % BETWEEN.length] ?? '', '20m')
      for (const cluster of CLUSTERS) for (const [key, one] of await rolloutsOf(data, cluster)) ended.set(key, one)
      console.error(`${ended.size} rollouts of ${n + 1} commits`)
    }
    return { figures: figuresOf([...ended.values()], commits), peer: null, ratio: {} }
  } finally {
    const seen = treeOf(child.pid ?? 0)
    await stopLocal(child)
    endLeftovers(livingOf(seen, data))
    rmSync(data, { recursive: true, force: true })
  }
}

function figuresOf(rollouts: readonly Compared[], commits: number): Figures {
  const errors = rollouts.map((r) => r.error)
  const median = quantile(errors, 0.5)
  // The first switches of a component are not predicted.
  if (median === undefined) return { commits, rollouts: 0, within: 0 }
  const took = rollouts.map((r) => r.tookMs / 1_000)
  return {
    commits,
    rollouts: rollouts.length,
    median_error: rounded(median),
    p90_error: rounded(quantile(errors, 0.9) ?? median),
    median_took_s: rounded(quantile(took, 0.5) ?? 0),
    within: median <= MOST_ERROR ? 1 : 0,
  }
}

/** By cluster and number of the revision: a revision that is declared again is another rollout. */
async function rolloutsOf(data: string, cluster: string): Promise<ReadonlyMap<string, Compared>> {
  const file = layoutIn(data).cluster(cluster).adminKubeconfig
  const client = new HttpKubeClient(parseSafeKubeconfig(readFileSync(file, 'utf8'), file).config)
  try {
    const found = new Map<string, Compared>()
    for (const revision of (await client.list(controllerRevisionType)).items) {
      const compared = comparedOf(revision)
      if (compared !== undefined) found.set(`${cluster} ${revision.revision}`, compared)
    }
    return found
  } finally {
    client.close()
  }
}
