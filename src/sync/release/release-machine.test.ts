// A Release as a state machine, with any pipeline, gates, clusters and exemptions: it never waits without a reason, never passes a closed gate, and always ends.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { releasePipeline, type ReleasePipelineSpec } from '#api/kinds/release-pipeline.ts'
import type { Release, ReleaseStatus } from '#api/kinds/release.ts'
import { applyDefaults } from '#api/schema/default.ts'
import type { Exemption } from '../revert/policy.ts'
import type { ClusterAnswer, SeenCluster } from './cluster-seen.ts'
import type { Finding } from './gates.ts'
import { openClusters } from './release-seen.ts'
import { ruleKey, type Survey } from './stage-gates.ts'
import { planRelease } from './stages.ts'
import { HUB } from './tracks.ts'

const T0 = Date.parse('2026-01-31T12:00:00Z')
const MOMENTS = ['before', 'gates', 'after'] as const
const WHEN = { before: 'Before', gates: 'During', after: 'After' } as const
const READINGS = { machines: { total: 4, notReady: [], inconsistent: [], skipped: [] }, repairs: [] }
const WELL: ClusterAnswer = {
  kind: 'Seen',
  isApplied: true,
  failures: [],
  failing: [],
  machines: 4,
  baseline: undefined,
  readings: READINGS,
}
const ALL = [HUB, 'a', 'b']

const kinds = fc.subarray(['rule', 'board'] as const)
const gatesOf = (chosen: readonly ('rule' | 'board')[]) =>
  chosen.map((kind) =>
    kind === 'rule'
      ? { name: 'rule', custom: { when: { all: [] } }, timeout: '60s' }
      : { name: 'board', approval: { from: ['ada'] }, timeout: '60s' },
  )
const stage = fc.record({ before: kinds, gates: kinds, after: kinds })
const world = fc.record({
  stages: fc.tuple(stage, stage, stage),
  hasHubStage: fc.boolean(),
  returns: fc.subarray(ALL),
  exempt: fc.subarray(['Windows', 'Approvals', 'Holds'] as const),
})
const step = fc.record({ rule: fc.boolean(), board: fc.boolean(), seconds: fc.integer({ min: 1, max: 20 }) })
type World = typeof world extends fc.Arbitrary<infer W> ? W : never
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

const pipelineOf = ({ stages, hasHubStage }: World): ReleasePipelineSpec => {
  const of = (name: string, clusters: object, at: number) => ({
    name,
    clusters,
    minSuccessTime: '0s',
    ...Object.fromEntries(MOMENTS.map((moment) => [moment, gatesOf(stages[at]?.[moment] ?? [])])),
  })
  const members = [of('a', { names: ['a'] }, 1), of('b', { names: ['b'] }, 2)]
  const all = hasHubStage ? [of('hub', { hub: true }, 0), ...members] : members
  return (applyDefaults(releasePipeline.schema, { spec: { stages: all } }) as { spec: ReleasePipelineSpec }).spec
}

class Run {
  readonly #world: World
  readonly #pipeline: ReleasePipelineSpec
  readonly #names: readonly string[]
  status: ReleaseStatus = {}
  now = T0

  constructor(its: World) {
    this.#world = its
    this.#pipeline = pipelineOf(its)
    this.#names = its.hasHubStage ? ALL : ALL.slice(1)
  }

  get stages() {
    return this.#pipeline.stages
  }

  step({ rule, board, seconds }: Step): ReleaseStatus {
    const { returns, exempt } = this.#world
    const release: Release = {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Release',
      metadata: { name: 'r', namespace: 'n' },
      spec: {
        source: 's',
        track: 't',
        pipeline: 'p',
        commit: 'c'.repeat(40),
        digests: Object.fromEntries(this.#names.map((n) => [n, 'd'.repeat(64)])),
      },
      status: this.status,
    }
    const asked = new Set(openClusters(release))
    const clusters = this.#names.map((name): [string, SeenCluster] => [
      name,
      {
        name,
        labels: {},
        digest: 'd'.repeat(64),
        isReturn: returns.includes(name),
        ...(asked.has(name) && { answer: WELL }),
      },
    ])
    const finding: Finding = { holds: rule, seen: rule ? 'the rule is true' : 'the rule is shut' }
    const rules = new Map(
      this.stages.flatMap(({ name }) =>
        this.#names.flatMap((cluster) =>
          MOMENTS.map((moment) => [ruleKey(name, WHEN[moment], 'rule', cluster), finding] as const),
        ),
      ),
    )
    const surveys = new Map(this.#names.map((name): [string, Survey] => [name, { kind: 'Read', readings: READINGS }]))
    const approvedBy = board ? [{ by: 'ada', groups: [] }] : []
    this.status = planRelease(
      {
        release,
        pipeline: this.#pipeline,
        clusters: new Map(clusters),
        newer: undefined,
        paused: undefined,
        sight: { approvedBy, checks: new Map(), surveys, rules },
        retries: [],
        promotions: [],
        exempt: new Set<Exemption>(exempt),
      },
      this.now,
    ).status
    this.now += seconds * 1_000
    return this.status
  }
}

