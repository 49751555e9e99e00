import { expect, test } from 'vitest'
import type { Release, ReleaseStatus } from '#api/kinds/release.ts'
import { newestReleases } from '#explain/newest-releases.ts'
import { storyLines } from '#explain/finding.ts'
import { canBeRetried, continuingLines, releaseStory } from '#explain/release/status.ts'
import { defined } from '#lib/defined.ts'

const NOW = Date.parse('2026-01-31T12:00:00Z')
const since = '2026-01-31T11:56:00Z'
const release = (name: string, status?: ReleaseStatus, previous?: string): Release => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Release',
  metadata: { name, namespace: 'kubenode-system' },
  spec: {
    source: 's',
    track: 'fleet',
    pipeline: 'p',
    commit: 'c'.repeat(40),
    digests: {},
    ...defined({ previous }),
  },
  ...defined({ status }),
})

const releaseLines = (of: Release, now: number) => storyLines(releaseStory(of, { now }))

const stopped: ReleaseStatus = {
  phase: 'Paused',
  stages: [
    {
      name: 'test',
      phase: 'Failed',
      healthy: 1,
      total: 2,
      waitingFor: { predicate: 'StageFailed', seen: '1 of 2 clusters failed', since, unblock: 'a commit corrects it' },
    },
    { name: 'pre', phase: 'Skipped', healthy: 0, total: 0 },
    { name: 'prod', phase: 'Waiting', healthy: 0, total: 1 },
  ],
  clusters: [
    { name: 'a', stage: 'test', phase: 'Healthy', since, failures: { before: 0, new: 0 } },
    { name: 'b', stage: 'test', phase: 'Failed', since, message: 'set/base: blocked', failures: { before: 2, new: 1 } },
    { name: 'p', stage: 'prod', phase: 'Waiting', since },
  ],
}

test('a stopped release names what failed, what is older, and the command that tries it again', () => {
  expect(releaseLines(release('fleet-1', stopped), NOW)).toEqual([
    'release/fleet-1 is Paused: commit cccccccccccc of track fleet',
    'stage test: Failed, 1 of 2 clusters healthy',
    '  Blocked for 4m: StageFailed',
    '    observed: 1 of 2 clusters failed',
    '    unblocks when: a commit corrects it: kubenode release status fleet-1',
    '  b: Failed for 4m, 1 new failure; 2 older failures not counted',
    '    set/base: blocked',
    'stage pre: Skipped, no clusters',
    'stage prod: Waiting, 0 of 1 cluster healthy',
    'to retry the failed clusters and gates: kubenode release retry fleet-1 --reason WHY',
  ])
})

test('a held release says in which clusters machines continue, and how they are stopped', () => {
  const cluster = (name: string, phase: 'Applying' | 'Verifying' | 'Healthy' | 'Waiting') =>
    ({ name, stage: 'test', phase, since }) as const
  const clusters = [cluster('hub', 'Verifying'), cluster('a', 'Healthy'), cluster('b', 'Verifying')]
  const held = {
    type: 'Paused',
    status: 'True',
    reason: 'HoldPause',
    message: 'ada holds it',
    lastTransitionTime: since,
  }
  const lines = releaseLines(release('fleet-1', { ...stopped, clusters, conditions: [held] } as ReleaseStatus), NOW)
  const text =
    'b has the objects already and continues with the machines: to stop these, run kubenode pause set/NAME or kubenode freeze there (--context b)'
  expect(lines.slice(1, 3)).toEqual(['paused: ada holds it', `  ${text}`])
  expect(continuingLines({ clusters: [...clusters, cluster('c', 'Applying')] })[0]).toMatch(
    /^b, c have .* continue with/,
  )
  expect(continuingLines({ clusters: [cluster('a', 'Healthy'), cluster('p', 'Waiting')] })).toEqual([])
  expect(releaseLines(release('fleet-1', { ...stopped, clusters }), NOW)).not.toContain(text)
})

test('a hold of a person is shown, also on a release whose stage failed', () => {
  const message = 'ada holds it until 2026-02-01T12:00:00Z: not tonight'
  const condition = { type: 'Paused', reason: 'HoldPause', message, lastTransitionTime: since } as const
  const lines = (status: 'True' | 'False') =>
    releaseLines(release('fleet-1', { ...stopped, conditions: [{ ...condition, status }] }), NOW)
  expect(lines('True')[1]).toBe('paused: ada holds it until Sun 1 Feb 12:00 UTC: not tonight')
  expect(lines('False')).toEqual(releaseLines(release('fleet-1', stopped), NOW))
})

test('a release that waits for deletions names the digest and how to approve it', () => {
  const prune = { digest: 'd'.repeat(64), count: 3, allowed: 1, first: 'ConfigMap/default/a' }
  const waitingFor = { predicate: 'PruneGuard', seen: '3 objects would be deleted', since }
  const clusters: ReleaseStatus['clusters'] = [
    { name: 'a', stage: 'test', phase: 'Verifying', since, prune, waitingFor, failures: { before: 0, new: 0 } },
  ]
  const status: ReleaseStatus = { phase: 'Progressing', stages: [{ name: 'test', phase: 'Progressing' }], clusters }
  expect(releaseLines(release('fleet-1', status), NOW).slice(2)).toEqual([
    '  a: Verifying for 4m, 0 new failures',
    '    PruneGuard: 3 objects would be deleted',
    `    digest to approve: ${'d'.repeat(64)}`,
    'to approve its deletions: kubenode approve release/fleet-1 --reason WHY',
  ])
})

test('only what failed and is not over is tried again', () => {
  expect(canBeRetried(stopped)).toBe(true)
  expect(canBeRetried({ ...stopped, phase: 'Superseded' })).toBe(false)
  expect(canBeRetried({ phase: 'Progressing', clusters: [] })).toBe(false)
})

test('a release whose objects failed before is retried, as its status advises', () => {
  const waitingFor = { predicate: 'RevertedBefore', since, unblock: 'kubenode release retry r --reason WHY' }
  expect(canBeRetried({ phase: 'Progressing', clusters: [], waitingFor })).toBe(true)
  expect(canBeRetried({ phase: 'Superseded', clusters: [], waitingFor })).toBe(false)
})

test('the newest release of a track is the one that no other names', () => {
  const all = [release('b', undefined, 'a'), release('a'), release('other')]
  expect(newestReleases(all).map((r) => r.metadata.name)).toEqual(['b', 'other'])
})
