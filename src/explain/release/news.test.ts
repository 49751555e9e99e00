import { describe, expect, test } from 'vitest'
import type { FleetSource } from '#api/kinds/fleet-source.ts'
import type { Release, ReleaseStatus } from '#api/kinds/release.ts'
import { newsReader } from './news.ts'

const { ofRelease, ofSource } = newsReader
const NOW = Date.parse('2026-01-31T12:00:00Z')
const at = (ms: number) => new Date(NOW + ms).toISOString().replace('.000', '')
const COMMIT = 'c'.repeat(40)

const release = (status: ReleaseStatus): Release => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Release',
  metadata: { name: 'fleet-1', namespace: 'kubenode-system', uid: 'u' },
  spec: { source: 'fleet', track: 'machines', pipeline: 'p', commit: COMMIT, digests: { a: 'd'.repeat(64) } },
  status,
})
const stage = (name: string, phase: 'Waiting' | 'Progressing' | 'Soaking' | 'Succeeded' | 'Failed', more = {}) => ({
  name,
  phase,
  ...more,
})
const wait = (predicate: string, ms: number, seen = 'needs 1 more approval') => ({
  waitingFor: { predicate, since: at(ms), seen, unblock: 'kubenode approve release/fleet-1' },
})

describe('what is news of a release', () => {
  const cases: readonly (readonly [string, ReleaseStatus, string | undefined])[] = [
    ['nothing has begun', { phase: 'Pending' }, undefined],
    ['the first stage', { phase: 'Progressing', stages: [stage('test', 'Progressing')] }, 'Started test'],
    [
      'a soak is no wait for people',
      { phase: 'Progressing', stages: [stage('test', 'Soaking')], ...wait('MinSuccessTime', -600_000) },
      'Started test',
    ],
    [
      'a stage is done',
      { phase: 'Progressing', stages: [stage('test', 'Succeeded'), stage('prod', 'Progressing')] },
      'StageSucceeded test',
    ],
    [
      'a gate that was closed a moment ago',
      {
        phase: 'Progressing',
        stages: [stage('test', 'Succeeded'), stage('prod', 'Waiting')],
        ...wait('GateClosed', -1),
      },
      'StageSucceeded test',
    ],
    [
      'a gate that stays closed',
      {
        phase: 'Progressing',
        stages: [stage('test', 'Succeeded'), stage('prod', 'Waiting')],
        ...wait('GateClosed', -60_000),
      },
      'Waiting prod GateClosed',
    ],
    ['a hold', { phase: 'Paused', stages: [stage('test', 'Progressing')], ...wait('HoldPause', 0) }, 'Paused test'],
    ['a failed stage', { phase: 'Paused', stages: [stage('test', 'Failed')] }, 'Failed test'],
    [
      'the same after a retry',
      { phase: 'Paused', stages: [stage('test', 'Failed')], retries: ['r'] },
      'Failed test retry 1',
    ],
    [
      'a revert on a branch',
      { phase: 'Paused', stages: [stage('test', 'Failed')], revertCommit: 'b'.repeat(40) },
      `Reverted test ${'b'.repeat(40)}`,
    ],
    ['the end', { phase: 'Succeeded', stages: [stage('test', 'Succeeded')] }, 'Succeeded'],
    ['a newer commit', { phase: 'Superseded', stages: [stage('test', 'Progressing')] }, 'Superseded'],
  ]
  test.each(cases)('%s', (_, status, key) => expect(ofRelease(release(status), [], NOW).news?.key).toBe(key))

  test('a closed gate becomes news when its minute is over', () =>
    expect(
      ofRelease(
        release({ phase: 'Progressing', stages: [stage('prod', 'Waiting')], ...wait('GateClosed', -20_000) }),
        [],
        NOW,
      ).againMs,
    ).toBe(40_000))

  test('a refused commit is news of its source, and only that', () => {
    const source = (status: object) => ({ metadata: { name: 'fleet' }, status }) as unknown as FleetSource
    expect(ofSource(source({ commit: COMMIT })).news).toBeUndefined()
    const refused = { commit: 'e'.repeat(40), reason: 'UnverifiedCommit', message: 'no signature' }
    // The known title belongs to the last commit that may be followed.
    const title = { subject: 'beacon 1.1.0', author: 'Ada' }
    expect(ofSource(source({ commit: COMMIT, ...title, refused })).news).toMatchObject({
      commit: refused.commit,
      key: `Refused ${'e'.repeat(12)} UnverifiedCommit`,
      facts: { message: 'no signature', subject: '', author: '' },
    })
    const conditions = [{ type: 'Rendered', status: 'False', reason: 'RenderFailed', message: 'x is not defined' }]
    expect(ofSource(source({ commit: COMMIT, ...title, conditions })).news).toMatchObject({
      key: 'Refused cccccccccccc RenderFailed',
      facts: title,
    })
  })
})
