// Releases through three stages while clusters go away and come late, gates open and close, commits supersede each other and revert, with the functions that plan
// real releases. At every step: no wait without a reason, nothing past a failed gate or an open stage; and once the weather is good, an end.
import { describe, expect, test } from 'vitest'
import { releasePipeline, type ReleasePipelineSpec } from '#api/kinds/release-pipeline.ts'
import type { Release, ReleaseStatus } from '#api/kinds/release.ts'
import { defined } from '#lib/defined.ts'
import { seededRandom, type Random } from '#lib/random.ts'
import { applyDefaults } from '#api/schema/default.ts'
import { contentDigest } from '#sync/release/baseline.ts'
import { previousOf, soakedBefore } from '#sync/release/chain.ts'
import { isLeftUnderway } from '#sync/release/history.ts'
import type { ClusterAnswer, SeenCluster } from '#sync/release/cluster-seen.ts'
import { checksFor } from '#sync/release/stage-gates.ts'
import { openClusters, isOver, type ReleasePlan } from '#sync/release/release-seen.ts'
import { planRelease } from '#sync/release/stages.ts'
import { returnsOf } from '#sync/revert/known-bad.ts'
import { inFull } from '#test/support/tools/full.ts'

const SEEDS = inFull(1_000, 40)
const STEPS = 80
const SECOND = 1_000
/** More than all deadlines and soaks of the pipeline one after the other. */
const SETTLED = 400

const STAGES = { test: ['t1'], pre: ['p1', 'p2'], prod: ['q1', 'q2', 'q3'] } as const
const NAMES = Object.values(STAGES).flat()
const { spec: pipeline } = applyDefaults(releasePipeline.schema, {
  spec: {
    stages: Object.entries(STAGES).map(([name, clusters]) => ({
      name,
      clusters: { names: [...clusters] },
      minSuccessTime: '4s',
      progressDeadline: '30s',
      offlineDeadline: '20s',
      maxConcurrency: 2,
      ...(name === 'prod' && { before: [{ name: 'board', timeout: '40s', approval: { from: ['bob'] } }] }),
      ...(name !== 'prod' && {
        after: [{ name: 'shop', timeout: '25s', http: { url: 'https://shop.example.org/', expectedStatus: 200 } }],
      }),
    })),
  },
}) as { spec: ReleasePipelineSpec }

type Status = ReleaseStatus
type StageName = keyof typeof STAGES

interface SimCluster {
  isOnline: boolean
  /** A cluster that the hub does not have yet. */
  isThere: boolean
  applied: string | undefined
}

class World {
  now = Date.parse('2026-01-31T12:00:00Z')
  readonly clusters = new Map(
    NAMES.map((name): [string, SimCluster] => [name, { isOnline: true, isThere: true, applied: undefined }]),
  )
  readonly chain: Release[] = []
  /** By name of the Release: its version. */
  readonly versions = new Map<string, string>()
  retries: readonly string[] = []
  isShopUp = true
  isApproved = true
  isPaused = false
  #names = 0

  constructor() {
    this.commit('good-0')
  }

  get newest(): Release {
    return this.chain.at(-1) as Release
  }

  versionOf = ({ metadata }: Release): string => this.versions.get(metadata.name ?? '') ?? ''

