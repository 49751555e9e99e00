import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { releasePipeline, type ReleasePipelineSpec } from '#api/kinds/release-pipeline.ts'
import type { Release, ReleaseStatus } from '#api/kinds/release.ts'
import { timestamp } from '#lib/clock.ts'
import { applyDefaults } from '#api/schema/default.ts'
import { UNDISTURBED } from '#test/support/fleets/undisturbed.ts'
import type { ClusterAnswer, SeenCluster } from './cluster-seen.ts'
import { openClusters, isOver, type ReleaseSeen } from './release-seen.ts'
import { planRelease } from './stages.ts'
import { defined } from '#lib/defined.ts'

const T0 = Date.parse('2026-01-31T12:00:00Z')
const S = 1_000

const pipelineOf = (stages: readonly object[]): ReleasePipelineSpec =>
  (applyDefaults(releasePipeline.schema, { spec: { stages } }) as { spec: ReleasePipelineSpec }).spec

const stage = (name: string, names: readonly string[], more: object = {}) => ({
  name,
  clusters: { names },
  minSuccessTime: '10s',
  progressDeadline: '1m',
  offlineDeadline: '30s',
  ...more,
})

const by = (...people: readonly string[]) => people.map((name) => ({ by: name, groups: [] }))

const digestOf = (name: string) => `digest-${name}`

const releaseOf = ({ names, spec }: Pick<World, 'names' | 'spec'>, status?: ReleaseStatus): Release => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Release',
  metadata: { name: 'r', namespace: 'n' },
  spec: {
    source: 's',
    track: 't',
    pipeline: 'p',
    commit: 'c'.repeat(40),
    digests: Object.fromEntries(names.map((n) => [n, digestOf(n)])),
    ...spec,
  },
  ...defined({ status }),
})

const well: ClusterAnswer = {
  kind: 'Seen',
  isApplied: true,
  failures: [],
  failing: [],
  machines: 10,
  baseline: undefined,
  readings: { machines: { total: 10, notReady: [], inconsistent: [], skipped: [] }, repairs: [] },
}
const failing = (state: 'Failed' | 'InProgress', message: string): ClusterAnswer => ({
  ...well,
  failing: [{ object: 'MachineSet.kubenode.io/workers', state, reason: 'x', message }],
})
const working = failing('InProgress', '1 of 2')
const broken = failing('Failed', 'it is Paused')
const refused: ClusterAnswer = { ...well, isApplied: false, failures: ['ConfigMap/x: no'] }
const silent: ClusterAnswer = { kind: 'Unreachable', because: 'ApiServerDown', message: 'connect ECONNREFUSED' }
const unauthorized: ClusterAnswer = {
  kind: 'Unreachable',
  because: 'CredentialsInvalid',
  message: 'KN2401: Unauthorized',
}

interface World {
  readonly pipeline: ReleasePipelineSpec
  readonly names: readonly string[]
  readonly previous?: Readonly<Record<string, SeenCluster['previous']>>
  risks?: Readonly<Record<string, SeenCluster['risks']>>
  readonly returns?: readonly string[]
  readonly spec?: Pick<Release['spec'], 'revert' | 'after'>
}

class Story {
  readonly #world: World
  status: ReleaseStatus | undefined
  requeueAfter: number | undefined
  now = T0

  constructor(world: World) {
    this.#world = world
  }

  get world(): World {
    return this.#world
  }

  /** One reconcile: each pass over a cluster returns the given result. */
  step(checks: Readonly<Record<string, ClusterAnswer>>, more: Partial<ReleaseSeen> = {}, forMs = S): ReleaseStatus {
    const release = releaseOf(this.#world, this.status)
    const asked = new Set(openClusters(release))
    const clusters = this.#world.names.map((name): [string, SeenCluster] => [
      name,
      {
        name,
        labels: { stage: name },
        digest: digestOf(name),
        answer: asked.has(name) ? checks[name] : undefined,
        previous: this.#world.previous?.[name],
        risks: this.#world.risks?.[name] ?? [],
        isReturn: this.#world.returns?.includes(name) === true,
      },
    ])
    const seen: ReleaseSeen = {
      release,
      pipeline: this.#world.pipeline,
      clusters: new Map(clusters),
      ...UNDISTURBED,
      ...more,
    }
    const { status, requeueAfter } = planRelease(seen, this.now)
    this.status = status
    this.requeueAfter = requeueAfter
    this.now += forMs
    return this.status
  }

  steps(
    n: number,
    checks: Readonly<Record<string, ClusterAnswer>>,
    more: Partial<ReleaseSeen> = {},
    forMs = S,
  ): ReleaseStatus {
    for (let i = 1; i < n; i++) this.step(checks, more, forMs)
    return this.step(checks, more, forMs)
  }

  phases(): string {
    const clusters = (this.status?.clusters ?? []).map((c) => `${c.name}=${c.phase}`).join(' ')
    return `${this.status?.phase ?? ''}: ${clusters}`
  }
}

