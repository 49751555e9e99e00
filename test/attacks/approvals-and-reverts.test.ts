// The attacker has commit rights, or may approve for another group: what they want is a release that passes a gate without its people, a fast lane for what was never
// healthy, or a commit that is not reverted.
import { describe, expect, test } from 'vitest'
import type { Approval } from '#api/kinds/approval.ts'
import { releasePipeline, type ReleasePipelineSpec } from '#api/kinds/release-pipeline.ts'
import type { Release, ReleaseStatus } from '#api/kinds/release.ts'
import { applyDefaults } from '#api/schema/default.ts'
import { revertedCommit } from '#sync/git/revision.ts'
import type { ClusterAnswer, SeenCluster } from '#sync/release/cluster-seen.ts'
import { judgeGate, type Approver, type Gate } from '#sync/release/gates.ts'
import { releaseApprovers } from '#sync/release/release-approvers.ts'
import { openClusters, type ReleaseSeen } from '#sync/release/release-seen.ts'
import { planRelease } from '#sync/release/stages.ts'
import { targetsDigest } from '#sync/release/tracks.ts'
import { decideRevert, type RevertSeen } from '#sync/revert/decide.ts'
import { returnsOf, revertedBefore } from '#sync/revert/known-bad.ts'
import { revertPolicyOf } from '#sync/revert/policy.ts'
import { UNDISTURBED } from '#test/support/fleets/undisturbed.ts'
import { defined } from '#lib/defined.ts'
import { sha256Hex } from '#lib/sha256.ts'

const NOW = Date.parse('2026-01-31T12:00:00Z')
const at = (minutes: number): string => new Date(NOW + minutes * 60_000).toISOString().replace('.000', '')
const id = (letter: string): string => letter.repeat(40)
const contentOf = (text: string): string => sha256Hex(text)

interface Made {
  readonly content: Readonly<Record<string, string>>
  readonly commit?: string
  readonly made?: string
  readonly revertOf?: string
  readonly status?: ReleaseStatus
}

/** Of one track, oldest first: each names the one before it. */
function chain(...all: readonly Made[]): readonly Release[] {
  return all.map(({ content, commit, made = at(-60), revertOf, status = {} }, i) => ({
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Release',
    metadata: { name: `r-${i}`, namespace: 'n', creationTimestamp: made },
    spec: {
      source: 's',
      track: 't',
      pipeline: 'p',
      commit: commit ?? id(String(i)),
      digests: Object.fromEntries(Object.entries(content).map(([cluster, text]) => [cluster, contentOf(text)])),
      ...(i > 0 && { after: all[i - 1]?.commit ?? id(String(i - 1)), previous: `r-${i - 1}` }),
      ...defined({ revertOf }),
    },
    status,
  }))
}
const last = (all: readonly Release[]): Release => all.at(-1) as Release

const ONE = { test: 'one', prod: 'one' }
const TWO = { test: 'two', prod: 'two' }

interface Given {
  readonly digest: string
  readonly by?: string
  readonly groups?: readonly string[]
  readonly made?: string
  readonly until?: string
}
const approval = ({ digest, by = 'ada', groups = ['board'], made = at(-1), until }: Given): Approval => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Approval',
  metadata: { name: 'a', creationTimestamp: made },
  spec: { digest, by, groups, ...defined({ until }) },
})

const BOARD: Gate = { name: 'board', timeout: '1h', approval: { from: ['group:board'], count: 1 } }
const passes = (approvedBy: readonly Approver[], gate = BOARD): boolean =>
  judgeGate(gate, undefined, { now: NOW, approvedBy }).holds
const opens = (all: readonly Release[], approvals: readonly Approval[], gate = BOARD): boolean =>
  passes(releaseApprovers({ approvals, chain: all, release: last(all) }, NOW), gate)

