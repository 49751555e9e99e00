import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Release, ReleaseStatus } from '#api/kinds/release.ts'
import { revertNamedIn } from '../trust/revert-trailers.ts'
import { decideRevert, isRevertDue, type RevertSeen } from './decide.ts'
import { returnsOf, revertedBefore } from './known-bad.ts'
import { revertMessage } from './message.ts'
import { revertPolicyOf } from './policy.ts'

const [A, B, C] = ['a', 'b', 'c'].map((letter) => letter.repeat(40)) as [string, string, string]
const T = '2026-11-22T12:00:00Z'

type Stages = NonNullable<ReleaseStatus['stages']>
const FAILED: ReleaseStatus = {
  phase: 'Paused',
  stages: [{ name: 'test', phase: 'Failed', waitingFor: { predicate: 'StageFailed', since: T } }],
  clusters: [
    { name: 'x', stage: 'test', phase: 'Failed', since: T, digest: '2', message: 'no\nKubenode-Reverts: evil' },
  ],
}
const SUCCEEDED: ReleaseStatus = {
  phase: 'Succeeded',
  stages: [{ name: 'test', phase: 'Succeeded' }],
  clusters: [{ name: 'x', stage: 'test', phase: 'Healthy', since: T, digest: '1' }],
}

const release = (name: string, commit: string, digest: string, status: ReleaseStatus, more = {}): Release => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Release',
  metadata: { name, namespace: 'n' },
  spec: { source: 's', track: 't', pipeline: 'p', commit, digests: { x: digest }, ...more },
  status,
})
const good = release('r1', A, '1', SUCCEEDED)
const bad = release('r2', B, '2', FAILED, { after: A, previous: 'r1' })

const seenOf = (more: Partial<RevertSeen> = {}): RevertSeen => ({
  release: bad,
  status: FAILED,
  chain: [good, bad],
  releases: [good, bad],
  source: { spec: { ref: { branch: 'main' }, push: { secretRef: { name: 'p' } } } } as unknown as RevertSeen['source'],
  policy: revertPolicyOf({ onFailure: 'Revert' }),
  isPaused: false,
  ...more,
})
const refuses = (more: Partial<RevertSeen>) => decideRevert(seenOf(more))

describe('whether sync reverts', () => {
  test('a failed release, to the commit before, on a branch of its own or on the followed one', () => {
    const order = { kind: 'Write', reverts: B, restores: A, branch: `revert/${B.slice(0, 12)}`, isDirect: false }
    expect(decideRevert(seenOf())).toEqual({ ...order, at: Date.parse(T) })
    const policy = revertPolicyOf({ onFailure: 'Revert', revert: { to: 'Direct', branchPrefix: 'x/' } })
    expect(refuses({ policy })).toMatchObject({ branch: 'main', isDirect: true })
  })

  test.each<[string, Partial<RevertSeen>]>([
    ['no stage failed', { status: SUCCEEDED }],
    ['the pipeline pauses', { policy: revertPolicyOf({}) }],
    ['the pipeline was not there before', { policy: undefined }],
    ['a person holds it', { isPaused: true }],
    ['it is reverted already', { status: { ...FAILED, revertCommit: C } }],
  ])('nothing when %s', (_, more) => expect(refuses(more)).toEqual({ kind: 'None' }))

  const revert = release('r2', B, '1', FAILED, { after: A, revertOf: C })
  test.each<[string, Partial<RevertSeen>, RegExp]>([
    ['a revert that fails', { release: revert, chain: [good, revert] }, /a revert that fails is not reverted/],
    [
      'a second time',
      { releases: [good, bad, release('r3', C, '1', {}, { revertOf: B })] },
      /reverted before, by cccc/,
    ],
    ['no key', { source: { spec: { ref: { branch: 'main' } } } as never }, /no spec.push/],
    ['a tag', { source: { spec: { ref: { tag: 'v1' }, push: {} } } as never }, /follows a tag/],
    ['nothing before', { chain: [bad] }, /first release/],
    ['a failed one before', { chain: [release('r1', A, '1', FAILED), bad] }, /r1, the release before, did not succeed/],
    ['an unfinished one before', { chain: [release('r1', A, '1', {}), bad] }, /did not succeed/],
    ['an old release', { release: release('r2', B, '2', FAILED) }, /no commit was followed before/],
  ])('refused with its reason: %s', (_, more, why) =>
    expect(refuses(more)).toEqual({ kind: 'Refuse', why: expect.stringMatching(why) as unknown }),
  )

  test('the other track of the commit knows the revert', () => {
    const other = release('o', B, '2', { revertCommit: C })
    expect(refuses({ releases: [good, bad, other] })).toEqual({ kind: 'Known', commit: C })
  })

  test('whatever the statuses are: never from a revert, never to what did not succeed, never twice', () => {
    const phases: fc.Arbitrary<Stages[number]['phase']> = fc.constantFrom(
      'Succeeded',
      'Skipped',
      'Failed',
      'Soaking',
      'Waiting',
    )
    const stages = fc
      .array(phases, { maxLength: 3 })
      .map((all): Stages => all.map((phase, i) => ({ name: `s${i}`, phase })))
    const world = fc.record({
      before: stages,
      now: stages,
      revertOf: fc.option(fc.constant(C), { nil: undefined }),
      isBack: fc.boolean(),
      isPaused: fc.boolean(),
      isReverted: fc.boolean(),
    })
    fc.assert(
      fc.property(world, ({ before, now, revertOf, isBack, isPaused, isReverted }) => {
        const old = release('r1', A, '1', { stages: before })
        const own = release('r2', B, isBack ? '1' : '2', {}, { after: A, ...(revertOf && { revertOf }) })
        const status = { stages: now, ...(isReverted && { revertCommit: C }) }
        const { kind } = refuses({ release: own, status, chain: [old, own], releases: [old, own], isPaused })
        const mayWrite =
          now.some((s) => s.phase === 'Failed') &&
          // A commit whose message only claims to be a revert is treated like any other.
          !(revertOf !== undefined && isBack) &&
          !isPaused &&
          !isReverted &&
          before.length > 0 &&
          before.every((s) => s.phase === 'Succeeded' || s.phase === 'Skipped')
        expect(kind === 'Write').toBe(mayWrite)
      }),
    )
  })

  test('failed attempts come less and less often', () => {
    const at = Date.parse(T)
    const due = (attempts: number, afterMs: number) => isRevertDue({ revert: { at: T, attempts } }, at + afterMs)
    expect([due(1, 9_000), due(1, 10_000), due(50, 599_000), due(50, 600_000)]).toEqual([false, true, false, true])
    expect(isRevertDue({}, at)).toBe(true)
  })
})

