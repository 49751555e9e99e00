// Renders a fleet of 5,000 objects in the cage as sync does: from a commit to checked objects with digests. Beside it, in turns, cdk8s alone: the same fleet in a
// plain process that writes files, uncaged and unchecked.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createValidator } from '#api/validate.ts'
import { systemClock } from '#lib/system-clock.ts'
import { releaseRoot } from '#lib/release-root.ts'
import { openLocalRepository } from '#sync/git/local-repository.ts'
import { bundleCage } from '#install/package/bundle-cage.ts'
import { bundleIn } from '#sync/render/bundle.ts'
import { CAGE_LEVELS, findCage } from '#sync/render/cage.ts'
import { renderCommit, type Rendered } from '#sync/render/render.ts'
import { processRenderer } from '#sync/render/renderer.ts'
import { commitFleet, initFleet } from './sync/fleet-repository.ts'
import { cpuOfChildren } from './sync/process-cpu.ts'
import { median, rounded } from './result.ts'
import type { BenchOptions, BenchResult, Figures } from './result.ts'

const OBJECTS = 5_000
const CLUSTERS = 10
const ROUNDS = 5

/** Half of them our own kinds, which are validated, half ConfigMaps, as addons bring them. */
const fleet = (objects: number, clusters: number, round: number): string => `
import { ApiObject, App } from 'cdk8s'
import { Cluster, ClusterChart, HubChart, MachineSet } from 'kubenode/constructs'
const app = new App()
const hub = new HubChart(app, 'hub', { namespace: 'fleet' })
const each = ${Math.floor(objects / clusters)}
for (let c = 0; c < ${clusters}; c++) {
  const name = 'c' + c
  new Cluster(hub, name, { spec: { kubeconfigSecretRef: { name: 'cluster-' + name } } })
  const chart = new ClusterChart(app, name)
  for (let i = 0; i < each; i++) {
    if (i % 2 === 0)
      new MachineSet(chart, 's' + i, {
        spec: {
          replicas: ${round},
          selector: { matchLabels: { set: 's' + i } },
          template: { metadata: { labels: { set: 's' + i } }, spec: { provider: { name: 'process' }, pool: 'p' + (i % 7) } },
        },
      })
    else
      new ApiObject(chart, 'm' + i, {
        apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'm' + i, namespace: 'default' },
        data: { round: '${round}', text: 'a value of ordinary length, number ' + i },
      })
  }
}
app.synth()
`

interface Round {
  readonly ms: number
  readonly cpuMs: number
  readonly peerMs: number
}

export const smoke: Figures = { objects: 20, clusters: 2, rounds: 1 }

export async function run({ numbers }: BenchOptions): Promise<BenchResult> {
  const objects = numbers['objects'] ?? OBJECTS
  const clusters = numbers['clusters'] ?? CLUSTERS
  const rounds = numbers['rounds'] ?? ROUNDS
  const dir = mkdtempSync(join(tmpdir(), 'kubenode-bench-render-'))
  try {
    const commit = (round: number) => commitFleet(dir, fleet(objects, clusters, round))
    initFleet(dir)
    // As in a program that was built.
    const built = join(dir, 'caged')
    await bundleCage(releaseRoot(), built)
    const renderer = processRenderer(await findCage('allow', CAGE_LEVELS, bundleIn(built)))
    const validator = createValidator()
    const rows: Round[] = []
    let made = 0
    for (let round = 0; round <= rounds; round++) {
      // Every round another commit of another content: nothing that was rendered before is the answer.
      const id = commit(round)
      const repository = openLocalRepository(`file://${dir}`)
      const before = cpuMs()
      const startedAt = systemClock.monotonic()
      const rendered = await renderCommit(id, { repository, renderer, validator })
      const ms = systemClock.monotonic() - startedAt
      made = objectsIn(rendered)
      const row = { ms, cpuMs: cpuMs() - before, peerMs: synthAlone(dir) }
      // The first round warms both up.
      if (round > 0) rows.push(row)
    }
    const figure = (of: (row: Round) => number) => rounded(median(rows.map(of)))
    return {
      figures: { render_5000_ms: figure((r) => r.ms), render_cpu_ms: figure((r) => r.cpuMs), objects: made, rounds },
      peer: { name: 'cdk8s synth, no cage and no checks', figures: { synth_5000_ms: figure((r) => r.peerMs) } },
      ratio: { cdk8s: figure((r) => r.peerMs / r.ms) },
      versions: {
        cdk8s: (createRequire(import.meta.url)('cdk8s/package.json') as { readonly version: string }).version,
      },
    }
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

const objectsIn = ({ targets }: Rendered): number =>
  [...targets.values()].reduce((n, { objects, rejected }) => {
    if (rejected[0] !== undefined) throw new Error(`an object was rejected: ${rejected[0].problem}`)
    return n + objects.length
  }, 0)

/** Of this process and of those that it waited for, which is the cage. */
const cpuMs = (): number => cpuOfChildren() + process.cpuUsage().user / 1_000 + process.cpuUsage().system / 1_000

/** As `cdk8s synth` runs a fleet: Node, the packages, one file of YAML for each chart. */
function synthAlone(dir: string): number {
  const alone = join(dir, 'alone')
  mkdirSync(alone, { recursive: true })
  const release = releaseRoot()
  for (const name of ['node_modules', 'package.json', 'src', 'fleet']) {
    rmSync(join(alone, name), { recursive: true, force: true })
    symlinkSync(name === 'fleet' ? join(dir, 'fleet') : join(release, name), join(alone, name))
  }
  const startedAt = systemClock.monotonic()
  execFileSync(process.execPath, ['--preserve-symlinks', '--preserve-symlinks-main', 'fleet/main.ts'], {
    cwd: alone,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return systemClock.monotonic() - startedAt
}