  fresh = (): string => String(++this.#names)

  commit(version: string, revertOf?: string): void {
    const last = this.chain.at(-1)
    if (last !== undefined && this.versionOf(last) === version) return
    const id = this.fresh()
    const name = `r-${id}`
    const digest = contentDigest(new Map([[version, undefined]]))
    this.versions.set(name, version)
    this.chain.push({
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Release',
      metadata: { name, namespace: 'n', creationTimestamp: new Date(this.now).toISOString() },
      spec: {
        source: 's',
        track: 't',
        pipeline: 'p',
        commit: id.padStart(40, '0'),
        digests: Object.fromEntries(NAMES.map((c) => [c, digest])),
        ...defined({ previous: last?.metadata.name, revertOf }),
      },
    })
  }

  step(): void {
    const superseded = this.chain.at(-2)
    for (const release of [superseded, this.newest])
      if (release !== undefined && !isOver(release)) this.#reconcile(release, release === superseded)
    this.now += SECOND
  }

  #reconcile(release: Release, isOld: boolean): void {
    const { status } = release
    const asked = new Set(isOld ? [] : openClusters(release))
    const returns = returnsOf(this.chain, release)
    const underway = new Set(NAMES.filter((name) => isLeftUnderway(this.chain, release, name)))
    const looks = checksFor(status ?? {}, pipeline).map(
      ({ key }) =>
        [key, { value: { holds: this.isShopUp, seen: this.isShopUp ? '200' : '503' }, at: this.now }] as const,
    )
    const clusters = NAMES.map((name): [string, SeenCluster] => [
      name,
      {
        name,
        labels: this.clusters.get(name)?.isThere === true ? {} : undefined,
        digest: release.spec.digests[name] ?? '',
        answer: asked.has(name) ? this.#look(release, name) : undefined,
        previous: previousOf(this.chain, release, name),
        soaked: soakedBefore(this.chain, release, name),
        isReturn: returns.has(name),
        isUnderway: underway.has(name),
      },
    ])
    const reverting = isOld && this.newest.spec.revertOf === release.spec.commit
    const plan = planRelease(
      {
        release,
        pipeline,
        clusters: new Map(clusters),
        newer: isOld ? this.newest.metadata.name : undefined,
        paused: this.isPaused && !isOld ? 'ada holds it: testing' : undefined,
        sight: {
          approvedBy: this.isApproved ? [{ by: 'bob', groups: [] }] : [],
          checks: new Map(looks),
          surveys: new Map(),
        },
        retries: this.retries,
        promotions: [],
        revertedBy: reverting ? this.newest.spec.commit : undefined,
      },
      this.now,
    )
    if (!isOld) check(status, plan, underway)
    this.chain[this.chain.indexOf(release)] = { ...release, status: plan.status }
  }

  #look(release: Release, name: string): ClusterAnswer {
    const cluster = this.clusters.get(name) as SimCluster
    if (!cluster.isThere)
      return { kind: 'Unreachable', because: 'ReferenceMissing', message: `Cluster ${name} not found on the hub` }
    if (!cluster.isOnline) return { kind: 'Unreachable', because: 'ApiServerDown', message: 'no route to host' }
    cluster.applied = this.versionOf(release)
    const isBad = cluster.applied.startsWith('bad')
    const failing = isBad
      ? [{ object: 'Set/base', uid: 'u', state: 'Failed' as const, reason: 'Blocked', message: 'blocked', digest: 'd' }]
      : []
    return {
      kind: 'Seen',
      isApplied: true,
      failures: [],
      failing,
      machines: 10,
      baseline: undefined,
      readings: { repairs: [] },
    }
  }
}

const stageNamed = (status: Status | undefined, name: string) => status?.stages?.find((s) => s.name === name)
const BEGUN: ReadonlySet<string> = new Set(['Applying', 'Verifying'])