test('the message names each commit once, whatever servers and people wrote', () => {
  const made = revertMessage({
    release: bad,
    status: FAILED,
    subject: `evil\u202e\nKubenode-Reverts: ${C}`,
    reverts: B,
    restores: A,
    paths: ['a', `\nKubenode-Restores: ${C}`],
  })
  expect(revertNamedIn(made)).toEqual({ reverts: B, restores: A })
  expect(made).not.toMatch(/^Kubenode-Reverts: (evil|c)/m)
  expect(made).toContain('Release n/r2 failed in stage test at 2026-11-22T12:00:00Z.\n- cluster x: no')
})

describe('what the track remembers', () => {
  const revert = release('r3', C, '1', SUCCEEDED, { revertOf: B })
  const reverted = release('r2', B, '2', { ...FAILED, phase: 'Reverted', revertCommit: C })
  const again = release('r4', 'd'.repeat(40), '2', {})

  test('the same objects again wait for a person; others do not', () => {
    const chain = [good, reverted, revert, again]
    expect(revertedBefore(chain, again)).toEqual({
      commit: B,
      title: {},
      revertCommit: C,
      revertedBy: C.slice(0, 12),
    })
    // A commit that was held back was never tried: the third commit with this content waits like the second.
    const waited = {
      clusters: [{ name: 'x', stage: 'test', phase: 'Waiting' }],
      stages: [{ name: 'test', phase: 'Waiting' }],
    }
    const held = release('r5', 'e'.repeat(40), '2', { ...waited, phase: 'Reverted', revertCommit: C } as never)
    const third = release('r6', 'f'.repeat(40), '2', {})
    expect(revertedBefore([good, reverted, revert, held, revert, third], third)?.commit).toBe(B)
    expect(revertedBefore([good, reverted, revert], revert)).toBeUndefined()
    const overruled = { ...reverted, status: { ...reverted.status, revert: { at: T, overruledAt: T } } } as Release
    expect(revertedBefore([good, overruled, revert, again], again)).toBeUndefined()
    const healthy = release('r2', B, '2', { ...SUCCEEDED, phase: 'Reverted', revertCommit: C })
    expect(revertedBefore([good, healthy, revert, again], again)).toBeUndefined()
  })

  test('a revert gives a cluster what passed there, or it is an ordinary change', () => {
    expect([...returnsOf([good, reverted, revert], revert)]).toEqual(['x'])
    expect([...returnsOf([reverted, revert], revert)]).toEqual([])
    const plain = release('r3', C, '1', {})
    expect([...returnsOf([good, reverted, plain], plain)]).toEqual([])
    const other = release('r3', C, '3', {}, { revertOf: B })
    expect([...returnsOf([good, reverted, other], other)]).toEqual([])
  })
})
