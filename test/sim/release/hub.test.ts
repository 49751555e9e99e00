// F46: commits that change the hub, clusters or both, hubs that refuse an object for a while, reverts and kills between any two writes: nothing of a commit reaches
// a cluster before the hub has all of it, a commit for the hub alone moves no soak and makes no Release, and a revert ends where everything began.
import { expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import { fleetSource, type FleetSource } from '#api/kinds/fleet-source.ts'
import { releasePipeline, type ReleasePipeline } from '#api/kinds/release-pipeline.ts'
import type { Release } from '#api/kinds/release.ts'
import { applyDefaults } from '#api/schema/default.ts'
import type { RenderedTarget } from '#delivery/desired.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { type Random, seededRandom } from '#lib/random.ts'
import type { ApplyReport } from '#sync/cluster/apply.ts'
import { hubKey, plan, type SourceAction } from '#sync/hub/source/plan.ts'
import type { HubDone, Seen } from '#sync/hub/source/seen.ts'
import { isHubDone, statusOf, trackResults } from '#sync/hub/source/status.ts'
import { previousOf, soakedBefore } from '#sync/release/chain.ts'
import type { ClusterAnswer, SeenCluster } from '#sync/release/cluster-seen.ts'
import { isOver, openClusters } from '#sync/release/release-seen.ts'
import { planRelease } from '#sync/release/stages.ts'
import { HUB } from '#sync/release/tracks.ts'
import { returnsOf } from '#sync/revert/known-bad.ts'
import { UNDISTURBED } from '#test/support/fleets/undisturbed.ts'
import { inFull } from '#test/support/tools/full.ts'

const SEEDS = inFull(1_000, 300)
const COMMITS = 8
const SECOND = 1_000
/** Longer than every soak and deadline. */
const SETTLED = 150
const NAMES = ['test', 'prod'] as const

const { spec } = applyDefaults(releasePipeline.schema, {
  spec: {
    stages: NAMES.map((name) => ({ name, clusters: { names: [name] }, minSuccessTime: '6s', progressDeadline: '60s' })),
  },
}) as Pick<ReleasePipeline, 'spec'>
const pipeline = { spec } as ReleasePipeline

const SOURCE = {
  ...fleetSource.example,
  metadata: { name: 'fleet', namespace: 'infra', uid: 'u', generation: 1 },
  spec: { ...fleetSource.example.spec, tracks: [{ name: 'base', match: {}, pipelineRef: { name: 'all' } }] },
} as unknown as FleetSource

/** Numbers of what is declared. */
interface Content {
  readonly hub: number
  readonly test: number
  readonly prod: number
  /** The hub refuses one of its objects. */
  readonly isRefused: boolean
}
interface Commit {
  readonly id: string
  readonly content: Content
  readonly revertOf?: string
}
const START: Content = { hub: 0, test: 0, prod: 0, isRefused: false }

const objectsOf = (...names: readonly string[]): RenderedTarget => ({
  objects: names.map((name) => ({
    ref: { group: '', kind: 'ConfigMap', name: name.split(' ')[0] ?? '', namespace: 'x' },
    digest: name,
    object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } },
  })),
  rejected: [],
})

class Killed extends Error {}

class World {
  now = Date.parse('2026-01-31T12:00:00Z')
  source = SOURCE
  chain: Release[] = []
  /** What is there. */
  onHub: Content | undefined
  readonly onClusters = new Map<string, number>()
  readonly commits: Commit[] = []
  /** Memory of the process. */
  #hubDone = new Map<string, HubDone>()
  /** Commits of which the hub once had everything. */
  readonly #complete = new Set<string>()
  readonly #soaks = new Map<string, string>()
  readonly #random: Random
  readonly #seed: number

  constructor(seed: number) {
    this.#seed = seed
    this.#random = seededRandom(seed)
    this.commit(START)
  }

  get newest(): Commit {
    return this.commits.at(-1) as Commit
  }

