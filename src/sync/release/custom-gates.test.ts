// Custom gates: what their rules read from a cluster, and that a gate opens only for a rule that is certainly true.
import { describe, expect, test } from 'vitest'
import { releasePipeline, type ReleasePipelineSpec } from '#api/kinds/release-pipeline.ts'
import type { Release, ReleaseStatus } from '#api/kinds/release.ts'
import type { Baseline } from '#api/kinds/inventory.ts'
import { applyDefaults } from '#api/schema/default.ts'
import type { ClusterAnswer, SeenCluster } from './cluster-seen.ts'
import { customFindings, judgeRule } from './custom-gates.ts'
import type { ClusterReadings } from './gates.ts'
import type { Survey } from './stage-gates.ts'
import { defined } from '#lib/defined.ts'

const NOW = Date.parse('2026-01-31T12:00:00Z')
const leaf = (path: string, operator: string, value: unknown, fact = 'cluster') => ({ fact, path, operator, value })

describe('a rule', () => {
  const cluster = { name: 'a', machines: 10, ready: 9, readyShare: 0.9 }
  test.each<[string, object, boolean, string]>([
    ['that is true opens the gate', { all: [leaf('/ready', 'greaterThan', 5)] }, true, 'the rule is true'],
    [
      'that is false says which condition, and what was observed',
      { all: [leaf('/ready', 'greaterThan', 5), leaf('/readyShare', 'greaterThanInclusive', 0.95)] },
      false,
      'cluster/readyShare greaterThanInclusive 0.95: observed 0.9',
    ],
    [
      'under not says so',
      { not: { all: [leaf('/ready', 'greaterThan', 5)] } },
      false,
      'not cluster/ready greaterThan 5: observed 9',
    ],
    [
      'about what was not read keeps the gate shut',
      { all: [leaf('/repairsLastHour', 'equal', 0)] },
      false,
      'cluster/repairsLastHour equal 0: not there',
    ],
    [
      'about what was not read keeps the gate shut under not, too',
      { not: { all: [leaf('/repairsLastHour', 'greaterThan', 0)] } },
      false,
      'not cluster/repairsLastHour greaterThan 0: not there',
    ],
  ])('%s', async (_, when, holds, seen) =>
    expect(await judgeRule('r', when, { cluster }, NOW)).toEqual({ holds, seen }),
  )

  test('that does not compile keeps the gate shut and says why', async () => {
    const found = await judgeRule('r', { all: [leaf('/redy', 'greaterThan', 5)] }, { cluster }, NOW)
    expect(found).toMatchObject({ holds: false, seen: expect.stringMatching(/^invalid rule: .*redy/) })
  })
})

const pipelineOf = (stage: object): ReleasePipelineSpec =>
  (
    applyDefaults(releasePipeline.schema, {
      spec: { stages: [{ name: 'prod', clusters: { names: ['a', 'b'] }, ...stage }] },
    }) as { spec: ReleasePipelineSpec }
  ).spec

const releaseOf = (status: ReleaseStatus): Release => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Release',
  metadata: { name: 'r', namespace: 'n' },
  spec: { source: 's', track: 't', pipeline: 'p', commit: 'c'.repeat(40), digests: { a: 'a', b: 'b' }, changed: 1 },
  status,
})

const OPEN: ReleaseStatus = {
  startedAt: '2026-01-31T11:00:00Z',
  stages: [{ name: 'prod', phase: 'Progressing', startedAt: '2026-01-31T11:30:00Z', healthy: 1, failed: 0, total: 2 }],
  clusters: [
    { name: 'a', stage: 'prod', phase: 'Verifying', since: '2026-01-31T11:50:00Z' },
    { name: 'b', stage: 'prod', phase: 'Waiting', since: '2026-01-31T11:50:00Z' },
  ],
}

const readings: ClusterReadings = {
  machines: { total: 10, notReady: ['u1', 'u2'], inconsistent: ['u2', 'u3'], skipped: ['u3'] },
  repairs: [
    { at: NOW - 30 * 60_000, names: ['n-1'] },
    { at: NOW - 5 * 3_600_000, names: ['n-2'] },
  ],
}
const BASELINE: Baseline = {
  release: 'r',
  takenAt: '2026-01-31T11:00:00Z',
  failing: [{ object: 'Machine.kubenode.io/m1', uid: 'u1', part: 'machine/m1', state: 'Failed', reason: 'NotReady' }],
  blamed: [],
  changes: [],
}
const answer = (more: Partial<ClusterAnswer & { kind: 'Seen' }> = {}): ClusterAnswer => ({
  kind: 'Seen',
  isApplied: true,
  failures: [],
  failing: [],
  machines: 10,
  baseline: BASELINE,
  readings,
  ...more,
})
const clusterOf = (name: string, its?: ClusterAnswer): [string, SeenCluster] => [
  name,
  { name, labels: { zone: 'z1' }, digest: name, ...defined({ answer: its }) },
]

async function found(gate: object, when: 'before' | 'gates' | 'after', surveys = new Map<string, Survey>()) {
  const clusters = new Map([clusterOf('a', answer()), clusterOf('b')])
  const pipeline = pipelineOf({ [when]: [{ name: 'own', custom: { when: gate } }] })
  return customFindings({ release: releaseOf(OPEN), pipeline, clusters, surveys, now: NOW })
}

describe('the facts of a gate', () => {
  test.each<[string, object]>([
    ['machines', leaf('/machines', 'equal', 10)],
    ['the share that is Ready', leaf('/readyShare', 'equal', 0.8)],
    ['machines that broke since the release began', leaf('/newNotReady', 'equal', 1)],
    ['inconsistent ones without those left for later', leaf('/newInconsistent', 'equal', 1)],
    ['repairs of the last hour', leaf('/repairsLastHour', 'equal', 1)],
    ['repairs of the last day', leaf('/repairsLastDay', 'equal', 2)],
    ['repairs since the release began', leaf('/newRepairs', 'equal', 1)],
    ['labels of the cluster', leaf('/zone', 'equal', 'z1', 'labels')],
    ['the stage', leaf('/minutes', 'equal', 30, 'stage')],
    ['clusters of the stage', leaf('/healthy', 'equal', 1, 'stage')],
    ['the release', leaf('/minutes', 'equal', 60, 'release')],
    ['whether it is a revert', leaf('/isRevert', 'equal', false, 'release')],
  ])('have %s', async (_, condition) =>
    expect(await found({ all: [condition] }, 'gates')).toEqual(
      new Map([['prod/During/own/a', { holds: true, seen: 'the rule is true' }]]),
    ),
  )

  test('are those of a survey before the stage opens, and nothing is known of a cluster that does not respond', async () => {
    const surveys = new Map<string, Survey>([
      ['a', { kind: 'Read', readings: { machines: { total: 0, notReady: [], inconsistent: [], skipped: [] } } }],
      ['b', { kind: 'Unreachable', message: 'no' }],
    ])
    expect(await found({ all: [leaf('/machines', 'equal', 0)] }, 'before', surveys)).toEqual(
      new Map([['prod/Before/own/a', { holds: true, seen: 'the rule is true' }]]),
    )
    const share = await found({ all: [leaf('/readyShare', 'lessThan', 1)] }, 'before', surveys)
    expect(share.get('prod/Before/own/a')).toMatchObject({ holds: false, seen: expect.stringMatching(/not there/) })
  })
})
