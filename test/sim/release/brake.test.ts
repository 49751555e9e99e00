// Two tracks over six clusters, a budget of two for the fleet, clusters that do not answer, clocks that are behind, and a hub that is away: never more clusters
// that may begin a slice than the budget, never more control planes that change, and everything converges.
import { expect, test } from 'vitest'
import type { Cluster } from '#api/kinds/cluster.ts'
import type { Turn } from '#api/kinds/fleet-brake.ts'
import { releasePipeline, type ReleasePipelineSpec } from '#api/kinds/release-pipeline.ts'
import type { Release } from '#api/kinds/release.ts'
import { applyDefaults } from '#api/schema/default.ts'
import type { Failure } from '#delivery/failures.ts'
import { seededRandom, type Random } from '#lib/random.ts'
import { sha256OfJson } from '#lib/sha256.ts'
import type { Evidence } from '#sync/brake/evidence.ts'
import { needsOf } from '#sync/brake/needs.ts'
import { planTurns, turnFor } from '#sync/brake/turns.ts'
import { previousOf, soakedBefore } from '#sync/release/chain.ts'
import type { ClusterAnswer, SeenCluster } from '#sync/release/cluster-seen.ts'
import { isOver, openClusters } from '#sync/release/release-seen.ts'
import { planRelease } from '#sync/release/stages.ts'
import { inFull } from '#test/support/tools/full.ts'

const SEEDS = inFull(1_000, 25)
const NAMES = ['c-1', 'c-2', 'c-3', 'c-4', 'c-5', 'c-6']
const TRACKS = ['planes', 'apps'] as const
type Track = (typeof TRACKS)[number]
const MAX = 2
const STEP_MS = 15_000
/** Longer than turns, deadlines and outages together. */
const SETTLED = 600

const { spec: pipeline } = applyDefaults(releasePipeline.schema, {
  spec: {
    stages: [
      {
        name: 'all',
        clusters: { names: NAMES },
        maxConcurrency: NAMES.length,
        minSuccessTime: '10s',
        progressDeadline: '24h',
        offlineDeadline: '24h',
      },
    ],
  },
}) as { spec: ReleasePipelineSpec }

interface SimCluster {
  /** Declared and running numbers of the control plane. */
  wanted: number
  running: number
  /** Declared and running numbers of what is on nodes; a slice brings it there. */
  declared: number
  rolled: number
  slice: 'None' | 'Waiting' | 'Open'
  isUnreachable: boolean
  /** The copy of the brake. */
  turns: readonly Turn[]
  readonly clockMs: number
}

class World {
  now = Date.parse('2026-01-31T12:00:00Z')
  isHubAway = false
  turns: readonly Turn[] = []
  readonly chains = new Map<Track, Release[]>(TRACKS.map((track) => [track, []]))
  readonly content = new Map<Track, number>()
  readonly clusters: ReadonlyMap<string, SimCluster>
  readonly #random: Random
  readonly #seed: number
  readonly #evidences = new Map<string, Evidence | undefined>()
  readonly #returned = new Set<string>()