  commit(content: Content, revertOf?: string): void {
    const id = String(this.commits.length + 1).padStart(40, '0')
    this.commits.push({ id, content, ...defined({ revertOf }) })
  }

  step(): void {
    this.#orKilled(() => this.#followSource())
    for (const release of this.chain) if (!isOver(release)) this.#orKilled(() => this.#followRelease(release))
    this.now += SECOND
  }

  settle(): void {
    for (let i = 0; i < SETTLED && !this.isSettled; i++) this.step()
  }

  /** The commit of the newest record of the hub. */
  get recorded(): string | undefined {
    return this.source.status?.hub?.[0]?.commit
  }

  get isSettled(): boolean {
    const { content } = this.newest
    const isThere =
      this.onHub?.hub === content.hub && NAMES.every((name) => this.onClusters.get(name) === content[name])
    return isThere && this.source.status?.hub?.[0]?.phase === 'Succeeded' && this.chain.every((r) => isOver(r))
  }

  /** Completed writes stay, and memory is lost. */
  #orKilled(work: () => void): void {
    try {
      work()
    } catch (error) {
      if (!(error instanceof Killed)) throw error
      this.#hubDone = new Map()
    }
  }

  #mayBeKilled(): void {
    if (this.#random.next() < 0.04) throw new Killed()
  }

  #followSource(): void {
    const { id, content, revertOf } = this.newest
    const commit = { id, ...defined({ revertOf }) }
    const targets = new Map([
      [HUB, objectsOf(`a ${content.hub}`, ...(content.isRefused ? ['refused'] : []))],
      ...NAMES.map((name) => [name, objectsOf(`a ${content[name]}`)] as const),
    ])
    const tracks = new Map([['base', targets]])
    const more = { targets: 3, objects: 3, problems: [], isCageWeak: false, retired: [] }
    const seen: Seen = {
      source: this.source,
      commit,
      declared: { kind: 'Declared', commit, tracks, ...more },
      releases: this.chain,
      pipelines: { get: () => pipeline },
      clusters: { get: ({ name }) => ({ metadata: { name } }) as Cluster },
      approved: new Map(),
      hubDone: this.#hubDone,
    }
    const planned = plan(seen, this.now)
    const results = planned.actions.map((action) => ({
      action,
      outcome: { kind: 'Applied' as const, object: this.#act(action) },
    }))
    this.#mayBeKilled()
    const status = statusOf(seen, trackResults(planned, results), { releases: this.chain, now: this.now })
    this.source = { ...this.source, status }
  }

  #act(action: SourceAction): ApplyReport | undefined {
    this.#mayBeKilled()
    if (action.kind === 'CreateRelease') this.#create(action.release as Release)
    if (action.kind !== 'ApplyToHub') return undefined
    const { id, content } = this.newest
    const applied = this.onHub?.hub === content.hub ? 0 : 1
    this.onHub = content
    const failures = content.isRefused ? ['ConfigMap/x/refused: forbidden'] : []
    const answer = { kind: 'Seen', isApplied: failures.length === 0, failures }
    const plan = { operations: [] }
    const report = { answer, plan, result: { applied, pruned: 0, failures: [] } } as unknown as ApplyReport
    const key = hubKey(this.source, action.track)
    if (isHubDone(report)) {
      this.#complete.add(id)
      this.#hubDone.set(key, { stamp: action.order.stamp, at: this.now })
    } else this.#hubDone.delete(key)
    return report
  }

  #create(release: Release): void {
    const before = this.chain.at(-1)?.spec.digests
    expect(release.spec.digests, `seed ${this.#seed}: a Release that changes no cluster`).not.toEqual(before)
    const metadata = { ...release.metadata, creationTimestamp: timestamp(this.now) }
    if (this.chain.every((r) => r.metadata.name !== metadata.name)) this.chain.push({ ...release, metadata })
  }

  #followRelease(release: Release): void {
    const isOld = release !== this.chain.at(-1)
    const asked = new Set(isOld ? [] : openClusters(release))
    const returns = returnsOf(this.chain, release)
    const clusters = NAMES.map((name): [string, SeenCluster] => [
      name,
      {
        name,
        labels: {},
        digest: release.spec.digests[name] ?? '',
        answer: asked.has(name) ? this.#apply(release, name, returns) : undefined,
        previous: previousOf(this.chain, release, name),
        soaked: soakedBefore(this.chain, release, name),
        isReturn: returns.has(name),
      },
    ])
    this.#mayBeKilled()
    const seen = {
      ...UNDISTURBED,
      release,
      pipeline: spec,
      clusters: new Map(clusters),
      newer: isOld ? 'x' : undefined,
    }
    const { status } = planRelease(seen, this.now)
    this.chain[this.chain.indexOf(release)] = { ...release, status }
    for (const { name, phase, soakUntil } of status.stages ?? []) this.#checkSoak(release, name, phase, soakUntil)
  }

  /** Every cluster is healthy all the time: nothing but another Release moves the end of a soak. */
  #checkSoak({ metadata }: Release, stage: string, phase: string, until: string | undefined): void {
    if (phase !== 'Soaking' || until === undefined) return
    const key = `${metadata.name ?? ''} ${stage}`
    expect(until, `seed ${this.#seed}: the soak of ${key} was moved`).toBe(this.#soaks.get(key) ?? until)
    this.#soaks.set(key, until)
  }

  #apply({ spec: { commit } }: Release, name: string, returns: ReadonlySet<string>): ClusterAnswer {
    this.#mayBeKilled()
    const { content } = this.commits.find((c) => c.id === commit) as Commit
    const number = content[name as 'test']
    const isChange = this.onClusters.get(name) !== number
    if (isChange && !returns.has(name))
      expect(this.#complete.has(commit), `seed ${this.#seed}: ${name} got ${commit} before the hub had it`).toBe(true)
    this.onClusters.set(name, number)
    const nothing = { failures: [], failing: [], machines: 1, baseline: undefined, readings: {} }
    return { kind: 'Seen', isApplied: true, ...nothing }
  }
}