const two = (more: object = {}): World => ({
  pipeline: pipelineOf([stage('test', ['a'], more), stage('prod', ['b'], more)]),
  names: ['a', 'b'],
})

describe('a Release', () => {
  test('goes through its stages one after the other, each with its soak', () => {
    const story = new Story(two())
    const trail: string[] = []
    for (let i = 0; i < 40 && story.status?.phase !== 'Succeeded'; i++) {
      story.step({ a: well, b: well })
      if (trail.at(-1) !== story.phases()) trail.push(story.phases())
    }
    expect(trail).toEqual([
      'Progressing: a=Applying b=Waiting',
      'Progressing: a=Verifying b=Waiting',
      'Progressing: a=Healthy b=Waiting',
      'Progressing: a=Healthy b=Applying',
      'Progressing: a=Healthy b=Verifying',
      'Progressing: a=Healthy b=Healthy',
      'Succeeded: a=Healthy b=Healthy',
    ])
    const soaks = story.status?.stages?.map((s) => Date.parse(s.finishedAt ?? '') - Date.parse(s.startedAt ?? ''))
    expect(soaks).toEqual([12 * S, 12 * S])
  })

  test('waits for nothing once its clusters are healthy, when it has no soak', () => {
    const story = new Story(two({ minSuccessTime: '0s' }))
    const seen = new Set<string>()
    for (let i = 0; i < 40 && story.status?.phase !== 'Succeeded'; i++) {
      story.step({ a: well, b: well }, {}, 300)
      for (const s of story.status?.stages ?? []) seen.add(s.phase)
    }
    expect([...seen].sort()).toEqual(['Progressing', 'Succeeded', 'Waiting'])
  })

  test('says of everything that waits for what it waits', () => {
    const story = new Story(two())
    story.steps(3, { a: working, b: well })
    const [a, b] = story.status?.clusters ?? []
    expect(a?.waitingFor).toEqual({
      predicate: 'Progressing',
      seen: 'machineset/workers: 1 of 2',
      since: timestamp(T0 + 2 * S),
      unblock: 'its objects become healthy',
    })
    expect(b?.waitingFor).toMatchObject({ predicate: 'StageWaiting', since: timestamp(T0) })
    expect(story.status?.waitingFor).toMatchObject({
      predicate: 'Progressing',
      seen: 'a: machineset/workers: 1 of 2',
    })
    story.step({ a: working, b: well })
    expect(story.status?.clusters?.[0]?.waitingFor?.since).toBe(timestamp(T0 + 2 * S))
  })

  test.each([
    ['fails at once when an object failed for good', broken, 3, 'machineset/workers: it is Paused'],
    [
      'fails at the deadline when it does not become healthy',
      working,
      70,
      'not healthy after 1m: machineset/workers: 1 of 2',
    ],
    ['fails at the deadline when objects are refused', refused, 70, 'ConfigMap/x: no'],
  ])('%s, and the next stage stays shut', (_, check, n, message) => {
    const story = new Story({ ...two(), spec: { revert: 'Commit' } })
    story.steps(n, { a: check, b: well })
    expect(story.phases()).toBe('Paused: a=Failed b=Waiting')
    expect(story.status?.clusters?.[0]?.message).toBe(message)
    const wait = story.status?.waitingFor
    expect(wait).toMatchObject({ predicate: 'StageFailed', seen: `1 of 1 cluster failed: a: ${message}` })
    expect(wait?.unblock).toMatch(
      /^run git revert --no-edit c{12} && git push; to retry, kubenode release retry \S+ --reason WHY$/,
    )
  })

  test.each<[NonNullable<World['spec']>, string | undefined, string]>([
    [{ revert: 'Merge' }, 'b'.repeat(40), 'run git revert --no-edit -m 1 cccccccccccc && git push'],
    [{}, 'b'.repeat(40), 'revert the commits that broke it (git log bbbbbbbbbbbb..cccccccccccc)'],
    [
      { after: 'd'.repeat(40) },
      'a'.repeat(40),
      'revert the commits that broke it (git log aaaaaaaaaaaa..cccccccccccc)',
    ],
    [{}, undefined, 'push a commit that mends it'],
  ])('fails with the way back that takes all of it back: %j, %s', (spec, reached, fix) => {
    const story = new Story({ ...two(), spec })
    story.steps(3, { a: broken, b: well }, { reached })
    expect(story.status?.waitingFor?.unblock).toBe(`${fix}; to retry, kubenode release retry r --reason WHY`)
  })

  test('goes on when what failed is mended after all', () => {
    const story = new Story(two())
    story.steps(3, { a: broken, b: well })
    story.steps(20, { a: well, b: well })
    expect(story.phases()).toBe('Progressing: a=Healthy b=Healthy')
  })

  test('restarts its soak when a cluster becomes unhealthy during it', () => {
    const story = new Story(two())
    story.steps(8, { a: well, b: well })
    const before = story.status?.stages?.[0]?.soakUntil
    story.step({ a: working, b: well })
    expect(story.phases()).toBe('Progressing: a=Verifying b=Waiting')
    story.step({ a: well, b: well })
    const after = story.status?.stages?.[0]?.soakUntil
    expect(Date.parse(after ?? '') - Date.parse(before ?? '')).toBeGreaterThan(0)
  })

  test('a promotion ends the soak that was in progress, and no later one', () => {
    const story = new Story(two())
    story.steps(4, { a: well, b: well })
    expect(story.phases()).toBe('Progressing: a=Healthy b=Waiting')
    const promotions = [{ stage: 'test', at: story.now }]
    story.step({ a: working, b: well }, { promotions }, 5 * S)
    story.step({ a: well, b: well }, { promotions }, 3 * S)
    story.step({ a: well, b: well }, { promotions })
    expect(story.status?.stages?.[0]).toMatchObject({ phase: 'Soaking', waitingFor: { predicate: 'MinSuccessTime' } })
    story.step({ a: well, b: well }, { promotions: [{ stage: 'test', at: story.now }] })
    expect(story.status?.stages?.[0]?.phase).toBe('Succeeded')
  })

  test.each([
    ['of another stage', { stage: 'prod' }, {}, 'MinSuccessTime'],
    ['of a release that is held', { stage: 'test' }, { paused: 'ada holds it' }, 'HoldPause'],
  ])('a promotion %s changes nothing', (_, wanted, more, predicate) => {
    const story = new Story(two())
    story.steps(4, { a: well, b: well })
    story.step({ a: well, b: well }, { promotions: [{ stage: wanted.stage, at: story.now }], ...more })
    expect(story.status?.stages?.[0]).toMatchObject({ phase: 'Soaking', waitingFor: { predicate } })
  })

  test('a promotion passes no gate', () => {
    const gate = { name: 'board', approval: { from: ['ada'], count: 1 }, timeout: '1h' }
    const pipeline = pipelineOf([stage('test', ['a'], { after: [gate] }), stage('prod', ['b'])])
    const story = new Story({ pipeline, names: ['a', 'b'] })
    story.steps(4, { a: well, b: well })
    story.steps(3, { a: well, b: well }, { promotions: [{ stage: 'test', at: story.now }] })
    expect(story.status?.stages?.[0]).toMatchObject({ phase: 'Soaking', waitingFor: { predicate: 'GateClosed' } })
  })

  test('counts a cluster that does not answer, skips it after the deadline, and catches it up later', () => {
    const world = {
      pipeline: pipelineOf([stage('test', ['a', 'x'], { maxConcurrency: 2 }), stage('prod', ['b'])]),
      names: ['a', 'b', 'x'],
    }
    const story = new Story(world)
    story.steps(5, { a: well, b: well, x: silent })
    expect(story.status?.clusters?.find((c) => c.name === 'x')?.waitingFor).toMatchObject({
      predicate: 'ApiServerDown',
    })
    story.steps(50, { a: well, b: well, x: silent })
    expect(story.phases()).toBe('Succeeded: a=Healthy x=Offline b=Healthy')
    expect(story.status?.stages?.[0]).toMatchObject({ phase: 'Succeeded', offline: 1, total: 2 })
    expect(isOver({ status: story.status ?? {} })).toBe(false)
    story.steps(4, { a: well, b: well, x: well })
    expect(story.phases()).toBe('Succeeded: a=Healthy x=Healthy b=Healthy')
    expect(isOver({ status: story.status ?? {} })).toBe(true)
  })

  test('counts no time against a cluster in which nobody could reach it', () => {
    const story = new Story(two({ offlineDeadline: '1h' }))
    story.step({ a: refused })
    story.steps(600, { a: silent })
    story.steps(55, { a: refused })
    expect(story.phases()).toBe('Progressing: a=Applying b=Waiting')
    story.steps(10, { a: refused })
    expect(story.phases()).toBe('Paused: a=Failed b=Waiting')
  })

  test.each([
    ['works', working],
    [
      'waits for people who approve deletions',
      { ...well, prune: { digest: 'd'.repeat(64), count: 9, allowed: 1, first: 'x' } },
    ],
  ])(
    'a cluster that %s for longer than the deadline of silence is not skipped because of one moment of it',
    (_, seen) => {
      const story = new Story({
        pipeline: pipelineOf([
          stage('test', ['a', 'x'], { maxConcurrency: 2, progressDeadline: '1h' }),
          stage('prod', ['b']),
        ]),
        names: ['a', 'b', 'x'],
      })
      story.steps(100, { a: well, b: well, x: seen })
      story.step({ a: well, b: well, x: silent })
      expect(story.phases()).toBe('Progressing: a=Healthy x=Verifying b=Waiting')
      story.steps(10, { a: well, b: well, x: unauthorized })
      story.steps(15, { a: well, b: well, x: silent })
      expect(story.phases()).toBe('Progressing: a=Healthy x=Verifying b=Waiting')
      story.steps(10, { a: well, b: well, x: unauthorized })
      expect(story.status?.clusters?.find((c) => c.name === 'x')?.phase).toBe('Offline')
    },
  )

  test('tells a cluster that refuses our credentials from one that does not answer', () => {
    const story = new Story({
      pipeline: pipelineOf([stage('test', ['a', 'x'], { maxConcurrency: 2 })]),
      names: ['a', 'x'],
    })
    story.steps(5, { a: well, x: unauthorized })
    expect(story.status?.clusters?.find((c) => c.name === 'x')?.waitingFor).toMatchObject({
      predicate: 'CredentialsInvalid',
      seen: 'KN2401: Unauthorized',
    })
  })

  test('does not open the next stage when no cluster in this one can vouch for the change', () => {
    const story = new Story(two())
    story.steps(100, { a: silent, b: well })
    expect(story.phases()).toBe('Progressing: a=Offline b=Waiting')
    expect(story.status?.waitingFor?.predicate).toBe('ClusterOffline')
  })

  test.each([
    ['was skipped', silent, 'Progressing: a=Offline x=Unchanged b=Waiting', {}],
    ['failed within the limit', broken, 'Progressing: a=Failed x=Unchanged b=Waiting', { maxFailures: 1 }],
  ])('a cluster that it did not change cannot vouch for one that %s', (_, seen, phases, limits) => {
    const story = new Story({
      pipeline: pipelineOf([stage('test', ['a', 'x'], { maxConcurrency: 2, ...limits }), stage('prod', ['b'])]),
      names: ['a', 'b', 'x'],
      previous: { x: { digest: digestOf('x'), healthySince: timestamp(T0 - 3_600 * S) } },
    })
    story.steps(60, { a: seen, b: well, x: well })
    expect(story.phases()).toBe(phases)
    expect(story.status?.waitingFor?.predicate).toBe('ClusterOffline')
    story.steps(20, { a: well, b: well, x: well })
    expect(story.phases()).toMatch(/^Progressing: a=Healthy x=Unchanged b=(Applying|Verifying|Healthy)$/)
  })

  test('is over when a newer one takes its place: nothing waits any more', () => {
    const story = new Story(two())
    story.steps(3, { a: working, b: well })
    story.step({}, { newer: 'r2' })
    expect(story.phases()).toBe('Superseded: a=Verifying b=Waiting')
    expect(story.status?.waitingFor).toBeUndefined()
    expect(story.status?.clusters?.some((c) => c.waitingFor !== undefined)).toBe(false)
  })

  test('waits for people to approve deletions for as long as they need, and says which digest', () => {
    const prune = { digest: 'd'.repeat(64), count: 12, allowed: 1, first: 'MachineSet.kubenode.io/workers' }
    const story = new Story(two())
    story.steps(200, { a: { ...well, prune }, b: well })
    expect(story.phases()).toBe('Progressing: a=Verifying b=Waiting')
    const text = '12 objects would be deleted (limit 1), the first is MachineSet.kubenode.io/workers'
    const [a] = story.status?.clusters ?? []
    expect(a).toMatchObject({ prune, waitingFor: { predicate: 'PruneGuard', seen: text } })
    expect(a?.waitingFor?.unblock).toContain(prune.digest)
    expect(story.status?.waitingFor).toMatchObject({ predicate: 'PruneGuard', seen: `a: ${text}` })
    // The requested permit is in the cluster, not where the release is read.
    const waits = {
      permit: 'prune-1',
      seen: 'gate Approval: 0 of 1',
      unblock: 'run kubenode approve operationpermit/prune-1 --reason WHY',
    }
    story.steps(1, { a: { ...well, prune: { ...prune, waits } }, b: well })
    expect(story.status?.waitingFor?.unblock).toBe(`${waits.unblock} --context a`)
    // The wait does not make the time after the approval count as late.
    story.steps(5, { a: working, b: well })
    expect(story.phases()).toBe('Progressing: a=Verifying b=Waiting')
    expect(story.status?.clusters?.[0]?.prune).toBeUndefined()
    story.steps(60, { a: well, b: well })
    expect(story.status?.phase).toBe('Succeeded')
  })

  test('is not late because its machines wait for a rate limit, and is late again once they do not', () => {
    const text = 'beacon step 2: rate limit: 20 in 10m used, next grant at 12:10:00 UTC'
    const limited: ClusterAnswer = {
      ...well,
      failing: [
        {
          object: 'MachineSet.kubenode.io/workers',
          state: 'InProgress',
          reason: 'x',
          message: '1 of 2',
          setWait: 'Machines',
        },
        {
          object: 'MachineComponentSet.kubenode.io/base',
          state: 'InProgress',
          reason: 'Progressing RateExceeded',
          message: text,
          outside: 'RateExceeded',
        },
      ],
    }
    const story = new Story(two())
    story.steps(200, { a: limited, b: well })
    expect(story.phases()).toBe('Progressing: a=Verifying b=Waiting')
    expect(story.status?.waitingFor).toMatchObject({
      predicate: 'RateExceeded',
      seen: `a: set/base: ${text} (and 1 more)`,
    })
    story.steps(30, { a: working, b: well })
    expect(story.phases()).toBe('Progressing: a=Verifying b=Waiting')
    story.steps(60, { a: working, b: well })
    expect(story.phases()).toBe('Paused: a=Failed b=Waiting')

    const other = new Story(two())
    other.steps(200, { a: limited, b: well })
    other.steps(10, { a: silent, b: well })
    other.steps(30, { a: working, b: well })
    expect(other.phases()).toBe('Progressing: a=Verifying b=Waiting')
  })

  test('time before sync applied anything is none of the cluster: sync was down after it recorded the start', () => {
    const story = new Story(two())
    story.step({}, {}, 3_600 * S)
    story.steps(30, { a: working, b: well })
    expect(story.phases()).toBe('Progressing: a=Verifying b=Waiting')
    story.steps(40, { a: working, b: well })
    expect(story.phases()).toBe('Paused: a=Failed b=Waiting')
  })

  test('looks at a stage that waits after its soak no more often than at one that changes', () => {
    const gate = { name: 'board', approval: { from: ['ada'], count: 1 } }
    const story = new Story(two({ after: [gate] }))
    story.steps(30, { a: well, b: well })
    expect(story.status?.waitingFor?.predicate).toBe('GateClosed')
    expect(story.requeueAfter).toBeGreaterThanOrEqual(1_000)
  })

  test('neither fails nor is accused while a set waits only for its window; nor is the commit after it', () => {
    const object = 'MachineComponentSet.kubenode.io/base'
    const message = 'no maintenance window is open; the next window opens at 2026-01-05T22:00:00Z'
    const failing = [
      { object, state: 'InProgress', reason: 'Progressing WaitingForWindow', message, outside: 'WaitingForWindow' },
    ] as const
    const story = new Story(two())
    story.steps(500, { a: { ...well, failing }, b: well })
    expect(story.phases()).toBe('Progressing: a=Verifying b=Waiting')
    expect(story.status?.waitingFor).toMatchObject({
      predicate: 'WaitingForWindow',
      seen: `a: set/base: ${message}`,
      unblock: 'its window opens',
    })
    story.steps(60, { a: well, b: well })
    expect(story.status?.phase).toBe('Succeeded')
  })

  test('neither fails nor goes further while a person holds a set of the cluster, however long', () => {
    const message = 'it is Paused by hold pause-base: ada looks at it'
    const object = 'MachineComponentSet.kubenode.io/base'
    const failing = [{ object, state: 'InProgress', reason: 'Paused', message, outside: 'HoldPause' }] as const
    const story = new Story(two())
    story.steps(500, { a: { ...well, failing }, b: well })
    expect(story.phases()).toBe('Progressing: a=Verifying b=Waiting')
    expect(story.status?.waitingFor).toMatchObject({
      predicate: 'HoldPause',
      seen: `a: set/base: ${message}`,
      unblock: 'the hold ends, or kubenode thaw or resume lifts it there: kubenode get holds --context a lists it',
    })
    expect(story.status?.clusters?.[0]?.failures).toEqual({ before: 0, new: 0 })
    // The deadline starts when the hold has ended.
    story.steps(30, { a: working, b: well })
    expect(story.phases()).toBe('Progressing: a=Verifying b=Waiting')
    story.steps(60, { a: well, b: well })
    expect(story.status?.phase).toBe('Succeeded')
  })

  test('is late because of another object, though a person holds a set of the cluster', () => {
    const held = {
      object: 'MachineComponentSet.kubenode.io/base',
      state: 'InProgress',
      reason: 'Paused',
      message: 'it is Paused',
      outside: 'HoldPause',
    } as const
    const web = { object: 'Deployment.apps/default/web', state: 'InProgress', reason: 'x', message: '0 of 3' } as const
    const story = new Story(two())
    story.steps(200, { a: { ...well, failing: [held] }, b: well })
    expect(story.phases()).toBe('Progressing: a=Verifying b=Waiting')
    // Its deadline starts when it is observed.
    story.steps(30, { a: { ...well, failing: [held, web] }, b: well })
    expect(story.status?.waitingFor).toMatchObject({
      predicate: 'Progressing',
      seen: 'a: Deployment default/web: 0 of 3 (and 1 more)',
    })
    story.steps(60, { a: { ...well, failing: [held, web] }, b: well })
    expect(story.phases()).toBe('Paused: a=Failed b=Waiting')
  })

  test('begins nothing while a hold pauses it', () => {
    const story = new Story(two())
    story.steps(20, { a: well, b: well }, { paused: 'ada holds it' })
    expect(story.phases()).toBe('Paused: a=Waiting b=Waiting')
    expect(story.status?.clusters?.[0]?.waitingFor).toMatchObject({ predicate: 'HoldPause', seen: 'ada holds it' })
    story.steps(30, { a: well, b: well })
    expect(story.phases()).toBe('Succeeded: a=Healthy b=Healthy')
  })

  test('leaves a cluster alone that has the same content already, and keeps its soak', () => {
    const healthySince = timestamp(T0 - 3_600 * S)
    const story = new Story({
      ...two(),
      previous: {
        a: { digest: digestOf('a'), healthySince },
        b: { digest: 'other', healthySince },
      },
    })
    story.step({ a: well, b: well })
    expect(story.phases()).toBe('Progressing: a=Unchanged b=Applying')
    expect(story.status?.clusters?.[0]?.healthySince).toBe(healthySince)
  })

  describe('of a stage that selects by labels, while a Cluster is deleted and not made again yet,', () => {
    const selecting = (name: string) => stage(name, [], { clusters: { selector: { matchLabels: { stage: name } } } })
    const names = ['prod', 'test']
    const world = { pipeline: pipelineOf(names.toReversed().map(selecting)), names }
    const deleting: ClusterAnswer = {
      kind: 'Unreachable',
      because: 'Deleting',
      message: 'Cluster prod is being deleted',
    }
    const gone: ClusterAnswer = { kind: 'Unreachable', because: 'ReferenceMissing', message: 'Cluster prod not found' }
    const without = (name: string, check: ClusterAnswer) => {
      const member = (n: string): SeenCluster => ({
        name: n,
        labels: n === name ? undefined : { stage: n },
        digest: digestOf(n),
        answer: n === name ? check : well,
        previous: undefined,
      })
      return { clusters: new Map(names.map((n) => [n, member(n)])) }
    }

    test('waits for it and does not succeed without it', () => {
      const story = new Story(world)
      story.steps(16, { test: well, prod: deleting })
      expect(story.status?.stages?.map((s) => `${s.name} ${s.phase}`)).toEqual(['test Succeeded', 'prod Progressing'])
      story.steps(5, {}, without('prod', gone))
      expect(story.phases()).toMatch(/^Progressing: test=Healthy prod=Applying$/)
      story.steps(20, { test: well, prod: well })
      expect(story.phases()).toBe('Succeeded: test=Healthy prod=Healthy')
    })

    test('opens no later stage before it', () => {
      const story = new Story(world)
      story.step({ test: deleting })
      story.steps(20, {}, without('test', gone))
      expect(story.phases()).toMatch(/^Progressing: test=Applying prod=Waiting$/)
    })

    test('is not held up by it once the stage is done', () => {
      const story = new Story(world)
      story.steps(40, { test: well, prod: well })
      expect(story.phases()).toBe('Succeeded: test=Healthy prod=Healthy')
      expect(story.step({}, without('test', gone)).phase).toBe('Succeeded')
    })
  })

  test('says when a cluster is in no stage', () => {
    const story = new Story({ ...two(), names: ['a', 'b', 'lost'] })
    story.step({ a: well })
    expect(story.status?.clusters?.find((c) => c.name === 'lost')).toMatchObject({
      phase: 'Waiting',
      waitingFor: { seen: 'no stage of the pipeline has this cluster' },
    })
  })
})

