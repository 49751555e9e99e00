// Stage gates: what they wait for, what evidence they leave, and that no cluster starts, and no stage finishes, past a closed gate.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { releasePipeline, type ReleasePipelineSpec } from '#api/kinds/release-pipeline.ts'
import { release as releaseKind, type Release, type ReleaseStatus } from '#api/kinds/release.ts'
import { timestamp } from '#lib/clock.ts'
import { createValidator } from '#api/validate.ts'
import { applyDefaults } from '#api/schema/default.ts'
import type { ClusterAnswer, SeenCluster } from './cluster-seen.ts'
import { clustersToSurvey, type GateSight, checksFor, type Survey } from './stage-gates.ts'
import { openClusters, type ReleaseSeen } from './release-seen.ts'
import { planRelease } from './stages.ts'
import { defined } from '#lib/defined.ts'

const T0 = Date.parse('2026-01-31T12:00:00Z')
const SECOND = 1_000
const MINUTE = 60 * SECOND

const READY = { machines: { total: 4, notReady: [], inconsistent: [], skipped: [] }, repairs: [] }
const ILL = { machines: { total: 4, notReady: ['u-1'], inconsistent: [], skipped: [] }, repairs: [] }
const check = (readings: ClusterReadings = READY): ClusterAnswer => ({
  kind: 'Seen',
  isApplied: true,
  failures: [],
  failing: [],
  machines: 4,
  baseline: undefined,
  readings,
})
type ClusterReadings = Extract<Survey, { kind: 'Read' }>['readings']
const read = (readings: ClusterReadings): Survey => ({ kind: 'Read', readings })

const validator = createValidator()

class Story {
  readonly pipeline: ReleasePipelineSpec
  status: ReleaseStatus | undefined
  now = T0
  sight: GateSight = { approvedBy: [], checks: new Map(), surveys: new Map() }
  readonly names: readonly string[]

  constructor(gates: object, names: readonly string[] = ['a'], more: object = {}) {
    this.names = names
    const stage = (name: string, members: readonly string[], its: object) => ({
      name,
      clusters: { names: members },
      minSuccessTime: '10s',
      ...more,
      ...its,
    })
    const spec = { stages: [stage('test', names, gates), stage('prod', ['b'], {})] }
    this.pipeline = (applyDefaults(releasePipeline.schema, { spec }) as { spec: ReleasePipelineSpec }).spec
  }

  get release(): Release {
    return {
      ...releaseKind.example,
      metadata: { name: 'r', namespace: 'n', uid: 'u' },
      ...defined({ status: this.status }),
    }
  }

  step(more: Partial<ReleaseSeen> = {}, readings: ClusterReadings = READY, forMs = SECOND): ReleaseStatus {
    const { release } = this
    const asked = new Set(openClusters(release))
    const clusters = [...this.names, 'b'].map((name): [string, SeenCluster] => [
      name,
      { name, labels: {}, digest: 'd'.repeat(64), answer: asked.has(name) ? check(readings) : undefined },
    ])
    const seen: ReleaseSeen = {
      release,
      pipeline: this.pipeline,
      clusters: new Map(clusters),
      newer: undefined,
      paused: undefined,
      sight: this.sight,
      retries: [],
      promotions: [],
      ...more,
    }
    this.status = planRelease(seen, this.now).status
    this.now += forMs
    return this.status
  }

  steps(n: number, more: Partial<ReleaseSeen> = {}, readings: ClusterReadings = READY, forMs = SECOND): ReleaseStatus {
    for (let i = 1; i < n; i++) this.step(more, readings, forMs)
    return this.step(more, readings, forMs)
  }

  answer(key: string, holds: boolean, seen = holds ? 'fine' : 'shut'): void {
    const checks = new Map(this.sight.checks).set(key, { value: { holds, seen }, at: this.now })
    this.sight = { ...this.sight, checks }
  }

  get test() {
    return this.status?.stages?.[0]
  }

