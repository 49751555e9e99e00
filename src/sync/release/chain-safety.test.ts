// A Release succeeds only on clusters that were observed healthy: chains of Releases that supersede each other midway, in any order.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { releasePipeline, type ReleasePipelineSpec } from '#api/kinds/release-pipeline.ts'
import type { Release, ReleaseStatus } from '#api/kinds/release.ts'
import { timestamp } from '#lib/clock.ts'
import { applyDefaults } from '#api/schema/default.ts'
import { UNDISTURBED } from '#test/support/fleets/undisturbed.ts'
import { chainOf, previousOf, soakedBefore } from './chain.ts'
import type { ClusterAnswer, SeenCluster } from './cluster-seen.ts'
import { wasPassedWith } from './history.ts'
import { openClusters, isOver } from './release-seen.ts'
import { planRelease } from './stages.ts'
import { defined } from '#lib/defined.ts'

const S = 1_000
const SOAK_S = 10
const STAGES = { test: ['t1', 't2'], prod: ['p1'] } as const
const NAMES = Object.values(STAGES).flat()

const { spec: pipeline } = applyDefaults(releasePipeline.schema, {
  spec: {
    stages: Object.entries(STAGES).map(([name, names]) => ({
      name,
      clusters: { names },
      maxConcurrency: 2,
      minSuccessTime: `${SOAK_S}s`,
      progressDeadline: '5m',
      offlineDeadline: '20s',
    })),
  },
}) as { spec: ReleasePipelineSpec }

type Health = 'well' | 'working' | 'silent'
type Digests = Readonly<Record<string, string>>

/** The actual state of a cluster, whatever the statuses say. */
interface Truth {
  applied: string | undefined
  /** Seconds for which Releases observed the cluster as healthy with this content, without interruption. */
  watched: number
  /** Observed healthy for a whole soak since its content last changed. */
  hasSoaked: boolean
  lastWell: number | undefined
}

class Chain {
  now = Date.parse('2026-01-31T12:00:00Z')
  all: Release[] = []
  readonly truth = new Map<string, Truth>()
  #made = 0

  /** Two Releases with the same predecessor: created from a cache that did not have the other yet. */
  commit(digests: Digests, previous = this.newest?.metadata.name): void {
    const name = `r-${String(++this.#made).padStart(3, '0')}`
    this.all.push({
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'Release',
      metadata: { name, namespace: 'n', creationTimestamp: timestamp(this.now) },
      spec: {
        source: 's',
        track: 't',
        pipeline: 'p',
        commit: 'c'.repeat(40),
        digests,
        ...defined({ previous }),
      },
    })
  }

  get chain(): readonly Release[] {
    return chainOf(this.all, { source: 's', track: 't' })
  }

  get newest(): Release | undefined {
    return this.chain.at(-1)
  }

  /** One pass over every unfinished Release, then one second passes. */
  step(health: (cluster: string) => Health): void {
    const newest = this.newest?.metadata.name
    for (const { metadata } of this.chain) {
      const release = this.all.find((r) => r.metadata.name === metadata.name) as Release
      if (!isOver(release)) this.#reconcile(release, metadata.name === newest ? undefined : newest, health)
    }
    this.now += S
  }

  steps(n: number, health: (cluster: string) => Health = () => 'well'): void {
    for (let i = 0; i < n; i++) this.step(health)
  }

  phases(): string {
    const { status } = this.newest as Release
    return `${status?.phase ?? ''}: ${(status?.clusters ?? []).map((c) => `${c.name}=${c.phase}`).join(' ')}`
  }