const started = ({ clusters = [] }: ReleaseStatus) =>
  new Set(clusters.filter((c) => c.phase !== 'Waiting').map((c) => c.name))
const phases = ({ clusters = [], stages = [] }: ReleaseStatus) =>
  JSON.stringify([clusters.map((c) => c.phase), stages.map((s) => s.phase)])
const story = fc.tuple(world, fc.array(step, { minLength: 1, maxLength: 40 }))

test('it never waits without a reason', () => {
  fc.assert(
    fc.property(story, ([its, steps]) => {
      const run = new Run(its)
      for (const each of steps) {
        const before = phases(run.status)
        const { phase, waitingFor } = run.step(each)
        if (phase === 'Succeeded') break
        if (phases(run.status) === before) expect(waitingFor?.seen ?? '').not.toBe('')
      }
    }),
  )
})

test('it starts nothing behind a closed gate, the stage of the hub included, but what is exempt', () => {
  fc.assert(
    fc.property(story, ([its, steps]) => {
      const run = new Run(its)
      for (const each of steps) {
        const had = started(run.status)
        const done = new Set((run.status.stages ?? []).filter((s) => s.phase === 'Succeeded').map((s) => s.name))
        const status = run.step(each)
        for (const name of started(status)) {
          if (had.has(name)) continue
          const at = run.stages.findIndex((s) => s.name === name)
          const earlier = run.stages.slice(0, at).map((s) => s.name)
          const isDone = (s: string) => done.has(s) || status.stages?.find((x) => x.name === s)?.phase === 'Succeeded'
          expect(earlier.filter((s) => !isDone(s))).toEqual([])
          const isBack = its.returns.includes(name)
          for (const gate of run.stages[at]?.before ?? []) {
            const isExempt = isBack && (gate.custom !== undefined || its.exempt.includes('Approvals'))
            const wasOpen = status.stages?.find((s) => s.name === name)?.gates ?? []
            if (!isExempt) expect(wasOpen).toContainEqual(expect.objectContaining({ name: gate.name, phase: 'Passed' }))
          }
        }
      }
    }),
  )
})

test('nothing follows a stage that failed, and every stage ends: it succeeds once all gates are open', () => {
  fc.assert(
    fc.property(story, ([its, steps]) => {
      const run = new Run(its)
      for (const each of steps) {
        const status = run.step(each)
        const failed = (status.stages ?? []).findIndex((s) => s.phase === 'Failed')
        if (failed < 0) continue
        expect(status.phase).toBe('Paused')
        const later = new Set(run.stages.slice(failed + 1).map((s) => s.name))
        expect([...started(status)].filter((name) => later.has(name))).toEqual([])
      }
      for (let i = 0; i < 60; i++) run.step({ rule: true, board: true, seconds: 2 })
      expect(run.status.phase === 'Succeeded' || run.status.stages?.some((s) => s.phase === 'Failed')).toBe(true)
    }),
  )
})

test('with gates that stay shut it ends as failed, never as succeeded', () => {
  fc.assert(
    fc.property(world, (its) => {
      const run = new Run({
        ...its,
        returns: [],
        stages: [{ before: ['rule'], gates: [], after: [] }, its.stages[1], { ...its.stages[2], before: ['rule'] }],
      })
      for (let i = 0; i < 200; i++) run.step({ rule: false, board: true, seconds: 10 })
      expect(run.status.stages?.some((s) => s.phase === 'Failed')).toBe(true)
      expect(started(run.status).has('b')).toBe(false)
    }),
    { numRuns: 20 },
  )
})