  phases(): string {
    return (this.status?.clusters ?? []).map((c) => `${c.name}=${c.phase}`).join(' ')
  }
}

const HTTP = { name: 'page', http: { url: 'https://shop.example/healthz' } }
const READY_GATE = { name: 'ready', machinesReady: { minPercent: 100 } }

describe('before a stage opens', () => {
  test('its clusters are read, nothing is applied until the reading is good, and the evidence stays', () => {
    const story = new Story({ before: [READY_GATE] })
    story.step()
    expect([story.phases(), story.test?.waitingFor?.seen]).toEqual(['a=Waiting b=Waiting', 'ready: reading cluster a'])
    expect(clustersToSurvey(story.status ?? {}, story.pipeline)).toEqual(['a'])
    story.sight = { ...story.sight, surveys: new Map([['a', read(ILL)]]) }
    story.step()
    expect(story.test).toMatchObject({
      phase: 'Waiting',
      waitingFor: {
        predicate: 'GateClosed',
        seen: 'ready: a: 3 of 4 machines are Ready, 100% are needed',
        unblock: '100% of the machines are Ready; the stage fails at 2026-01-31T13:00:00Z',
      },
    })
    story.sight = { ...story.sight, surveys: new Map([['a', read(READY)]]) }
    story.step()
    expect(story.phases()).toBe('a=Applying b=Waiting')
    // The change's own effect on the machines does not close the stage again.
    story.sight = { ...story.sight, surveys: new Map([['a', read(ILL)]]) }
    story.steps(3)
    expect(story.test?.gates).toEqual([
      {
        when: 'Before',
        name: 'ready',
        phase: 'Passed',
        since: timestamp(T0),
        seen: 'a: 4 of 4 machines are Ready, 100% are needed',
      },
    ])
    expect(clustersToSurvey(story.status ?? {}, story.pipeline)).toEqual([])
  })

  test('a cluster that does not respond is left out, and one at least has to respond', () => {
    const away: Survey = { kind: 'Unreachable', message: 'connect ECONNREFUSED' }
    const story = new Story({ before: [READY_GATE] }, ['a', 'c'])
    story.sight = {
      ...story.sight,
      surveys: new Map([
        ['a', away],
        ['c', away],
      ]),
    }
    story.step()
    expect(story.test?.waitingFor?.seen).toBe('ready: none of 2 clusters responds')
    story.sight = {
      ...story.sight,
      surveys: new Map([
        ['a', away],
        ['c', read(READY)],
      ]),
    }
    story.step()
    expect(story.test?.gates?.[0]).toMatchObject({ phase: 'Passed', seen: expect.stringMatching(/1 cluster not resp/) })
  })

  test('what a cluster does not tell keeps the gate shut', () => {
    const story = new Story({ before: [READY_GATE] })
    story.sight = { ...story.sight, surveys: new Map([['a', read({})]]) }
    story.step()
    expect(story.test?.waitingFor?.seen).toBe('ready: a: cannot read the machines')
  })

  test('a request is made once the stage could open, and its answer opens it', () => {
    const story = new Story({ before: [HTTP] })
    expect(checksFor(story.status ?? {}, story.pipeline)).toEqual([])
    story.step()
    expect(story.test?.waitingFor).toMatchObject({
      seen: 'page: no answer yet',
      unblock: 'shop.example answers 200; the stage fails at 2026-01-31T13:00:00Z',
    })
    expect(checksFor(story.status ?? {}, story.pipeline).map((l) => l.key)).toEqual(['test/Before/page'])
    story.answer('test/Before/page', true)
    story.step()
    expect(story.phases()).toBe('a=Applying b=Waiting')
  })

  test('a gate that stays shut fails the stage in its time, and only a retry checks it again', () => {
    const story = new Story({ before: [{ ...HTTP, timeout: '5m' }] })
    story.answer('test/Before/page', false, 'shop.example answers 500, 200 is expected')
    story.steps(10, {}, READY, MINUTE)
    expect(story.status).toMatchObject({
      phase: 'Paused',
      waitingFor: {
        predicate: 'GateFailed',
        seen: 'gate page did not pass within 5m: shop.example answers 500, 200 is expected',
        unblock: expect.stringContaining('kubenode release retry r --reason WHY'),
      },
    })
    story.answer('test/Before/page', true)
    story.steps(3)
    expect([story.status?.phase, story.phases()]).toEqual(['Paused', 'a=Waiting b=Waiting'])
    story.step({ retries: ['h1'] })
    expect(story.phases()).toBe('a=Applying b=Waiting')
  })

  test('time in which a hold pauses the release is none of the gate', () => {
    const story = new Story({ before: [{ ...HTTP, timeout: '5m' }] })
    story.answer('test/Before/page', false)
    story.step()
    story.steps(20, { paused: 'ada holds it' }, READY, MINUTE)
    expect(story.test?.waitingFor?.predicate).toBe('HoldPause')
    story.step()
    expect(story.test?.waitingFor).toMatchObject({
      predicate: 'GateClosed',
      unblock: expect.stringContaining('fails at 2026-01-31T12:25:01Z'),
    })
  })

  test('an approval names its command', () => {
    const story = new Story({ before: [{ name: 'board', approval: { from: ['ada', 'group:sre'] } }] })
    story.step()
    expect(story.test?.waitingFor).toMatchObject({
      seen: 'board: approved by 0 of 1 (ada, group sre); the stage fails at 2026-02-07T12:00:00Z',
      unblock: 'run kubenode approve release/r --reason WHY',
    })
    story.sight = { ...story.sight, approvedBy: [{ by: 'bob', groups: ['sre'] }] }
    story.step()
    expect(story.phases()).toBe('a=Applying b=Waiting')
  })
})