describe('gates and windows', () => {
  test('a cluster counts as healthy once its gates hold', () => {
    const story = new Story(two({ gates: [{ name: 'ready', machinesReady: { minPercent: 90 } }] }))
    const few: ClusterAnswer = {
      ...well,
      readings: { machines: { total: 10, notReady: ['u1', 'u2'], inconsistent: [], skipped: [] } },
    }
    story.steps(5, { a: few, b: well })
    expect(story.status?.clusters?.[0]?.waitingFor).toMatchObject({
      predicate: 'GateClosed',
      seen: 'ready: 8 of 10 machines are Ready, 90% are needed',
    })
    story.step({ a: well, b: well })
    expect(story.phases()).toBe('Progressing: a=Healthy b=Waiting')
  })

  test('a gate has its whole timeout after a rollout that took longer', () => {
    const gates = [{ name: 'quiet', noNewRepairs: {}, timeout: '2m' }]
    const shut: ClusterAnswer = { ...well, readings: {} }
    const story = new Story(two({ gates, progressDeadline: '1h' }))
    story.steps(12, { a: working, b: well }, {}, 60 * S)
    story.step({ a: shut, b: well }, {}, 60 * S)
    expect(story.status?.clusters?.[0]).toMatchObject({ phase: 'Verifying', waitingFor: { predicate: 'GateClosed' } })
    story.step({ a: shut, b: well }, {}, 60 * S)
    expect(story.status?.clusters?.[0]?.phase).toBe('Verifying')
    story.step({ a: shut, b: well }, {}, 60 * S)
    expect(story.status?.clusters?.[0]?.phase).toBe('Failed')
  })

  test('a reading that is missing keeps a gate shut', () => {
    const story = new Story(two({ gates: [{ name: 'quiet', noNewRepairs: {} }] }))
    story.steps(5, { a: { ...well, readings: {} }, b: well })
    expect(story.status?.clusters?.[0]?.waitingFor?.seen).toBe('quiet: cannot read the repairs')
  })

  test('an approval opens the stage that wants it', () => {
    const story = new Story(two({ before: [{ name: 'board', approval: { from: ['ada', 'bob'], count: 2 } }] }))
    story.steps(3, { a: well, b: well }, { sight: { ...UNDISTURBED.sight, approvedBy: by('ada', 'eve') } })
    expect(story.status?.stages?.[0]?.waitingFor?.seen).toMatch(
      /^board: approved by 1 of 2 \(ada, bob\); the stage fails at /,
    )
    story.step({ a: well, b: well }, { sight: { ...UNDISTURBED.sight, approvedBy: by('ada', 'bob') } })
    expect(story.phases()).toBe('Progressing: a=Applying b=Waiting')
  })

  describe('a high-risk change of a Cluster', () => {
    const RISK = { change: 'Versions' as const, text: 'cluster b from 1.35.1 to 1.36.0' }
    const risky = (more: object = {}): World => ({
      pipeline: pipelineOf([stage('test', ['a']), stage('prod', ['b'], more)]),
      names: ['a', 'b'],
      risks: { b: [RISK] },
      spec: { revert: 'Commit' },
    })
    const all = { a: well, b: well }

    test('waits for an approval by any user before its stage, and the record names it', () => {
      const story = new Story(risky())
      story.steps(16, all)
      expect(story.phases()).toBe('Progressing: a=Healthy b=Waiting')
      expect(story.status?.waitingFor).toMatchObject({
        predicate: 'GateClosed',
        unblock:
          'run kubenode approve release/r --reason WHY; to take the change back, git revert --no-edit cccccccccccc && git push',
      })
      expect(story.status?.waitingFor?.seen).toMatch(
        /^high-risk: cluster b from 1\.35\.1 to 1\.36\.0: approved by 0 of 1 \(group system:authenticated\); the stage fails at /,
      )
      const approved = { sight: { ...UNDISTURBED.sight, approvedBy: by('eve') } }
      story.step(all, approved)
      expect(story.phases()).toBe('Progressing: a=Healthy b=Applying')
      // Once its Cluster is changed, nothing is risky any more.
      story.world.risks = {}
      story.steps(16, all, approved)
      expect(story.status?.phase).toBe('Succeeded')
      expect(story.status?.record?.find((r) => r.cluster === 'b')).toMatchObject({
        approvedBy: ['eve'],
        gates: [{ name: 'high-risk', kind: 'approval', result: 'Passed' }],
      })
    })

    test.each<[string, World['spec'], string]>([
      [
        'of a merge',
        { revert: 'Merge' },
        '; to take the change back, git revert --no-edit -m 1 cccccccccccc && git push',
      ],
      ['of a push with more commits is not offered', {}, ''],
    ])('the revert %s', (_, spec = {}, wayBack) => {
      const story = new Story({ ...risky(), spec })
      story.steps(16, all)
      expect(story.status?.waitingFor?.unblock).toBe(`run kubenode approve release/r --reason WHY${wayBack}`)
    })

    test('waits for none where the stage lets it pass', () => {
      const story = new Story(risky({ withoutApproval: ['Versions'] }))
      story.steps(32, all)
      expect(story.status?.phase).toBe('Succeeded')
    })

    test('waits for none where it restores what was healthy', () => {
      const story = new Story({ ...risky(), returns: ['b'] })
      story.steps(32, all)
      expect(story.status?.phase).toBe('Succeeded')
    })
  })

  test('clusters are begun only while a window is open', () => {
    // Opens at 12:30 for an hour; the test starts at 12:00.
    const story = new Story(two({ windows: [{ cron: '30 12 * * *', duration: '1h', timeZone: 'UTC' }] }))
    story.step({ a: well, b: well })
    expect(story.status?.stages?.[0]?.waitingFor).toMatchObject({
      predicate: 'WaitingForWindow',
      unblock: 'the next window opens at 2026-01-31T12:30:00Z',
    })
    story.now = T0 + 30 * 60 * S
    story.step({ a: well, b: well })
    expect(story.phases()).toBe('Progressing: a=Applying b=Waiting')
    story.now = T0 + 90 * 60 * S + S
    const late = new Story(two({ windows: [{ cron: '30 12 * * *', duration: '1h', timeZone: 'UTC' }] }))
    late.now = T0 + 90 * 60 * S
    late.step({ a: well, b: well })
    expect(late.phases()).toBe('Progressing: a=Waiting b=Waiting')
  })

  test('a stage whose windows are all over waits for other ones', () => {
    const until = new Date(T0 - S).toISOString()
    const story = new Story(two({ windows: [{ cron: '30 12 * * *', duration: '1h', timeZone: 'UTC', until }] }))
    story.step({ a: well, b: well })
    expect(story.status?.stages?.[0]?.waitingFor?.unblock).toBe(
      'a commit changes the windows: none of them opens again',
    )
  })
})