describe('an Approval', () => {
  const waiting = chain({ content: ONE, made: at(-60) }, { content: TWO, made: at(-10) })
  const right = targetsDigest(last(waiting))

  test('control: of what waits, by one of the group, opens the gate', () => {
    expect(opens(waiting, [approval({ digest: right })])).toBe(true)
    expect(opens(waiting, [approval({ digest: right, until: at(10) })])).toBe(true)
  })

  test.each<[string, Given]>([
    ['of the release before', { digest: targetsDigest(waiting[0] as Release) }],
    ['of the commit', { digest: last(waiting).spec.commit }],
    ['of the commit as trust names it', { digest: contentOf(`s ${last(waiting).spec.commit}`) }],
    ['of one cluster alone', { digest: targetsDigest({ spec: { digests: { prod: contentOf('two') } } }) }],
    [
      'of the content of two clusters the other way round',
      { digest: targetsDigest({ spec: { digests: { test: contentOf('one'), prod: contentOf('two') } } }) },
    ],
    ['of a cluster of another name', { digest: targetsDigest({ spec: { digests: { test2: contentOf('two') } } }) }],
    ['of the content itself', { digest: contentOf('two') }],
    ['of the digest in capital letters', { digest: right.toUpperCase() }],
    ['of the start of the digest', { digest: right.slice(0, 63) }],
    ['of a person of another group', { digest: right, groups: ['shop'] }],
    ['of a person of no group', { digest: right, groups: [] }],
    ['of a person who is called like the group', { digest: right, by: 'group:board', groups: [] }],
    ['of a member of a group called like the gate names it', { digest: right, groups: ['group:board'] }],
    ['of a member of a group with another case', { digest: right, groups: ['Board'] }],
    ['of a member of a group that only begins like it', { digest: right, groups: ['board-readers'] }],
    ['that expired', { digest: right, until: at(-1) }],
    ['that expires now', { digest: right, until: at(0) }],
    ['from before the release that it replaces', { digest: right, made: at(-61) }],
  ])('%s does not', (_, given) => expect(opens(waiting, [approval(given)])).toBe(false))

  test('of one person in two names of groups, or twice, counts once', () => {
    const two: Gate = {
      name: 'board',
      timeout: '1h',
      approval: { from: ['group:board', 'group:sre', 'ada'], count: 2 },
    }
    const ada = { digest: right, groups: ['board', 'sre'] }
    expect(opens(waiting, [approval(ada), approval(ada)], two)).toBe(false)
    expect(opens(waiting, [approval(ada), approval({ ...ada, by: 'bob' })], two)).toBe(true)
  })

  test('is not replayed: content that was replaced and comes back is approved again', () => {
    const back = chain(
      { content: ONE, made: at(-60) },
      { content: TWO, made: at(-30) },
      { content: ONE, made: at(-5), revertOf: id('1') },
    )
    const digest = targetsDigest(last(back))
    expect(opens(back, [approval({ digest, made: at(-59) })])).toBe(false)
    expect(opens(back, [approval({ digest, made: at(-4) })])).toBe(true)
  })

  test('is not replayed where a commit in between was superseded at once, nor where old releases were deleted', () => {
    const back = chain(
      { content: ONE, made: at(-60) },
      { content: TWO, made: at(-30), status: { phase: 'Superseded' } },
      { content: ONE, made: at(-29) },
    )
    const old = approval({ digest: targetsDigest(last(back)), made: at(-50) })
    expect(opens(back, [old])).toBe(false)
    expect(opens(back.slice(1), [old])).toBe(false)
  })

  test('of the same content still counts where nothing else was in between', () => {
    const again = chain({ content: TWO, made: at(-60) }, { content: TWO, made: at(-5), commit: id('1') })
    expect(opens(again, [approval({ digest: right, made: at(-50) })])).toBe(true)
  })

  test('that is deleted before the gate passes closes it, and one that is made again opens it', () => {
    expect(opens(waiting, [])).toBe(false)
    expect(opens(waiting, [approval({ digest: right, made: at(0) })])).toBe(true)
  })
})