  constructor(seed: number) {
    this.#seed = seed
    this.#random = seededRandom(seed)
    this.clusters = new Map(NAMES.map((name) => [name, this.#cluster()]))
  }

  #cluster(): SimCluster {
    const clockMs = -this.#random.below(100_000)
    const none = { wanted: 0, running: 0, declared: 0, rolled: 0, isUnreachable: false, turns: [] }
    return { ...none, slice: 'None', clockMs }
  }

  commit(track: Track): void {
    const number = (this.content.get(track) ?? 0) + 1
    this.content.set(track, number)
    const chain = this.chains.get(track) as Release[]
    const digests = Object.fromEntries(NAMES.map((c) => [c, sha256OfJson([track, number])]))
    const last = chain.at(-1)?.metadata.name
    const spec = { source: 's', track, pipeline: 'p', commit: String(number).padStart(40, '0'), digests }
    chain.push({
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Release',
      metadata: { name: `${track}-${number}`, namespace: 'fleet' },
      spec: last === undefined ? spec : { ...spec, previous: last },
    })
  }

  step(hasFaults: boolean): void {
    const random = this.#random
    this.isHubAway = hasFaults && (this.isHubAway ? random.next() > 0.01 : random.next() < 0.002)
    for (const each of this.clusters.values())
      each.isUnreachable = hasFaults && (each.isUnreachable ? random.next() > 0.05 : random.next() < 0.01)
    if (!this.isHubAway) this.#hub()
    for (const each of this.clusters.values()) this.#work(each)
    this.#check()
    this.now += STEP_MS
  }

  get summary(): string {
    const releases = [...this.chains.values()]
      .flat()
      .map(({ metadata, status }) => [
        metadata.name,
        status?.phase,
        ...(status?.clusters ?? []).map((c) => [c.name, c.phase, c.waitingFor?.predicate].join(' ')),
      ])
    return JSON.stringify([this.turns, releases, [...this.clusters]])
  }

  get isSettled(): boolean {
    const isQuiet = [...this.clusters.values()].every(
      (c) => c.running === (this.content.get('planes') ?? 0) && c.rolled === (this.content.get('apps') ?? 0),
    )
    return isQuiet && [...this.chains.values()].every((chain) => chain.every((r) => isOver(r)))
  }

  #hub(): void {
    for (const chain of this.chains.values()) {
      for (const before of chain.slice(0, -1)) if (!isOver(before)) this.#reconcile(chain, before, true)
      const newest = chain.at(-1)
      if (newest !== undefined && !isOver(newest)) this.#reconcile(chain, newest, false)
    }
    this.#decide()
    for (const [name, each] of this.clusters) {
      if (this.#random.next() < 0.5) continue
      this.#evidences.set(name, each.isUnreachable ? undefined : evidenceOf(each))
      this.#decide()
      if (each.isUnreachable) continue
      const turns = turnFor(this.turns, `fleet/${name}`, this.#needs().has(`fleet/${name}`))
      if (turns.length > 0) this.#returned.delete(`fleet/${name}`)
      // Killed between the object on the hub and the copy, and after the copy.
      if (this.#random.next() < 0.05) continue
      each.turns = turns
      if (this.#random.next() < 0.05) continue
      if (turns.length === 0) this.#returned.add(`fleet/${name}`)
    }
    this.#decide()
  }

  #needs() {
    const clusters = [...this.clusters].map(
      ([name, c]) =>
        ({
          metadata: { namespace: 'fleet', name },
          status: c.running === c.wanted ? { phase: 'Ready' } : { phase: 'Upgrading' },
        }) as unknown as Cluster,
    )
    const evidences = new Map([...this.#evidences].map(([name, e]) => [`fleet/${name}`, e]))
    return needsOf({ releases: [...this.chains.values()].flat(), clusters, evidences })
  }

  #decide(): void {
    this.turns = planTurns(
      {
        before: this.turns,
        needs: this.#needs(),
        isReturned: (cluster) => this.#returned.has(cluster),
        isThere: () => true,
        max: MAX,
      },
      this.now,
    )
  }

  #reconcile(chain: Release[], release: Release, isOld: boolean): void {
    const asked = new Set(isOld ? [] : openClusters(release))
    const clusters = new Map<string, SeenCluster>()
    for (const name of NAMES)
      clusters.set(name, {
        name,
        labels: {},
        digest: release.spec.digests[name] ?? '',
        answer: asked.has(name) ? this.#pass(release.spec.track as Track, name) : undefined,
        previous: previousOf(chain, release, name),
        soaked: soakedBefore(chain, release, name),
        isReturn: false,
      })
    if (this.#random.next() < 0.05) return
    const seen = {
      release,
      pipeline,
      clusters,
      newer: isOld ? 'newer' : undefined,
      paused: undefined,
      sight: { approvedBy: [], checks: new Map(), surveys: new Map() },
      retries: [],
      promotions: [],
      braked: (cluster: string) =>
        this.turns.some((t) => t.cluster === `fleet/${cluster}`)
          ? undefined
          : ({ predicate: 'FleetBudget', seen: 'as many change', unblock: 'one has finished' } as const),
    }
    chain[chain.indexOf(release)] = { ...release, status: planRelease(seen, this.now).status }
  }

  #pass(track: Track, name: string): ClusterAnswer {
    const each = this.clusters.get(name) as SimCluster
    const number = this.content.get(track) ?? 0
    if (track === 'planes') {
      each.wanted = number
      return answerOf(each.running === number ? [] : [failing('ControlPlaneChanging')])
    }
    if (each.isUnreachable) return { kind: 'Unreachable', because: 'ApiServerDown', message: 'no answer' }
    each.declared = number
    return answerOf(each.rolled === number ? [] : [failing('FleetBudget')])
  }

  #work(each: SimCluster): void {
    if (each.running !== each.wanted && this.#random.next() < 0.2) each.running = each.wanted
    if (each.slice === 'Open') {
      if (this.#random.next() > 0.2) return
      each.slice = 'None'
      each.rolled = each.declared
    }
    if (each.rolled !== each.declared) each.slice = this.#hasTurn(each) ? 'Open' : 'Waiting'
  }

  #hasTurn = ({ turns, clockMs }: SimCluster): boolean =>
    turns.some(({ until }) => this.now + clockMs < Date.parse(until))

  #check(): void {
    const where = `seed ${this.#seed} at ${new Date(this.now).toISOString()}`
    const all = [...this.clusters.values()]
    expect(all.filter((c) => this.#hasTurn(c)).length, `${where}: clusters that may begin`).toBeLessThanOrEqual(MAX)
    expect(all.filter((c) => c.running !== c.wanted).length, `${where}: control planes`).toBeLessThanOrEqual(MAX)
    expect(this.turns.length, where).toBeLessThanOrEqual(MAX)
  }
}

const evidenceOf = ({ slice }: SimCluster): Evidence => ({
  failed: [],
  repairs: new Map(),
  openSlices: slice === 'Open' ? 1 : 0,
  waitingSlices: slice === 'Waiting' ? 1 : 0,
})

const failing = (outside: 'ControlPlaneChanging' | 'FleetBudget'): Failure => ({
  object: 'set',
  state: 'InProgress',
  reason: outside,
  message: outside,
  outside,
})

const answerOf = (trouble: readonly Failure[]): ClusterAnswer => ({
  kind: 'Seen',
  isApplied: true,
  failures: [],
  failing: trouble,
  machines: 2,
  baseline: undefined,
  readings: {},
})

test.each(Array.from({ length: SEEDS }, (_, i) => i + 1))(
  'never more than two clusters change, and all get there (seed %i)',
  (seed) => {
    const random = seededRandom(seed)
    const world = new World(seed)
    for (let i = 0; i < 4; i++) {
      world.commit(random.below(2) === 0 ? 'planes' : 'apps')
      for (let n = random.below(80); n > 0; n--) world.step(true)
    }
    for (let i = 0; i < SETTLED && !world.isSettled; i++) world.step(false)
    expect(world.isSettled, `seed ${seed}: ${world.summary}`).toBe(true)
  },
)
