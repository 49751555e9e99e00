// How well the minutes of `kubenode plan` hold: rollouts of a fresh local fleet, each predicted by its controllers when it began. Every commit switches a component
// between two good versions in both clusters; after some twenty switches in ten minutes the built-in rate limit makes the next ones wait, which is predicted too: 25
// commits take most of an hour. A rollout of a component that was never switched before is not predicted. The figures:
//   rollouts       that ended and had been predicted; two for each commit.
//   median_error   half of the predictions were off by at most this share of what the rollout took; at most 0.25.
//   p90_error      nine of ten.
//   median_took_s  what a rollout took.
//   within         1 when the bound holds.
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { controllerRevisionType } from '#controllers/componentset/revisions/revisions.ts'
import { endOf, predictionOf } from '#forecast/accuracy/recorded-prediction.ts'
import { HttpKubeClient } from '#kube/http/client.ts'
import { parseSafeKubeconfig } from '#kube/kubeconfig-safe.ts'
import { quantile } from '#lib/quantile.ts'
import { layoutIn } from '#programs/local/layout.ts'
import { type BenchOptions, type BenchResult, type Figures, rounded } from './result.ts'
import { endLeftovers, KUBENODE, startLocal, stopLocal, untilReady } from './whole-way/local-fleet.ts'
import { livingOf, treeOf } from './whole-way/process-tree.ts'

const COMMITS = 25
const NODES = 3
const MOST_ERROR = 0.25
const CLUSTERS = ['test', 'prod'] as const
const VERSIONS = 'fleet/clusters/versions.json'
const BETWEEN = ['1.1.0', '1.0.0'] as const

const exec = promisify(execFile)

export const smoke: Figures = { commits: 1, nodes: 1 }

export async function run({ numbers }: BenchOptions): Promise<BenchResult> {
  const { commits = COMMITS, nodes = NODES } = numbers
  const data = mkdtempSync(join(tmpdir(), 'kubenode-bench-predictions-'))
  const child = startLocal(data, nodes)
  try {
    await untilReady(child)
    const ended = new Map<string, Rollout>()
    for (let n = 0; n < commits; n++) {
      await commit(data, BETWEEN[n % BETWEEN.length] ?? '')
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

interface Rollout {
  readonly tookMs: number
  readonly error: number
}

function figuresOf(rollouts: readonly Rollout[], commits: number): Figures {
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

async function commit(data: string, version: string): Promise<void> {
  const repository = join(data, 'repository')
  const file = join(repository, VERSIONS)
  const versions = JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>
  writeFileSync(file, `${JSON.stringify({ ...versions, beacon: version }, null, 2)}\n`)
  await exec('git', ['-C', repository, 'commit', '--quiet', '-m', `beacon ${version}`, '--', VERSIONS])
  await exec(KUBENODE, ['local', 'status', '--data', data, '--wait', '--timeout', '20m'])
}

/** By cluster and number of the revision: a revision that is declared again is another rollout. */
async function rolloutsOf(data: string, cluster: string): Promise<ReadonlyMap<string, Rollout>> {
  const file = layoutIn(data).cluster(cluster).adminKubeconfig
  const client = new HttpKubeClient(parseSafeKubeconfig(readFileSync(file, 'utf8'), file).config)
  try {
    const found = new Map<string, Rollout>()
    for (const revision of (await client.list(controllerRevisionType)).items) {
      const prediction = predictionOf(revision)
      const end = prediction && endOf(revision, prediction)
      if (prediction === undefined || end === undefined) continue
      const error = Math.abs(prediction.seconds * 1_000 - end.tookMs) / end.tookMs
      found.set(`${cluster} ${revision.revision}`, { tookMs: end.tookMs, error })
    }
    return found
  } finally {
    client.close()
  }
}