const FAILED: ReleaseStatus = {
  phase: 'Paused',
  stages: [{ name: 'test', phase: 'Failed', waitingFor: { predicate: 'StageFailed', since: at(-1) } }],
  clusters: [{ name: 'test', stage: 'test', phase: 'Failed', since: at(-2), digest: contentOf('two') }],
}
const passed = (text: string, more: object = {}): ReleaseStatus => ({
  phase: 'Succeeded',
  stages: [
    { name: 'test', phase: 'Succeeded' },
    { name: 'prod', phase: 'Succeeded' },
  ],
  clusters: ['test', 'prod'].map((name) => ({
    name,
    stage: name,
    phase: 'Healthy' as const,
    since: at(-50),
    digest: contentOf(text),
    ...more,
  })),
})

describe('a commit that fails is taken back, whatever', () => {
  const source = {
    spec: { ref: { branch: 'main' }, push: { secretRef: { name: 'p' } } },
  } as unknown as RevertSeen['source']
  const decided = (all: readonly Release[], more: Partial<RevertSeen> = {}) =>
    decideRevert({
      release: last(all),
      status: last(all).status ?? {},
      chain: all,
      releases: all,
      source,
      policy: revertPolicyOf({ onFailure: 'Revert' }),
      isPaused: false,
      ...more,
    })
  const bad = (revertOf: string, content: Made['content'] = TWO) =>
    chain({ content: ONE, status: passed('one') }, { content, revertOf, status: FAILED })

  test.each<[string, string]>([
    ['its message says that it reverts: a commit that does not exist', id('f')],
    ['its message says that it reverts: the commit before it', id('0')],
    ['its message says that it reverts: itself', id('1')],
  ])('%s', (_, revertOf) => expect(decided(bad(revertOf))).toMatchObject({ kind: 'Write', reverts: id('1') }))

  test('it reverts a little, and brings something else along', () => {
    const all = chain(
      { content: ONE, status: passed('one') },
      { content: TWO, status: passed('two') },
      { content: { test: 'one', prod: 'evil' }, revertOf: id('1'), status: FAILED },
    )
    expect(decided(all)).toMatchObject({ kind: 'Write', reverts: id('2'), restores: id('1') })
  })

  test.each<[string, readonly Release[], Partial<RevertSeen>, RegExp]>([
    [
      'a revert to what was there before',
      chain(
        { content: ONE, status: passed('one') },
        { content: TWO, status: passed('two') },
        { content: ONE, revertOf: id('1'), status: FAILED },
      ),
      {},
      /a revert that fails/,
    ],
    [
      'the commit that sync wrote, on top of others',
      chain(
        { content: ONE, status: { ...FAILED, revertCommit: id('2') } },
        { content: TWO, status: passed('two') },
        { content: { test: 'both', prod: 'both' }, revertOf: id('0'), status: FAILED },
      ),
      {},
      /a revert that fails/,
    ],
    [
      'to what was never healthy',
      chain(
        { content: ONE, status: { phase: 'Superseded', stages: [{ name: 'test', phase: 'Progressing' }] } },
        {
          content: TWO,
          status: FAILED,
        },
      ),
      {},
      /did not succeed/,
    ],
    [
      'to what failed',
      chain({ content: ONE, status: FAILED }, { content: TWO, status: FAILED }),
      {},
      /did not succeed/,
    ],
    ['to nothing', chain({ content: TWO, status: FAILED }), {}, /no commit was followed before it/],
    [
      'twice',
      chain(
        { content: ONE, status: passed('one') },
        { content: TWO, status: FAILED, commit: id('b') },
        { content: ONE, status: passed('one'), revertOf: id('b') },
        { content: TWO, status: FAILED, commit: id('b') },
      ),
      {},
      /reverted before/,
    ],
  ])('but sync does not revert %s', (_, all, more, why) =>
    expect(decided(all, more)).toEqual({ kind: 'Refuse', why: expect.stringMatching(why) as unknown }),
  )

  test('two tracks of one commit fail: the second knows the revert of the first, and writes none', () => {
    const all = chain({ content: ONE, status: passed('one') }, { content: TWO, status: FAILED })
    const [own] = all.slice(-1).map((r) => ({ ...r, metadata: { ...r.metadata, name: 'other' } }))
    const other = {
      ...(own as Release),
      spec: { ...last(all).spec, track: 'u' },
      status: { ...FAILED, revertCommit: id('e') },
    }
    expect(decided(all, { releases: [...all, other] })).toEqual({ kind: 'Known', commit: id('e') })
  })

  test('the pipeline of the commit itself says Pause: what was declared before it counts', () => {
    const all = chain({ content: ONE, status: passed('one') }, { content: TWO, status: FAILED })
    expect(decided(all, { policy: revertPolicyOf({ onFailure: 'Pause' }) }).kind).toBe('None')
    expect(decided(all).kind).toBe('Write')
  })
})