  #reconcile(release: Release, newer: string | undefined, health: (cluster: string) => Health): void {
    const asked = new Set(newer === undefined ? openClusters(release) : [])
    const clusters = Object.entries(release.spec.digests).map(([name, digest]): [string, SeenCluster] => {
      const look = asked.has(name) ? this.#look(release, name, digest, health(name)) : undefined
      const earlier = {
        previous: previousOf(this.chain, release, name),
        soaked: soakedBefore(this.chain, release, name),
        wasPassed: wasPassedWith(this.chain, release, name),
      }
      return [name, { name, labels: {}, digest, answer: look, ...earlier }]
    })
    const seen = { release, pipeline, clusters: new Map(clusters) }
    const { status } = planRelease({ ...UNDISTURBED, ...seen, newer }, this.now)
    this.all = this.all.map((r) => (r === release ? { ...release, status } : r))
    const hadSucceeded = (stage: string) =>
      release.status?.stages?.some((s) => s.name === stage && s.phase === 'Succeeded')
    for (const { name, phase } of status.stages ?? [])
      if (phase === 'Succeeded' && !hadSucceeded(name)) this.#mustBeTrue(name, release, status)
    if (status.phase === 'Succeeded') expect(status.stages?.map((s) => s.phase)).toEqual(['Succeeded', 'Succeeded'])
  }

  #look({ status }: Release, name: string, digest: string, health: Health): ClusterAnswer {
    if (health === 'silent') return { kind: 'Unreachable', because: 'ApiServerDown', message: 'no answer' }
    const truth = this.truth.get(name) ?? { applied: undefined, watched: 0, hasSoaked: false, lastWell: undefined }
    this.truth.set(name, truth)
    if (truth.applied !== digest)
      Object.assign(truth, { applied: digest, watched: 0, hasSoaked: false, lastWell: undefined })
    const phase = status?.clusters?.find((c) => c.name === name)?.phase
    if (health === 'well') {
      // A state observed during the apply counts from the next pass on.
      if (truth.lastWell !== undefined) truth.watched += (this.now - truth.lastWell) / S
      truth.lastWell = phase === 'Applying' ? undefined : this.now
      truth.hasSoaked ||= truth.watched >= SOAK_S
    } else Object.assign(truth, { watched: 0, lastWell: undefined })
    return {
      kind: 'Seen',
      isApplied: true,
      failures: [],
      failing:
        health === 'well'
          ? []
          : [{ object: 'MachineComponentSet.kubenode.io/base', state: 'InProgress', reason: 'x', message: '3 of 5' }],
      machines: 5,
      baseline: undefined,
      readings: {},
    }
  }

  #mustBeTrue(stage: string, { metadata, spec }: Release, { clusters = [] }: ReleaseStatus): void {
    // An unreachable cluster is skipped, counted, and caught up later.
    for (const { name, phase } of clusters.filter((c) => c.stage === stage && c.phase !== 'Offline')) {
      const truth = this.truth.get(name)
      const text = (applied: string | undefined, hasSoaked: boolean | undefined) =>
        `${metadata.name ?? ''}: ${name} ${phase}, content ${applied ?? 'unknown'}, soaked ${hasSoaked ?? false}`
      expect(text(truth?.applied, truth?.hasSoaked)).toBe(text(spec.digests[name], true))
    }
  }
}

const of = (digest: string, more: Digests = {}): Digests => ({
  ...Object.fromEntries(NAMES.map((n) => [n, digest])),
  ...more,
})

describe('a Release after one that was superseded midway', () => {
  const started = () => {
    const chain = new Chain()
    chain.commit(of('A'))
    chain.steps(40)
    expect(chain.phases()).toBe('Succeeded: t1=Healthy t2=Healthy p1=Healthy')
    return chain
  }

  test.each([
    ['the content of the first', of('A')],
    ['other content', of('C')],
    ['the content of the superseded one, but for one cluster', of('B', { t2: 'C' })],
  ])('with %s is not done while its stage is only half done', (_, digests) => {
    const chain = started()
    chain.commit(of('B'))
    // Healthy for a short time, before the controllers have started.
    chain.steps(4, (c) => (c === 't2' ? 'working' : 'well'))
    chain.commit(digests)
    chain.steps(60, () => 'working')
    expect(chain.phases()).toMatch(/^Progressing: t1=Verifying t2=Verifying p1=Waiting/)
    chain.steps(60)
    expect(chain.phases()).toMatch(/^Succeeded/)
  })

  test('does not count the time in which no Release watched the cluster as its soak', () => {
    const chain = started()
    chain.commit(of('B'))
    chain.steps(4)
    chain.commit(of('B', { p1: 'C' }))
    chain.now += 3_600 * S
    chain.steps(4)
    expect(chain.phases()).toBe('Progressing: t1=Healthy t2=Healthy p1=Waiting')
  })

  test('continues the soak of a cluster whose content stays, without the time in between', () => {
    const chain = started()
    chain.commit(of('B'))
    const soaking = () => chain.newest?.status?.stages?.[0]
    chain.steps(4)
    expect(soaking()).toMatchObject({ phase: 'Soaking' })
    const until = Date.parse(soaking()?.soakUntil ?? '')
    // Only prod gets something else, three times: test does not start again each time.
    for (const next of ['C', 'D', 'E']) {
      chain.commit(of('B', { p1: next }))
      chain.steps(4)
    }
    const late = Date.parse(soaking()?.soakUntil ?? '') - until
    expect(late).toBeGreaterThan(0)
    // A few passes of each Release: it is made, begun and applied.
    expect(late).toBeLessThanOrEqual(3 * 4 * S)
    expect(chain.phases()).toMatch(/^Progressing: t1=Healthy t2=Healthy p1=(Waiting|Applying)/)
  })

  test('does not continue the soak of a cluster that was unhealthy since, or whose content changed', () => {
    for (const [digests, health] of [
      [of('B', { p1: 'C' }), 'working'],
      [of('C'), 'well'],
    ] as const) {
      const chain = started()
      chain.commit(of('B'))
      chain.steps(8)
      chain.commit(digests)
      chain.steps(3, () => health)
      chain.steps(6)
      expect(chain.newest?.status?.stages?.[0]?.phase).toBe('Soaking')
      expect(chain.phases()).toBe('Progressing: t1=Healthy t2=Healthy p1=Waiting')
    }
  })

  test('counts one that was made at the same moment and touched the cluster', () => {
    const chain = started()
    const first = chain.newest?.metadata.name
    chain.commit(of('B'))
    chain.steps(4, () => 'working')
    chain.commit(of('A'), first)
    chain.steps(4, () => 'working')
    expect(chain.phases()).toBe('Progressing: t1=Verifying t2=Verifying p1=Waiting')
  })

  test('knows that a cluster was touched that is in no stage any more', () => {
    const chain = started()
    chain.commit(of('B'))
    chain.steps(4, () => 'working')
    const [without] = [{ ...pipeline, stages: pipeline.stages.slice(1) }]
    const old = chain.newest as Release
    const clusters = new Map(NAMES.map((n) => [n, { name: n, labels: {}, digest: 'B' }]))
    const { status } = planRelease(
      {
        release: old,
        pipeline: without,
        clusters,
        ...UNDISTURBED,
      },
      chain.now,
    )
    chain.all = chain.all.map((r) => (r.metadata.name === old.metadata.name ? { ...r, status } : r))
    chain.commit(of('A'))
    chain.step(() => 'working')
    expect(chain.phases()).toBe('Progressing: t1=Applying t2=Applying p1=Waiting')
  })
})