describe('for a cluster', () => {
  test('an answer from before its change counts for nothing', () => {
    const story = new Story({ gates: [HTTP] })
    story.answer('test/During/page', true)
    story.now += MINUTE
    story.steps(4)
    expect([story.phases(), story.status?.clusters?.[0]?.waitingFor?.seen]).toEqual([
      'a=Verifying b=Waiting',
      'page: no answer yet',
    ])
    story.answer('test/During/page', true)
    story.step()
    expect(story.phases()).toBe('a=Healthy b=Waiting')
    expect(story.test?.gates).toMatchObject([{ when: 'During', name: 'page', phase: 'Passed', seen: 'a: fine' }])
  })

  test('that is healthy, a restart that forgets the answer begins no soak again, and a bad answer does', () => {
    const story = new Story({ gates: [HTTP] })
    story.steps(3)
    story.answer('test/During/page', true)
    story.step()
    const { sight } = story
    story.sight = { ...sight, checks: new Map() }
    story.step()
    expect(story.phases()).toBe('a=Healthy b=Waiting')
    story.answer('test/During/page', false)
    story.step()
    expect(story.phases()).toBe('a=Verifying b=Waiting')
  })

  test('a restart at the end of the soak opens the next stage only after the gate was asked again', () => {
    const story = new Story({ gates: [HTTP] })
    story.steps(3)
    story.answer('test/During/page', true)
    story.step()
    story.sight = { ...story.sight, checks: new Map() }
    story.now += MINUTE
    story.step()
    expect(story.test).toMatchObject({
      phase: 'Soaking',
      waitingFor: { predicate: 'GateClosed', seen: 'page: no answer yet' },
    })
    expect(checksFor(story.status ?? {}, story.pipeline).map((c) => c.key)).toEqual(['test/During/page'])
    story.answer('test/During/page', true)
    story.step()
    expect(story.test?.phase).toBe('Succeeded')
  })
})