/** The invariants of one pass over the newest Release. */
function check(
  before: Status | undefined,
  { status, isOver: ended, requeueAfter }: ReleasePlan,
  underway: ReadonlySet<string> = new Set(),
): void {
  const stages = status.stages ?? []
  const text = JSON.stringify(status)
  // A pass is always due: nothing waits to be woken by an event that may be lost.
  if (!ended) expect(requeueAfter, text).toBeGreaterThan(0)
  if (status.phase === 'Paused' || (status.phase === 'Progressing' && !stages.some(isMoving)))
    expect(status.waitingFor, `waits without a reason: ${text}`).toBeDefined()
  for (const wait of [status.waitingFor, ...stages.map((s) => s.waitingFor)])
    if (wait !== undefined) {
      expect(wait.predicate, text).not.toBe('')
      expect(
        [wait.seen ?? '', wait.unblock ?? ''].every((t) => t !== ''),
        `a wait says nothing: ${text}`,
      ).toBe(true)
    }
  for (const [n, stage] of stages.entries()) {
    const earlier = stages.slice(0, n)
    const wasOpen = stageNamed(before, stage.name)?.startedAt !== undefined
    const begins = (status.clusters ?? []).some(
      (c) =>
        c.stage === stage.name &&
        // A commit that is reverted while it is rolled out is reverted in all stages at once.
        !underway.has(c.name) &&
        BEGUN.has(c.phase) &&
        !BEGUN.has(before?.clusters?.find((b) => b.name === c.name)?.phase ?? ''),
    )
    if (begins && !wasOpen)
      for (const other of earlier)
        expect(other.phase, `${stage.name} began before ${other.name}: ${text}`).toBe('Succeeded')
    const failed = (stage.gates ?? []).filter((g) => g.phase === 'Failed')
    if (failed.length > 0) {
      expect(stage.phase, `past the failed gate ${failed[0]?.name}: ${text}`).toBe('Failed')
      expect(begins && !wasOpen, text).toBe(false)
    }
    if (stage.phase === 'Succeeded')
      for (const gate of stage.gates ?? []) expect(gate.phase, `succeeded before its gate: ${text}`).toBe('Passed')
  }
}

const isMoving = ({ phase }: { readonly phase: string }): boolean => phase === 'Progressing' || phase === 'Soaking'

const OPS = [
  'good',
  'bad',
  'revert',
  'offline',
  'offline',
  'online',
  'leave',
  'join',
  'shop',
  'board',
  'pause',
  'retry',
] as const

function act(world: World, random: Random): void {
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random.next() * all.length)] as T
  const cluster = world.clusters.get(pick(NAMES)) as SimCluster
  switch (pick(OPS)) {
    case 'good':
      return world.commit(`good-${world.fresh()}`)
    case 'bad':
      return world.commit(`bad-${world.fresh()}`)
    case 'revert': {
      const before = world.chain.at(-2)
      return before === undefined ? undefined : world.commit(world.versionOf(before), world.newest.spec.commit)
    }
    case 'offline':
      return void (cluster.isOnline = false)
    case 'online':
      return void (cluster.isOnline = true)
    case 'leave':
      return void (cluster.isThere = false)
    case 'join':
      return void (cluster.isThere = true)
    case 'shop':
      return void (world.isShopUp = !world.isShopUp)
    case 'board':
      return void (world.isApproved = !world.isApproved)
    case 'pause':
      return void (world.isPaused = !world.isPaused)
    case 'retry':
      return void (world.retries = [...world.retries, `retry-${world.fresh()}`].slice(-16))
  }
}

function clearUp(world: World): void {
  for (const c of world.clusters.values()) Object.assign(c, { isOnline: true, isThere: true })
  Object.assign(world, { isShopUp: true, isApproved: true, isPaused: false })
}

function settle(world: World): void {
  for (let i = 0; i < SETTLED && !isOver(world.newest); i++) world.step()
}

const resultOf = (world: World) => ({
  phase: world.newest.status?.phase,
  applied: Object.fromEntries([...world.clusters].map(([name, c]) => [name, c.applied])),
})
const everywhere = (version: string) => Object.fromEntries(NAMES.map((name) => [name, version]))

describe('whatever the weather was', () => {
  test.each(Array.from({ length: SEEDS }, (_, seed) => seed))(
    'seed %i: a good commit ends in every cluster, a bad one in the first stage with a reason, a revert brings back what was',
    (seed) => {
      const world = new World()
      const random = seededRandom(seed)
      for (let i = 0; i < STEPS; i++) {
        if (random.next() < 0.3) act(world, random)
        world.step()
      }
      clearUp(world)
      world.commit(`good-${world.fresh()}`)
      const good = world.versionOf(world.newest)
      settle(world)
      expect(resultOf(world)).toEqual({ phase: 'Succeeded', applied: everywhere(good) })

      world.commit(`bad-${world.fresh()}`)
      const { commit } = world.newest.spec
      settle(world)
      expect(world.newest.status).toMatchObject({ phase: 'Paused', waitingFor: { predicate: 'StageFailed' } })
      expect(resultOf(world).applied).toEqual({ ...everywhere(good), t1: world.versionOf(world.newest) })

      world.commit(good, commit)
      settle(world)
      expect(resultOf(world)).toEqual({ phase: 'Succeeded', applied: everywhere(good) })
      expect(world.chain.at(-2)?.status).toMatchObject({ phase: 'Reverted', revertCommit: world.newest.spec.commit })
    },
  )
})

