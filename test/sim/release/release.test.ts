// F46: commits, failures and people in any order, over two stages: production never gets what test has seen fail, and what is older stops nothing.
import { describe, expect, test } from 'vitest'
import { inFull } from '#test/support/tools/full.ts'
import type { Baseline, KnownFailure } from '#api/kinds/inventory.ts'
import { releasePipeline, type ReleasePipelineSpec } from '#api/kinds/release-pipeline.ts'
import type { Release } from '#api/kinds/release.ts'
import { seededRandom, type Random } from '#lib/random.ts'
import { applyDefaults } from '#api/schema/default.ts'
import { contentDigest, nextBaseline } from '#sync/release/baseline.ts'
import { previousOf, soakedBefore } from '#sync/release/chain.ts'
import type { ClusterAnswer, SeenCluster } from '#sync/release/cluster-seen.ts'
import { historyOf } from '#sync/release/history.ts'
import { openClusters, isOver } from '#sync/release/release-seen.ts'
import { planRelease } from '#sync/release/stages.ts'
import type { GateSight } from '#sync/release/stage-gates.ts'

const NO_SIGHT: GateSight = { approvedBy: [], checks: new Map(), surveys: new Map() }

const SEEDS = inFull(300, 8)
const STEPS = 40
const SET = 'MachineComponentSet.kubenode.io/base'
const RULE = 'NodeRemedier.kubenode.io/disk'
const NOTE = 'ConfigMap/default/note'
const CLUSTERS = ['test', 'prod'] as const
const SECOND = 1_000
/** Longer than every deadline of the pipeline. */
const SETTLED = 90

const stage = (name: string) => ({
  name,
  clusters: { names: [name] },
  minSuccessTime: '5s',
  progressDeadline: '30s',
  maxNewFailures: 0,
})
const { spec: pipeline } = applyDefaults(releasePipeline.schema, { spec: { stages: CLUSTERS.map(stage) } }) as {
  spec: ReleasePipelineSpec
}

type Declared = Readonly<Record<string, string>>
const isBad = (version: string | undefined): boolean => version?.startsWith('bad') === true
/** Any version as the digest of a content. */
const short = (text: string): string => contentDigest(new Map([[text, undefined]])).slice(0, 16)
const digests = (declared: Declared) => new Map(Object.entries(declared).map(([name, v]) => [name, short(v)]))

interface SimCluster {
  /** What is there. */
  applied: Declared
  /** What the inventory says is there, and of which release: written before that is applied. */
  inventory: Declared
  mark: string | undefined
  baseline: Baseline | undefined
  readonly broken: Set<string>
}

class World {
  now = Date.parse('2026-01-31T12:00:00Z')
  readonly clusters = new Map(
    CLUSTERS.map((name): [string, SimCluster] => [
      name,
      { applied: {}, inventory: {}, mark: undefined, baseline: undefined, broken: new Set() },
    ]),
  )
  readonly chain: Release[] = []
  readonly declared = new Map<string, Declared>()
  readonly retries: string[] = []
  readonly #random: Random
  #names = 0

  constructor(random: Random) {
    this.#random = random
    this.commit({ [SET]: 'good-0', [RULE]: 'r', [NOTE]: 'n' })
  }

  get newest(): Release {
    return this.chain.at(-1) as Release
  }

  get content(): Declared {
    return this.declared.get(this.newest.metadata.name ?? '') ?? {}
  }

