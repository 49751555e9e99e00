import { expect, test } from 'vitest'
import type { Approval } from '#api/kinds/approval.ts'
import type { Release, ReleaseStatus } from '#api/kinds/release.ts'
import { targetsDigest } from '#sync/release/tracks.ts'
import { commitLines, differenceLines, isCommit } from './commit-trace.ts'

const [A, B, C] = ['a', 'b', 'c'].map((letter) => letter.repeat(40)) as [string, string, string]
const T = (minute: number) => `2026-01-31T12:${String(minute).padStart(2, '0')}:00Z`

const release = (
  name: string,
  commit: string,
  digests: Record<string, string>,
  status: ReleaseStatus,
  more = {},
): Release => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Release',
  metadata: { name, namespace: 'kubenode-system' },
  spec: { source: 's', track: 'fleet', pipeline: 'p', commit, digests, ...more },
  status,
})

const bad = release(
  'fleet-b',
  B,
  { x: '1'.repeat(64), y: '2'.repeat(64) },
  {
    phase: 'Reverted',
    startedAt: T(0),
    finishedAt: T(9),
    revertCommit: C,
    revert: { branch: 'main', restores: A, at: T(8) },
    stages: [
      {
        name: 'test',
        phase: 'Failed',
        startedAt: T(0),
        waitingFor: { predicate: 'StageFailed', seen: '1 of 1', since: T(7) },
      },
      { name: 'prod', phase: 'Waiting' },
    ],
    clusters: [
      { name: 'x', stage: 'test', phase: 'Failed', since: T(7), digest: '1'.repeat(64), message: 'not healthy' },
      { name: 'y', stage: 'prod', phase: 'Waiting', since: T(0) },
    ],
  },
  { after: A, signer: 'ada SHA256:1' },
)
const revert = release('fleet-c', C, { x: '0'.repeat(64), y: '2'.repeat(64) }, {}, { revertOf: B })
const approval = {
  metadata: { name: 'a', creationTimestamp: T(1) },
  spec: { digest: targetsDigest(bad), by: 'bob', reason: 'board' },
} as Approval
const other = { metadata: { name: 'o' }, spec: { digest: 'other', by: 'eve' } } as Approval

const lines = (commit: string, releases: readonly Release[] = [bad, revert]) =>
  commitLines({ commit, releases, approvals: [approval, other] })

test('a commit is traced from its parent to its revert', () => {
  expect(lines(B.slice(0, 12))).toEqual([
    'release/fleet-b of track fleet: Reverted',
    `  commit ${B}, after aaaaaaaaaaaa`,
    '  signed by ada SHA256:1',
    '  2026-01-31T12:00:00Z to 2026-01-31T12:09:00Z',
    '  approved by bob at 2026-01-31T12:01:00Z: board',
    '  stage test: Failed, 2026-01-31T12:00:00Z to now',
    '    StageFailed since 2026-01-31T12:07:00Z: 1 of 1',
    '    x: Failed since 2026-01-31T12:07:00Z, digest 111111111111, not healthy',
    '  stage prod: Waiting',
    '    y: Waiting since 2026-01-31T12:00:00Z, digest 222222222222 declared',
    '  reverted by cccccccccccc, by sync on branch main, release/fleet-c',
  ])
  expect(lines(B, [bad]).at(-1)).toContain('which is not followed yet')
})

test('titles stand beside the hashes that its releases know', () => {
  const titled = (of: Release, subject: string): Release => ({ ...of, spec: { ...of.spec, subject, author: 'Ada' } })
  const known = [titled(bad, 'beacon 2'), titled(revert, 'back to 1')]
  expect(lines(B, known)).toContain('  bbbbbbbbbbbb "beacon 2" by Ada')
  expect(lines(B, known).at(-1)).toBe(
    '  reverted by cccccccccccc "back to 1" by Ada, by sync on branch main, release/fleet-c',
  )
  expect(lines(C, known)).toContain('  reverts bbbbbbbbbbbb "beacon 2" by Ada')
})

test('a revert by a person, a refused one, an unknown commit, and a start of several', () => {
  const { revertCommit: _, revert: __, ...rest } = bad.status ?? {}
  expect(lines(B, [{ ...bad, status: rest }, revert]).at(-1)).toBe('  reverted by cccccccccccc, release/fleet-c')
  const refused = { ...bad, status: { ...rest, revert: { at: T(8), problem: 'no key' } } }
  expect(lines(B, [refused]).at(-1)).toBe('  not reverted: no key')
  expect(lines('0'.repeat(12))[0]).toMatch(/has no release/)
  const twin = release('fleet-d', `${B.slice(0, 39)}c`, {}, {})
  expect(lines(B.slice(0, 12), [bad, twin])).toEqual([
    `commit ${B.slice(0, 12)} is the start of 2 commits:`,
    B,
    twin.spec.commit,
  ])
})

test('what differs between two releases, and the plan that shows it', () => {
  expect(differenceLines(bad, revert)).toEqual([
    '1 of 2 clusters differs between release/fleet-b and release/fleet-c',
    '  x: 111111111111 → 000000000000',
    'kubenode plan bbbbbbbbbbbb..cccccccccccc',
  ])
  expect(differenceLines(bad, bad)).toHaveLength(1)
})

test('words that are commits', () => {
  expect(['abc1234', B, 'abc123', 'node/n-1', 'Abc1234', `${B}0`].map(isCommit)).toEqual([
    true,
    true,
    false,
    false,
    false,
    false,
  ])
})