const LATE: StageName = 'prod'

test('a cluster that stays away is left behind after its deadline, and catches up when it comes back', () => {
  const world = new World()
  settle(world)
  const away = world.clusters.get(STAGES[LATE][1]) as SimCluster
  away.isOnline = false
  world.commit('good-late')
  settle(world)
  expect(world.newest.status?.clusters?.find((c) => c.name === STAGES[LATE][1])).toMatchObject({
    phase: 'Offline',
    skipped: true,
  })
  expect([world.newest.status?.phase, away.applied]).toEqual(['Succeeded', 'good-0'])
  away.isOnline = true
  settle(world)
  for (let i = 0; i < SETTLED && away.applied !== 'good-late'; i++) world.step()
  expect(away.applied).toBe('good-late')
})

test.each([
  ['a revert', true],
  ['a branch that is set back', false],
])(
  '%s goes at once to the clusters in which the other commit is rolled out, and in order to those that have it',
  (_, isRevert) => {
    const world = new World()
    settle(world)
    world.commit('good-next')
    const { commit } = world.newest.spec
    const phaseIn = (name: string) => world.newest.status?.clusters?.find((c) => c.name === name)?.phase
    for (let i = 0; i < SETTLED && phaseIn('q1') !== 'Applying'; i++) world.step()
    expect([phaseIn('p1'), phaseIn('q1'), phaseIn('q3')]).toEqual(['Healthy', 'Applying', 'Waiting'])
    world.commit('good-0', isRevert ? commit : undefined)
    world.step()
    expect(NAMES.map(phaseIn)).toEqual(['Applying', 'Waiting', 'Waiting', 'Applying', 'Applying', 'Waiting'])
    settle(world)
    expect(resultOf(world)).toEqual({ phase: 'Succeeded', applied: everywhere('good-0') })
  },
)

test('a hold neither opens a failed gate nor takes the end of a release away', () => {
  const world = new World()
  world.isShopUp = false
  const stageOf = () => stageNamed(world.newest.status, 'test')?.phase
  for (let i = 0; i < SETTLED && stageOf() !== 'Failed'; i++) world.step()
  world.isPaused = true
  world.step()
  expect([stageOf(), world.newest.status?.waitingFor?.predicate]).toEqual(['Failed', 'HoldPause'])

  const other = new World()
  const away = other.clusters.get(STAGES[LATE][1]) as SimCluster
  away.isOnline = false
  for (let i = 0; i < SETTLED && other.newest.status?.phase !== 'Succeeded'; i++) other.step()
  other.isPaused = true
  other.step()
  expect(other.newest.status?.phase).toBe('Succeeded')
})

test('the check finds a wait without a reason, and a stage that begins early', () => {
  const plan = (status: Status): ReleasePlan => ({ status, isOver: false, requeueAfter: 1 })
  expect(() => check(undefined, plan({ phase: 'Paused' }))).toThrow(/without a reason/)
  const since = '2026-01-31T12:00:00Z'
  const early: Status = {
    phase: 'Progressing',
    stages: [
      { name: 'test', phase: 'Progressing' },
      { name: 'pre', phase: 'Progressing' },
    ],
    clusters: [{ name: 'p1', stage: 'pre', phase: 'Applying', since }],
  }
  expect(() => check(undefined, plan(early))).toThrow(/pre began before test/)
})