describe('whatever the clusters do', () => {
  const names = ['t1', 't2', 'p1', 'p2', 'p3', 'p4']
  const check = fc.constantFrom(well, well, well, working, broken, refused, silent)
  const checks = fc.array(fc.record(Object.fromEntries(names.map((n) => [n, check]))), { minLength: 1, maxLength: 60 })
  const concurrency = fc.constantFrom<number | string>(1, 2, '50%')

  const world = (max: number | string): World => ({
    pipeline: pipelineOf([
      stage('test', ['t1', 't2'], { maxConcurrency: 2 }),
      stage('prod', ['p1', 'p2', 'p3', 'p4'], { maxConcurrency: max, maxFailures: 1 }),
    ]),
    names,
  })

  test('production is never begun before test is done, and never more clusters at once than the stage allows', () => {
    fc.assert(
      fc.property(checks, concurrency, (all, max) => {
        const story = new Story(world(max))
        for (const l of all) {
          const status = story.step(l, {}, 3 * S)
          const prod = (status.clusters ?? []).filter((c) => c.stage === 'prod')
          const atWork = prod.filter((c) => c.phase === 'Applying' || c.phase === 'Verifying').length
          // Clusters that failed after being healthy count as active, although they were not started again.
          const begun = prod.filter((c) => c.phase !== 'Waiting').length
          if (status.stages?.[0]?.phase !== 'Succeeded') expect(begun).toBe(0)
          if (prod.every((c) => c.healthySince === undefined)) expect(atWork).toBeLessThanOrEqual(max === 1 ? 1 : 2)
        }
      }),
      { numRuns: 150 },
    )
  })

  test('what waits says for what, and what is done stays done', () => {
    fc.assert(
      fc.property(checks, concurrency, (all, max) => {
        const story = new Story(world(max))
        const done = new Set<string>()
        for (const l of all) {
          const status = story.step(l, {}, 3 * S)
          for (const s of status.stages ?? []) {
            if (done.has(s.name)) expect(s.phase).toBe('Succeeded')
            if (s.phase === 'Succeeded') done.add(s.name)
            else expect(s.waitingFor?.predicate ?? s.phase).toMatch(/^[A-Z]/)
          }
          for (const c of status.clusters ?? []) if (c.phase === 'Waiting') expect(c.waitingFor).toBeDefined()
        }
      }),
      { numRuns: 150 },
    )
  })

  test('a fleet that is well in the end gets through', () => {
    fc.assert(
      fc.property(checks, concurrency, (all, max) => {
        const story = new Story(world(max))
        for (const l of all) story.step(l, {}, 3 * S)
        const fine = Object.fromEntries(names.map((n) => [n, well]))
        for (let i = 0; i < 60 && !isOver({ status: story.status ?? {} }); i++) story.step(fine, {}, 3 * S)
        expect(story.status?.phase).toBe('Succeeded')
      }),
      { numRuns: 100 },
    )
  })

  test('planning twice at the same moment gives the same status', () => {
    fc.assert(
      fc.property(checks, concurrency, (all, max) => {
        const [one, other] = [new Story(world(max)), new Story(world(max))]
        for (const l of all) expect(one.step(l, {}, 3 * S)).toEqual(other.step(l, {}, 3 * S))
      }),
      { numRuns: 30 },
    )
  })
})