describe('after the soak', () => {
  const after = (timeout: string) => new Story({ after: [{ ...HTTP, timeout }] })
  test('the next stage waits for the gate, which is asked only then', () => {
    const story = after('30m')
    story.steps(5)
    expect(checksFor(story.status ?? {}, story.pipeline)).toEqual([])
    story.steps(15)
    expect(story.test).toMatchObject({ phase: 'Soaking', waitingFor: { seen: 'page: no answer yet' } })
    story.answer('test/After/page', true)
    story.step()
    expect([story.test?.phase, story.test?.gates?.[0]]).toMatchObject(['Succeeded', { when: 'After', phase: 'Passed' }])
  })

  test('the gate fails the stage in its time, and what falls ill meanwhile does not make it pass', () => {
    const story = after('2m')
    story.answer('test/After/page', false)
    story.steps(200)
    expect(story.status).toMatchObject({ phase: 'Paused', waitingFor: { predicate: 'GateFailed' } })
    story.answer('test/After/page', true)
    story.steps(30)
    expect([story.test?.phase, story.phases()]).toEqual(['Failed', 'a=Healthy b=Waiting'])
    story.step({ retries: ['h1'] })
    expect(story.test?.phase).toBe('Succeeded')
  })
})

test('whatever gates see: no cluster is begun past one, nothing waits without a reason, and the status is valid', () => {
  const gate = fc.constantFrom<object>(
    { ...HTTP, timeout: '2m' },
    { ...READY_GATE, timeout: '3m' },
    { name: 'board', approval: { from: ['group:sre'], count: 1 }, timeout: '4m' },
  )
  const some = fc.uniqueArray(gate, { maxLength: 3, selector: (g) => (g as { name: string }).name })
  const step = fc.record({
    page: fc.option(fc.boolean()),
    isReady: fc.option(fc.boolean()),
    isApproved: fc.boolean(),
    isPaused: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
    isRetried: fc.integer({ min: 0, max: 14 }).map((n) => n === 0),
    seconds: fc.integer({ min: 1, max: 90 }),
  })
  fc.assert(
    fc.property(some, some, some, fc.array(step, { minLength: 5, maxLength: 40 }), (before, gates, after, steps) => {
      const story = new Story({ before, gates, after })
      for (const [n, { page, isReady, isApproved, isPaused, isRetried, seconds }] of steps.entries()) {
        const stood = story.status
        story.sight = {
          approvedBy: isApproved ? [{ by: 'ada', groups: ['sre'] }] : [],
          surveys: new Map(isReady === null ? [] : [['a', read(isReady ? READY : ILL)]]),
          checks: story.sight.checks,
        }
        for (const when of ['Before', 'During', 'After']) if (page !== null) story.answer(`test/${when}/page`, page)
        const status = story.step(
          { paused: isPaused ? 'ada holds it' : undefined, retries: isRetried ? [`h${n}`] : [] },
          isReady === false ? ILL : READY,
          seconds * SECOND,
        )
        const [first] = status.clusters ?? []
        const had = stood?.clusters?.[0]?.phase ?? 'Waiting'
        const passed = status.stages?.[0]?.gates?.filter((g) => g.when === 'Before' && g.phase === 'Passed') ?? []
        if (had === 'Waiting' && first?.phase === 'Applying') expect(passed).toHaveLength(before.length)
        const isDoing = (status.clusters ?? []).some((c) => c.phase === 'Applying' || c.phase === 'Verifying')
        if (status.phase !== 'Succeeded' && !isDoing) expect(status.waitingFor?.seen).toMatch(/./)
        if (status.phase === 'Paused' && !isPaused) expect(status.waitingFor?.unblock).toMatch(/retry/)
        const wasFailed = stood?.stages?.[0]?.gates?.some((g) => g.phase === 'Failed') === true
        if (wasFailed && !isRetried) {
          expect(status.stages?.[0]?.phase).not.toBe('Succeeded')
          expect(status.clusters?.[1]?.phase).toBe('Waiting')
        }
        expect(validator.problems(releaseKind, { ...story.release, status })).toEqual([])
      }
    }),
    { numRuns: 60 },
  )
})