function next(world: World, random: Random): void {
  const { content, id } = world.newest
  const number = 1 + random.below(1_000_000)
  switch (random.below(6)) {
    case 0:
      return world.commit({ ...content, hub: number, isRefused: false })
    case 1:
      return world.commit({ ...content, hub: number, isRefused: true })
    case 2:
      return world.commit({ ...content, test: number, prod: number })
    case 3:
      return world.commit({ ...content, prod: number })
    case 4:
      return world.commit({ hub: number, test: number, prod: number, isRefused: random.below(3) === 0 })
    default:
      return world.commit(world.commits.at(-2)?.content ?? content, id)
  }
}

test(`the hub first, in any order of commits and kills (${SEEDS} seeds)`, () => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const random = seededRandom(seed + 1_000_000)
    const world = new World(seed)
    for (let i = 0; i < COMMITS; i++) {
      for (let n = random.below(25); n > 0; n--) world.step()
      next(world, random)
    }
    // Clusters that a refused commit changed got nothing of it; one that mends the hub passes.
    world.commit({ ...world.newest.content, isRefused: false, hub: -seed })
    world.settle()
    expect(world.isSettled, `seed ${seed}: it never settled`).toBe(true)
    // Sync may have been killed right after the last write: the next pass records it.
    for (let i = 0; i < SETTLED && world.recorded !== world.newest.id; i++) world.step()
    expect(world.recorded, `seed ${seed}: no record of the hub`).toBe(world.newest.id)

    // For the hub alone: no Release more.
    const releases = world.chain.length
    world.commit({ ...world.newest.content, hub: seed })
    world.settle()
    expect(world.isSettled && world.chain.length, `seed ${seed}: a commit for the hub alone`).toBe(releases)

    world.commit(START, world.newest.id)
    world.settle()
    expect(world.onHub, `seed ${seed}: a revert`).toEqual(START)
    expect([...world.onClusters.values()], `seed ${seed}: a revert`).toEqual([0, 0])
  }
})
