// The record of a Release: times, gates and approvers of each cluster, bounded, and unchanged after it is finished.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  MAX_ALL_RECORDED_GATES,
  MAX_ALL_RECORDED_SWITCHES,
  MAX_RECORDS,
  type Release,
  type ReleaseStatus,
} from '#api/kinds/release.ts'
import { releasePipeline, type ReleasePipelineSpec } from '#api/kinds/release-pipeline.ts'
import { applyDefaults } from '#api/schema/default.ts'
import { bounded, closedRecord, recordOf, type RecordSeen, type ReleaseRecord } from './record.ts'
import { DIGEST_OF_LEAVING } from './tracks.ts'

const T0 = Date.parse('2026-01-31T12:00:00Z')
const at = (seconds: number) => new Date(T0 + seconds * 1_000).toISOString().replace('.000', '')

const pipeline = (
  applyDefaults(releasePipeline.schema, {
    spec: {
      stages: [
        {
          name: 'prod',
          clusters: { names: ['a'] },
          before: [{ name: 'board', approval: { from: ['ada', 'group:sre'], count: 1 } }],
          gates: [{ name: 'ready', machinesReady: {} }],
        },
      ],
    },
  }) as { spec: ReleasePipelineSpec }
).spec

const releaseOf = (record?: ReleaseStatus['record']): Release => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Release',
  metadata: { name: 'r', namespace: 'n' },
  spec: { source: 's', track: 't', pipeline: 'p', commit: 'c'.repeat(40), digests: { a: 'd'.repeat(64) } },
  status: record === undefined ? {} : { record },
})

type Phase = ReleaseRecord['phase']
const seenAt = (
  phase: Phase,
  stage: 'Progressing' | 'Succeeded' | 'Failed',
  record?: ReleaseStatus['record'],
): RecordSeen => ({
  release: releaseOf(record),
  pipeline,
  stages: [
    {
      name: 'prod',
      phase: stage,
      gates: [
        { when: 'Before', name: 'board', phase: 'Passed', since: at(0), seen: 'approved by 1 of 1' },
        { when: 'During', name: 'ready', phase: 'Waiting', since: at(0), seen: 'a: 1 of 2 machines are Ready' },
      ],
    },
  ],
  clusters: [{ name: 'a', stage: 'prod', phase, since: at(0) }],
  approvedBy: [
    { by: 'ada', groups: [] },
    { by: 'bob', groups: ['other'] },
    { by: 'cleo', groups: ['sre'] },
  ],
})