test('a soak does not end while the cluster is unreachable', () => {
  const chain = new Chain()
  chain.commit(of('A'))
  chain.steps(4)
  chain.steps(15, () => 'silent')
  expect(chain.phases()).toBe('Progressing: t1=Healthy t2=Healthy p1=Waiting')
  chain.steps(1)
  expect(chain.newest?.status?.stages?.[0]?.phase).toBe('Succeeded')
})

test('a cluster that its stage did not wait for is watched by the next Release, also with the same content', () => {
  const chain = new Chain()
  chain.commit(of('A'))
  const t1 = (health: Health) => (c: string) => (c === 't1' ? health : 'well')
  chain.steps(13, t1('working'))
  chain.steps(8, t1('silent'))
  // It is reachable again, but healthy for less than a soak.
  chain.steps(6)
  expect(chain.phases()).toMatch(/t1=Healthy/)
  chain.commit(of('A'))
  chain.steps(2)
  expect(chain.phases()).not.toMatch(/t1=Unchanged/)
  chain.steps(60)
  expect(chain.phases()).toMatch(/^Succeeded/)
})

describe('a cluster that stays away for long', () => {
  const away = (c: string): Health => (c === 't1' ? 'silent' : 'well')
  const without = () => {
    const chain = new Chain()
    chain.commit(of('A'))
    chain.steps(80, away)
    expect(chain.phases()).toBe('Succeeded: t1=Offline t2=Healthy p1=Healthy')
    return chain
  }

  test('does not hold up later Releases that change nothing in its stage', () => {
    const chain = without()
    for (const next of ['B', 'C']) {
      chain.commit(of('A', { p1: next }))
      chain.steps(80, away)
      expect(chain.phases()).toBe('Succeeded: t1=Offline t2=Unchanged p1=Healthy')
    }
  })

  test('holds up a Release that changes it, and nothing else there', () => {
    const chain = without()
    chain.commit(of('A', { t1: 'B', p1: 'B' }))
    chain.steps(80, away)
    expect(chain.phases()).toBe('Progressing: t1=Offline t2=Unchanged p1=Waiting')
    // The next one would bring the same to prod, and it was healthy nowhere.
    chain.commit(of('A', { t1: 'B', p1: 'C' }))
    chain.steps(80, away)
    expect(chain.phases()).toBe('Progressing: t1=Offline t2=Unchanged p1=Waiting')
    chain.commit(of('A', { p1: 'D' }))
    chain.steps(80, away)
    expect(chain.phases()).toBe('Succeeded: t1=Offline t2=Unchanged p1=Healthy')
  })
})

test('whatever is committed when, a Release succeeds only on clusters that were watched healthy for a soak', () => {
  const health = fc.constantFrom<Health>('well', 'well', 'well', 'well', 'working', 'silent')
  const digest = fc.constantFrom('A', 'B', 'C')
  const act = fc.record({
    commit: fc.option(fc.record(Object.fromEntries(NAMES.map((n) => [n, digest]))), { freq: 3 }),
    isTwin: fc.boolean(),
    idle: fc.constantFrom(0, 0, 0, 30),
    health: fc.record(Object.fromEntries(NAMES.map((n) => [n, health]))),
    steps: fc.integer({ min: 1, max: 16 }),
  })
  fc.assert(
    fc.property(fc.array(act, { minLength: 2, maxLength: 25 }), (acts) => {
      const chain = new Chain()
      chain.commit(of('A'))
      for (const { commit, isTwin, idle, health: now, steps } of acts) {
        chain.now += idle * S
        const twin = chain.chain.at(-2)?.metadata.name
        if (commit !== null) chain.commit(commit, isTwin && twin !== undefined ? twin : undefined)
        chain.steps(steps, (c) => now[c] ?? 'well')
      }
      chain.steps(120)
      expect(chain.newest?.status?.phase).toBe('Succeeded')
    }),
    { numRuns: 300 },
  )
})