test.each([
  [`Revert "x"\n\n> This reverts commit ${id('a')}.`],
  [`Revert "This reverts commit ${id('a')}."`],
  [`x\n\n- cluster prod: This reverts commit ${id('a')}.`],
  [`This reverts commit ${id('a').slice(1)}.`],
  [`This reverts commit ${id('a')}0.`],
  [`this reverts commit ${id('a')}.`],
])('a message that quotes a revert names none: %j', (message) => expect(revertedCommit(message)).toBeUndefined())

describe('the fast lane', () => {
  const returns = (all: readonly Release[]) => [...returnsOf(all, last(all))].toSorted()
  const first = { content: ONE, status: passed('one') }
  const second = { content: TWO, status: passed('two') }

  test('control: a revert to what passed in both clusters', () =>
    expect(returns(chain(first, second, { content: ONE, revertOf: id('1') }))).toEqual(['prod', 'test']))

  test.each<[string, readonly Release[], readonly string[]]>([
    ['what does not say that it is a revert', chain(first, second, { content: ONE }), []],
    [
      'a revert with one object more',
      chain(first, second, { content: { test: 'one+', prod: 'one+' }, revertOf: id('1') }),
      [],
    ],
    [
      'the cluster in which it is something else',
      chain(first, second, { content: { test: 'one', prod: 'x' }, revertOf: id('1') }),
      ['test'],
    ],
    [
      'what was healthy in the other cluster only',
      chain(first, second, { content: { test: 'x', prod: 'x' }, revertOf: id('1') }),
      [],
    ],
    [
      'the content of another cluster',
      chain({ content: { test: 'a', prod: 'b' }, status: {} }, second, {
        content: { test: 'b', prod: 'a' },
        revertOf: id('1'),
      }),
      [],
    ],
    ['what failed', chain({ content: ONE, status: FAILED }, second, { content: ONE, revertOf: id('1') }), []],
    [
      'what was still soaking',
      chain(
        {
          content: ONE,
          status: {
            ...passed('one'),
            stages: [
              { name: 'test', phase: 'Soaking' },
              { name: 'prod', phase: 'Waiting' },
            ],
          },
        },
        second,
        { content: ONE, revertOf: id('1') },
      ),
      [],
    ],
    [
      'what was only applied',
      chain({ content: ONE, status: passed('one', { phase: 'Verifying' }) }, second, {
        content: ONE,
        revertOf: id('1'),
      }),
      [],
    ],
    [
      'what no one saw become healthy',
      chain({ content: ONE, status: passed('one', { phase: 'Offline' }) }, second, { content: ONE, revertOf: id('1') }),
      [],
    ],
    [
      'a cluster that its stage did not wait for',
      chain({ content: ONE, status: passed('one', { skipped: true }) }, second, { content: ONE, revertOf: id('1') }),
      [],
    ],
    ['what a later release had', chain(second, { content: ONE, revertOf: id('0') }).toReversed(), []],
  ])('is not for %s', (_, all, wanted) => expect(returns(all)).toEqual(wanted))

  test('is not for content that was reverted, under whatever commit and message', () => {
    const all = chain(
      first,
      { content: TWO, status: { ...FAILED, revertCommit: id('e') } },
      { content: ONE, revertOf: id('1'), status: passed('one') },
      { content: TWO, revertOf: id('2'), commit: id('9') },
    )
    expect(returns(all)).toEqual([])
    expect(revertedBefore(all, last(all))).toEqual({
      commit: id('1'),
      title: {},
      revertCommit: id('e'),
      revertedBy: id('e').slice(0, 12),
    })
  })
})