describe('the record', () => {
  test('has no cluster that the release has not reached', () =>
    expect(recordOf(seenAt('Waiting', 'Progressing'), T0)).toEqual([]))

  test('says that the stage deleted the Cluster', () => {
    const seen = seenAt('Healthy', 'Succeeded')
    const { release } = seen
    const leaving = { ...release, spec: { ...release.spec, digests: { a: DIGEST_OF_LEAVING } } }
    expect(recordOf(seen, T0)[0]?.deletesCluster).toBeUndefined()
    expect(recordOf({ ...seen, release: leaving }, T0)[0]).toMatchObject({ cluster: 'a', deletesCluster: true })
  })

  test('begins with the cluster, with its gates and those who approved', () => {
    expect(recordOf(seenAt('Applying', 'Progressing'), T0)).toEqual([
      {
        commit: 'c'.repeat(40),
        cluster: 'a',
        stage: 'prod',
        digest: 'd'.repeat(64),
        phase: 'Applying',
        startedAt: at(0),
        gates: [
          {
            name: 'board',
            when: 'Before',
            kind: 'approval',
            result: 'Passed',
            evidence: 'approved by 1 of 1',
            at: at(0),
          },
          {
            name: 'ready',
            when: 'During',
            kind: 'machinesReady',
            result: 'Waiting',
            evidence: 'a: 1 of 2 machines are Ready',
            at: at(0),
          },
        ],
        approvedBy: ['ada', 'cleo'],
      },
    ])
  })

  test('keeps when it began and when a gate got its result, and ends with the stage', () => {
    const first = recordOf(seenAt('Applying', 'Progressing'), T0)
    const later = recordOf(seenAt('Healthy', 'Progressing', first), T0 + 5_000)
    expect(later[0]).toMatchObject({ phase: 'Healthy', startedAt: at(0), gates: [{ at: at(0) }, { at: at(0) }] })
    expect(later[0]).not.toHaveProperty('finishedAt')
    const done = recordOf(seenAt('Healthy', 'Succeeded', later), T0 + 9_000)
    expect(done[0]?.finishedAt).toBe(at(9))
  })

  test('changes no more once it is finished, unless the cluster starts again', () => {
    const failed = recordOf(seenAt('Failed', 'Failed'), T0)
    expect(recordOf(seenAt('Failed', 'Failed', failed), T0 + 60_000)).toEqual(failed)
    const again = recordOf(seenAt('Applying', 'Progressing', failed), T0 + 90_000)
    expect(again[0]).toMatchObject({ phase: 'Applying', startedAt: at(0) })
    expect(again[0]).not.toHaveProperty('finishedAt')
  })

  test('keeps how long switches took, as they were read last, until the cluster is done', () => {
    const switchesAt = (p90: number) => new Map([['a', [{ set: 'base', component: 'beacon', count: 3, p50: 60, p90 }]]])
    const begun = recordOf({ ...seenAt('Applying', 'Progressing'), switches: switchesAt(90) }, T0)
    // A cluster that is not read now keeps its record.
    const unread = recordOf(seenAt('Verifying', 'Progressing', begun), T0 + 1_000)
    expect(unread[0]?.switches).toEqual(switchesAt(90).get('a'))
    const done = recordOf({ ...seenAt('Healthy', 'Succeeded', unread), switches: switchesAt(120) }, T0 + 2_000)
    expect(done[0]?.switches?.[0]?.p90).toBe(120)
    const later = recordOf({ ...seenAt('Healthy', 'Succeeded', done), switches: switchesAt(999) }, T0 + 3_000)
    expect(later).toEqual(done)
    const none = recordOf({ ...seenAt('Applying', 'Progressing'), switches: new Map([['a', []]]) }, T0)
    expect(none[0]).not.toHaveProperty('switches')
  })

  test('is closed by a newer release', () => {
    const open = recordOf(seenAt('Verifying', 'Progressing'), T0)
    expect(closedRecord(open, T0 + 3_000).record?.[0]).toMatchObject({ phase: 'Verifying', finishedAt: at(3) })
    expect(closedRecord(undefined, T0)).toEqual({})
  })

  test('is bounded, and keeps what failed', () => {
    const entry = fc.record({
      isFailed: fc.boolean(),
      gates: fc.integer({ min: 0, max: 16 }),
      switches: fc.integer({ min: 0, max: 32 }),
      seconds: fc.integer({ min: 0, max: 9_999 }),
    })
    fc.assert(
      fc.property(fc.array(entry, { minLength: 150, maxLength: 400 }), (entries) => {
        const all = entries.map(({ isFailed, gates, switches, seconds }, i): ReleaseRecord => ({
          commit: 'c'.repeat(40),
          cluster: `c-${i}`,
          stage: 'prod',
          digest: 'd'.repeat(64),
          phase: isFailed ? 'Failed' : 'Healthy',
          startedAt: at(seconds),
          switches: Array.from({ length: switches }, (_, n) => ({
            set: 'base',
            component: `c-${n}`,
            count: 1,
            p50: 1,
            p90: 1,
          })),
          gates: Array.from({ length: gates }, (_, g) => ({
            name: `g-${g}`,
            when: 'During' as const,
            kind: 'custom' as const,
            result: 'Passed' as const,
            at: at(seconds),
          })),
        }))
        const kept = bounded(all)
        expect(kept.length).toBe(Math.min(all.length, MAX_RECORDS))
        expect(kept.reduce((n, r) => n + (r.gates?.length ?? 0), 0)).toBeLessThanOrEqual(MAX_ALL_RECORDED_GATES)
        const measured = kept.reduce((n, r) => n + (r.switches?.length ?? 0), 0)
        expect(measured).toBeLessThanOrEqual(MAX_ALL_RECORDED_SWITCHES)
        const failed = (list: readonly ReleaseRecord[]) => list.filter((r) => r.phase === 'Failed').length
        expect(failed(kept)).toBe(Math.min(failed(all), MAX_RECORDS))
      }),
      { numRuns: 30 },
    )
  })
})

test('approved deletions are recorded with their approvers, and stay when the next pass deletes nothing', () => {
  const deletions = { digest: 'e'.repeat(64), count: 12, approvedBy: ['ada'] }
  const [first] = recordOf({ ...seenAt('Verifying', 'Progressing'), deletions: new Map([['a', deletions]]) }, T0)
  expect(first?.deletions).toEqual(deletions)
  const [next] = recordOf(seenAt('Healthy', 'Succeeded', first && [first]), T0 + 1_000)
  expect(next?.deletions).toEqual(deletions)
})