  fresh(): string {
    return String(++this.#names)
  }

  commit(declared: Declared): void {
    const last = this.chain.at(-1)
    const name = `r-${this.fresh()}`
    const digest = contentDigest(digests(declared))
    const spec = { source: 's', track: 't', pipeline: 'p', commit: 'c'.repeat(40) }
    if (last?.spec.digests['test'] === digest) return
    this.declared.set(name, declared)
    this.chain.push({
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Release',
      metadata: { name, namespace: 'n' },
      spec: {
        ...spec,
        digests: Object.fromEntries(CLUSTERS.map((c) => [c, digest])),
        ...(last?.metadata.name && { previous: last.metadata.name }),
      },
    })
  }

  /** One pass of sync over the newest Release, and over the one before, which is superseded. */
  step(): void {
    const superseded = this.chain.at(-2)
    for (const release of [superseded, this.newest])
      if (release !== undefined && !isOver(release)) this.#reconcile(release, release === superseded)
    this.now += SECOND
  }

  settle(): void {
    for (let i = 0; i < SETTLED && !isOver(this.newest); i++) this.step()
  }

  #reconcile(release: Release, isOld: boolean): void {
    const asked = new Set(isOld ? [] : openClusters(release))
    const clusters = CLUSTERS.map((name): [string, SeenCluster] => [
      name,
      {
        name,
        labels: {},
        digest: release.spec.digests[name] ?? '',
        answer: asked.has(name) ? this.#look(release, name) : undefined,
        previous: previousOf(this.chain, release, name),
        soaked: soakedBefore(this.chain, release, name),
      },
    ])
    // Killed before the status was written: what was done in the clusters stays done.
    if (this.#random.next() < 0.05) return
    const { status } = planRelease(
      {
        release,
        pipeline,
        clusters: new Map(clusters),
        newer: isOld ? 'newer' : undefined,
        paused: undefined,
        sight: NO_SIGHT,
        retries: this.retries.slice(-16),
        promotions: [],
      },
      this.now,
    )
    this.chain[this.chain.indexOf(release)] = { ...release, status }
  }

  #look(release: Release, name: string): ClusterAnswer {
    const cluster = this.clusters.get(name) as SimCluster
    const declared = this.declared.get(release.metadata.name ?? '') ?? {}
    const history = historyOf(this.chain, release, name)
    cluster.baseline = nextBaseline({
      release: release.metadata.name ?? '',
      now: this.now,
      known: cluster.baseline,
      failing: failingIn(cluster),
      before: digests(cluster.inventory),
      after: digests(declared),
      hasPassed: history.hasPassed(cluster.baseline?.release),
      isFirst: history.isFirst,
      isReturn: history.isReturn,
      hasBegun: history.wasTaken || cluster.mark === release.metadata.name,
    })
    cluster.mark = release.metadata.name
    const isKilled = this.#random.next() < 0.05
    if (!isKilled) {
      const version = declared[SET]
      if (isBad(version) && cluster.applied[SET] !== version) cluster.broken.add(`by-${version}`)
      cluster.applied = declared
      cluster.inventory = declared
    }
    const failing = failingIn(cluster).map((f) => ({ ...f, message: 'm' }))
    const readings = { repairs: [] }
    const isApplied = !isKilled
    return { kind: 'Seen', isApplied, failures: [], failing, machines: 10, baseline: cluster.baseline, readings }
  }
}

/** A bad version fails its set for as long as it is applied; the node that it broke stays broken. */
function failingIn({ applied, broken }: SimCluster): readonly KnownFailure[] {
  const set = applied[SET]
  return [
    ...(isBad(set)
      ? [{ object: SET, uid: 'u-set', state: 'Failed' as const, reason: 'Blocked', digest: short(set ?? '') }]
      : []),
    ...[...broken].map((node) => ({
      object: RULE,
      uid: 'u-rule',
      part: `node/${node}`,
      state: 'Failed' as const,
      reason: 'LadderExhausted',
      digest: short(applied[RULE] ?? ''),
    })),
  ]
}

type Op = 'bad' | 'unrelated' | 'revert' | 'fail' | 'repair' | 'retry' | 'wait' | 'lose'
const OPS: readonly Op[] = ['bad', 'unrelated', 'unrelated', 'revert', 'fail', 'repair', 'retry', 'wait', 'wait']