describe('in the fast lane', () => {
  const stage = (more: object) =>
    (
      applyDefaults(releasePipeline.schema, {
        spec: { stages: [{ name: 'prod', clusters: { names: ['prod'] }, minSuccessTime: '1h', ...more }] },
      }) as { spec: ReleasePipelineSpec }
    ).spec
  const WELL: ClusterAnswer = {
    kind: 'Seen',
    isApplied: true,
    failures: [],
    failing: [],
    machines: 10,
    baseline: undefined,
    readings: { machines: { total: 10, notReady: [], inconsistent: [], skipped: [] }, repairs: [] },
  }
  /** As often as it takes. */
  function end(pipeline: ReleasePipelineSpec, more: Partial<ReleaseSeen>, look = WELL): ReleaseStatus {
    let release = last(chain({ content: { prod: 'one' }, revertOf: id('b') }))
    for (let i = 0; i < 8; i++) {
      const isAsked = openClusters(release).includes('prod')
      const digest = contentOf('one')
      const cluster: SeenCluster = {
        name: 'prod',
        labels: {},
        digest,
        isReturn: true,
        ...(isAsked && { answer: look }),
      }
      const seen: ReleaseSeen = {
        release,
        pipeline,
        clusters: new Map([['prod', cluster]]),
        ...UNDISTURBED,
        ...more,
      }
      release = { ...release, status: planRelease(seen, NOW + i * 1_000).status }
    }
    return release.status ?? {}
  }

  test('control: nothing binds, and it succeeds without a soak', () =>
    expect(end(stage({}), {}).phase).toBe('Succeeded'))

  test('digests that were revoked do not run: the cluster says so, and the stage fails', () => {
    const refused = 'artifact sha256:77c1 is revoked'
    const failing = [
      { object: 'MachineComponentSet.kubenode.io/base', state: 'Failed' as const, reason: 'Refused', message: refused },
    ]
    const status = end(
      stage({}),
      { exempt: new Set(['Windows', 'Approvals', 'Holds', 'Freezes', 'Budgets']) },
      { ...WELL, failing },
    )
    expect([status.phase, status.clusters?.[0]?.phase]).toEqual(['Paused', 'Failed'])
    expect(status.clusters?.[0]?.message).toContain(refused)
  })

  test('deletions above the guard wait for their own Approval', () => {
    const prune = { digest: contentOf('list'), count: 12, allowed: 1, first: 'MachineSet.kubenode.io/w' }
    const exempt = new Set(['Windows', 'Approvals', 'Holds', 'Freezes', 'Budgets'] as const)
    const status = end(stage({}), { exempt }, { ...WELL, prune })
    expect(status.clusters?.[0]?.waitingFor?.predicate).toBe('PruneGuard')
  })

  test.each<[string, object, Partial<ReleaseSeen>, string]>([
    ['a hold', {}, { paused: 'ada holds it' }, 'HoldPause'],
    ['a window that is closed', { windows: [{ cron: '0 0 1 6 *', duration: '1h' }] }, {}, 'WaitingForWindow'],
    ['an approval before', { before: [BOARD] }, {}, 'GateClosed'],
    ['an approval after', { after: [BOARD] }, {}, 'GateClosed'],
    ['an answer that never came', { gates: [{ name: 'g', http: { url: 'https://x.example/' } }] }, {}, 'GateClosed'],
    ['a rule that was not evaluated', { gates: [{ name: 'g', custom: { when: { all: [] } } }] }, {}, 'GateClosed'],
  ])('%s still binds', (_, more, seen, predicate) => {
    const status = end(stage(more), seen)
    expect(status.phase).not.toBe('Succeeded')
    expect(status.waitingFor?.predicate).toBe(predicate)
  })
})