function act(world: World, op: Op, good: string, random: Random): void {
  const cluster = world.clusters.get(random.next() < 0.7 ? 'test' : 'prod') as SimCluster
  switch (op) {
    case 'bad':
      return world.commit({ ...world.content, [SET]: `bad-${world.fresh()}` })
    case 'unrelated':
      return world.commit({ ...world.content, [NOTE]: `n-${world.fresh()}` })
    case 'revert':
      return world.commit({ ...world.content, [SET]: good })
    case 'fail':
      // By itself, while no commit is on its way.
      if (world.newest.status?.phase === 'Succeeded') cluster.broken.add(`by-itself-${world.fresh()}`)
      return
    case 'repair':
      return cluster.broken.clear()
    case 'retry':
      world.retries.push(`hold-${world.fresh()}`)
      return
    case 'lose':
      cluster.baseline = undefined
      // The whole inventory, but not in the very second in which sync is killed as well.
      if (random.next() < 0.5 && world.newest.status?.clusters?.every((c) => c.phase !== 'Applying') === true) {
        cluster.inventory = {}
        cluster.mark = undefined
      }
      return
    case 'wait':
      return
  }
}

function check(world: World, seed: number): void {
  expect(isBad(world.clusters.get('prod')?.applied[SET]), `seed ${seed}: a bad version reached prod`).toBe(false)
  const { phase, waitingFor, clusters = [] } = world.newest.status ?? {}
  const isDoing = clusters.some((c) => c.phase === 'Applying' || c.phase === 'Verifying')
  if (phase === 'Paused') expect(waitingFor?.unblock, `seed ${seed}: stopped without saying why`).toMatch(/retry/)
  else if (phase === 'Progressing' && !isDoing) expect(waitingFor?.seen, `seed ${seed}`).toMatch(/./)
}

/** Runs a story, and returns the world in its final state. */
function story(seed: number, ops: readonly Op[]): World {
  const random = seededRandom(seed)
  const world = new World(random)
  for (let i = 0; i < STEPS; i++) {
    const op = ops[Math.floor(random.next() * ops.length)] ?? 'wait'
    const hadPassed = world.newest.status?.phase === 'Succeeded' && !isBad(world.content[SET])
    act(world, op, 'good-0', random)
    for (let n = Math.floor(random.next() * 20); n > 0; n--) {
      world.step()
      check(world, seed)
    }
    if (op !== 'unrelated' || !hadPassed) continue
    world.settle()
    expect(world.newest.status?.phase, `seed ${seed}: an unrelated commit was stopped by what is older`).toBe(
      'Succeeded',
    )
  }
  return world
}

const seeds = Array.from({ length: SEEDS }, (_, i) => i + 1)

describe('releases', () => {
  test('old failures, bad commits, unrelated ones, reverts, repairs and retries: a revert lifts every stop by itself', () => {
    for (const seed of seeds) {
      const world = story(seed, OPS)
      world.commit({ ...world.content, [SET]: 'good-0', [NOTE]: 'the end' })
      world.settle()
      expect(world.newest.status?.phase, `seed ${seed}: the revert was stopped`).toBe('Succeeded')
    }
  })

  test('baselines that get lost make nothing pass that should not, and a repair lifts what they stop', () => {
    for (const seed of seeds) {
      const random = seededRandom(seed)
      const world = new World(random)
      for (let i = 0; i < STEPS; i++) {
        const all: readonly Op[] = [...OPS, 'lose']
        act(world, all[Math.floor(random.next() * all.length)] ?? 'wait', 'good-0', random)
        for (let n = Math.floor(random.next() * 20); n > 0; n--) {
          world.step()
          check(world, seed)
        }
      }
      world.commit({ ...world.content, [SET]: 'good-0', [NOTE]: 'the end' })
      for (const cluster of world.clusters.values()) cluster.broken.clear()
      world.settle()
      expect(world.newest.status?.phase, `seed ${seed}: healthy, and stopped`).toBe('Succeeded')
    }
  })

  test('a bad commit is stopped however many unrelated commits follow, and says who broke it', () => {
    for (const seed of seeds.slice(0, 50)) {
      const world = new World(seededRandom(seed))
      world.settle()
      world.commit({ ...world.content, [SET]: 'bad-1' })
      for (let i = 0; i < 10; i++) {
        world.settle()
        const { status } = world.newest
        expect(status?.phase, `seed ${seed}`).toBe('Paused')
        if (i > 0) expect(status?.waitingFor?.seen, `seed ${seed}`).toContain('broke it')
        check(world, seed)
        world.commit({ ...world.content, [NOTE]: `n-${i}` })
      }
    }
  })
})
