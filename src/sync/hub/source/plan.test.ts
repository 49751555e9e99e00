// What happens to a commit in each track: every decision of a FleetSource without git, a server or a clock.
import { ANNOTATIONS } from '#api/names.ts'
import { describe, expect, test } from 'vitest'
import { fleetSource, type FleetSource } from '#api/kinds/fleet-source.ts'
import type { ReleasePipeline } from '#api/kinds/release-pipeline.ts'
import type { Release } from '#api/kinds/release.ts'
import type { RenderedTarget, Targets } from '#delivery/desired.ts'
import { defined } from '#lib/defined.ts'
import { outdated } from '#runtime/reconcile-with.ts'
import { targetDigest } from '../../release/tracks.ts'
import { plan, type ReleasePlan } from './plan.ts'
import { conditionsOf, statusOf, trackResults, type TrackResult } from './status.ts'
import type { Declared, Seen } from './seen.ts'

const COMMIT = 'a'.repeat(40)
const source = {
  ...fleetSource.example,
  metadata: { name: 'fleet', namespace: 'infra', uid: 'u', generation: 1 },
  spec: { ...fleetSource.example.spec, tracks: [{ name: 'base', match: {}, pipelineRef: { name: 'all' } }] },
} as unknown as FleetSource

const target = (name: string): RenderedTarget => ({
  objects: [
    {
      ref: { group: '', kind: 'ConfigMap', name, namespace: 'x' },
      digest: name,
      object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } },
    },
  ],
  rejected: [],
})
const content = (targets: Readonly<Record<string, RenderedTarget>>): Targets => new Map(Object.entries(targets))

const declared = (more: Partial<Declared> = {}): Declared => ({
  kind: 'Declared',
  commit: { id: COMMIT },
  tracks: new Map([['base', content({ east: target('a') })]]),
  targets: 1,
  objects: 1,
  problems: [],
  isCageWeak: false,
  retired: [],
  ...more,
})
const made = (name: string, digests: Readonly<Record<string, string>>): Release =>
  ({
    metadata: { name, namespace: 'infra' },
    spec: { source: 'fleet', track: 'base', pipeline: 'all', commit: 'b'.repeat(40), digests },
    status: { phase: 'Succeeded' },
  }) as unknown as Release
const pipeline = (keep = 10) => ({ spec: { keep } }) as unknown as ReleasePipeline

const seen = (more: Partial<Seen> = {}): Seen => ({
  source,
  commit: { id: COMMIT },
  declared: declared(),
  releases: [],
  pipelines: { get: ({ name }) => (name === 'all' ? pipeline() : undefined) },
  clusters: { get: () => undefined },
  approved: new Map(),
  hubDone: doneAt(0),
  ...more,
})
const east = targetDigest(target('a'))
const doneAt = (at: number, stamp = `${COMMIT} 1`) => new Map([['infra/fleet/base', { stamp, at }]])

describe('the hub', () => {
  test.each<[string, Seen, number, boolean]>([
    ['is compared with a commit for the first time', seen({ hubDone: new Map() }), 0, true],
    ['is left alone for a minute after that', seen({ hubDone: doneAt(0) }), 59_999, false],
    ['is compared again after a minute', seen({ hubDone: doneAt(0) }), 60_000, true],
    ['is compared with another commit at once', seen({ hubDone: doneAt(0, 'b 1') }), 1, true],
    ['is compared at once after the source changed', seen({ hubDone: doneAt(0, `${COMMIT} 0`) }), 1, true],
  ])('%s', (_, s, monotonic, isDue) => expect(plan(s, monotonic).tracks[0]?.hub !== undefined).toBe(isDue))

  test('gets the objects of its track, and knows those of the others', () => {
    const tracks = new Map([
      ['base', content({ hub: target('a') })],
      ['apps', content({ hub: target('b') })],
    ])
    const [base] = plan(seen({ declared: declared({ tracks }), hubDone: new Map() }), 0).tracks
    expect(base?.hub?.target).toEqual(target('a'))
    expect([...(base?.hub?.elsewhere ?? [])]).toEqual([expect.stringContaining('/b')])
  })
})

const releaseOf = (s: Seen): ReleasePlan | undefined => plan(s, 0).tracks[0]?.release

describe('a Release', () => {
  test.each<[string, Partial<Seen>, string]>([
    ['is created for the first content', {}, 'Create'],
    ['is not created twice for the same content', { releases: [made('base-b', { east })] }, 'Keep'],
    ['is created for changed content', { releases: [made('base-b', { east: 'other' })] }, 'Create'],
    ['is not created for a track without content', { declared: declared({ tracks: new Map() }) }, 'Keep'],
    ['is not created before the hub has the commit', { hubDone: new Map() }, 'AwaitsHub'],
    ['is not created while the hub has another commit', { hubDone: doneAt(0, 'b 1') }, 'AwaitsHub'],
    [
      'does not wait where the track has a stage for the hub',
      { hubDone: new Map(), staged: new Set(['base']) },
      'Create',
    ],
    ['is not created without its pipeline', { pipelines: { get: () => undefined } }, 'NoPipeline'],
  ])('%s', (_, more, kind) => expect(releaseOf(seen(more))?.kind).toBe(kind))

  test('names the one before it, what changed, and what its commit reverts', () => {
    const before = made('base-b', { east: 'other', west: 'w' })
    const planned = releaseOf(
      seen({ releases: [before], declared: declared({ commit: { id: COMMIT, revertOf: 'c'.repeat(40) } }) }),
    )
    expect(planned).toMatchObject({
      kind: 'Create',
      release: {
        metadata: { name: `base-${COMMIT.slice(0, 12)}`, namespace: 'infra' },
        spec: { digests: { east }, changed: 1, previous: 'base-b', revertOf: 'c'.repeat(40) },
      },
    })
  })

  test.each<[string, readonly string[], string, string | undefined]>([
    ['one commit', ['b'.repeat(40)], 'Succeeded', 'Commit'],
    ['one merge', ['b'.repeat(40), 'd'.repeat(40)], 'Succeeded', 'Merge'],
    ['a push with more commits', ['d'.repeat(40)], 'Succeeded', undefined],
    ['a merge of the followed branch into another', ['d'.repeat(40), 'b'.repeat(40)], 'Succeeded', undefined],
    ['a commit after one that has not passed', ['b'.repeat(40)], 'Progressing', undefined],
  ])('knows whether a revert of its commit is the way back: %s', (_, parents, phase, revert) => {
    const before = { ...made('base-b', { east: 'other' }), status: { phase } } as unknown as Release
    const status = { commit: 'b'.repeat(40) } as FleetSource['status']
    const planned = releaseOf(
      seen({
        source: { ...source, ...defined({ status }) },
        releases: [before],
        declared: declared({ commit: { id: COMMIT, parents } }),
      }),
    )
    const spec = planned?.kind === 'Create' ? planned.release.spec : undefined
    expect([spec?.after, spec?.revert]).toEqual(['b'.repeat(40), revert])
  })

  describe('while the hub refuses the commit', () => {
    const status = (digest: string, phase: string) => ({
      clusters: [{ name: 'east', stage: 'all', phase, digest, since: '', healthySince: '' }],
      stages: [{ name: 'all', phase: 'Succeeded' }],
    })
    const good = { ...made('base-g', { east }), status: status(east, 'Healthy') } as unknown as Release
    const bad = {
      ...made('base-b', { east: 'other' }),
      spec: { ...made('', { east: 'other' }).spec, previous: 'base-g' },
    }
    const of = (chain: readonly Release[], revertOf?: string) =>
      releaseOf(
        seen({
          releases: chain,
          hubDone: new Map(),
          declared: declared({ commit: { id: COMMIT, ...defined({ revertOf }) } }),
        }),
      )?.kind

    test('a revert to what was healthy in every cluster goes on', () => {
      expect(of([good, bad], 'b'.repeat(40))).toBe('Create')
    })
    test('the same content does not when its message names no revert, nor a revert to what never passed', () => {
      expect(of([good, bad])).toBe('AwaitsHub')
      const never = { ...good, status: status(east, 'Failed') } as unknown as Release
      expect(of([never, bad], 'b'.repeat(40))).toBe('AwaitsHub')
    })
  })

  test('two tracks: the clusters of one wait for what the other declares for the hub', () => {
    const tracks = ['base', 'apps'].map((name) => ({ name, match: {}, pipelineRef: { name: 'all' } }))
    const two = { ...source, spec: { ...source.spec, tracks } } as FleetSource
    expect(releaseOf(seen({ source: two }))?.kind).toBe('AwaitsHub')
  })

  test.each<[string, NonNullable<Seen['source']['status']>, string | undefined]>([
    [
      'the last one that the hub had, after one that it refused',
      { onHub: 'd'.repeat(40), rendered: 'f'.repeat(40) },
      'd'.repeat(40),
    ],
    [
      'the one on the hub before',
      { onHub: COMMIT, onHubBefore: 'd'.repeat(40), rendered: COMMIT, renderedBefore: 'f'.repeat(40) },
      'd'.repeat(40),
    ],
    ['the one followed before', { rendered: 'd'.repeat(40) }, 'd'.repeat(40)],
    [
      'the same once more after its Release was deleted',
      { rendered: COMMIT, renderedBefore: 'd'.repeat(40) },
      'd'.repeat(40),
    ],
    ['that of the Release before, without a record', { rendered: COMMIT }, 'e'.repeat(40)],
  ])('is held to the gates of %s', (_, status, after) => {
    const made1 = made('base-b', { east: 'other' })
    const before = { ...made1, spec: { ...made1.spec, commit: 'e'.repeat(40) } }
    const s = seen({ releases: [before] })
    const planned = releaseOf({ ...s, source: { ...s.source, status } })
    expect(planned?.kind === 'Create' && planned.release.spec.after).toBe(after)
  })

  test('empties a cluster that is still in the fleet and gets nothing now', () => {
    const clusters = { get: () => ({ metadata: { name: 'west' } }) as never }
    const planned = releaseOf(seen({ releases: [made('base-b', { east, west: 'w' })], clusters }))
    expect(planned?.kind === 'Create' && Object.keys(planned.release.spec.digests)).toEqual(['east', 'west'])
  })

  test('that the pipeline no longer keeps is deleted, the oldest first', () => {
    const chain = ['r1', 'r2', 'r3'].map((name, i) => ({
      ...made(name, { east }),
      spec: { ...made(name, { east }).spec, ...(i > 0 && { previous: `r${i}` }) },
    }))
    const planned = releaseOf(seen({ releases: chain, pipelines: { get: () => pipeline(1) } }))
    expect(planned?.kind === 'Keep' && planned.forget.map((r) => r.metadata.name)).toEqual(['r1'])
  })
})

describe('a track that the source no longer has', () => {
  const retired = [
    { name: 'old', pipeline: 'all' },
    { name: 'hub-only', pipeline: undefined },
  ]

  test('comes after the others, declares nothing, and is marked for a second look', () => {
    const { tracks } = plan(seen({ declared: declared({ retired }) }), 0)
    expect(tracks.map((t) => [t.track, t.isRetired, t.release.kind])).toEqual([
      ['base', false, 'Create'],
      ['old', true, 'Keep'],
      ['hub-only', true, 'None'],
    ])
    expect(tracks[1]?.hub?.target).toEqual({ objects: [], rejected: [] })
  })

  test('is not reported once the source turns out to be another one, nor what follows', () => {
    const planned = plan(seen({ declared: declared({ retired }) }), 0)
    expect(planned.actions.map((a) => [a.track, a.kind])).toEqual([
      ['base', 'CreateRelease'],
      ['old', 'ApplyToHub'],
      ['hub-only', 'ApplyToHub'],
    ])
    const results = planned.actions.map((action) => ({
      action,
      outcome: action.isRetired ? outdated('changed') : ({ kind: 'Applied', object: undefined } as const),
    }))
    expect(trackResults(planned, results).map((r) => r.track)).toEqual(['base'])
  })
})

describe('nothing is planned', () => {
  test.each<[string, Partial<Seen>, string]>([
    ['while a hold pauses it', { paused: 'ann holds it' }, 'HoldPause'],
    [
      'for a commit that cannot be fetched',
      { declared: { kind: 'Failed', type: 'Fetched', reason: 'FetchError', message: 'away' } },
      'FetchError',
    ],
    [
      'for a commit that cannot be rendered',
      { declared: { kind: 'Failed', type: 'Rendered', reason: 'RenderFailed', message: 'throws' } },
      'RenderFailed',
    ],
  ])('%s', (_, more, reason) => {
    const { declared: _declared, commit: _commit, ...rest } = seen()
    const s: Seen = { ...rest, ...more }
    expect(plan(s, 0).tracks).toEqual([])
    expect(conditionsOf(s, []).find((c) => c.type === 'Ready')).toMatchObject({ status: 'False', reason })
  })
})

test('the first problem of a track is the one that the status names', () => {
  const results: readonly TrackResult[] = [
    { track: 'base', report: undefined, release: { kind: 'NoPipeline', pipeline: 'infra/all' } },
    { track: 'apps', report: undefined, release: { kind: 'NoPipeline', pipeline: 'infra/other' } },
  ]
  const applied = conditionsOf(seen(), results).find((c) => c.type === 'Applied')
  expect(applied).toMatchObject({
    status: 'False',
    reason: 'ReferenceMissing',
    message: 'track base: ReleasePipeline infra/all not found',
  })
})

test('a pipeline that the commit itself brought is on its way, not missing', () => {
  const report = { answer: { kind: 'Seen', failures: [] }, result: { applied: 1, pruned: 0, failures: [] } }
  const release = { kind: 'NoPipeline', pipeline: 'infra/all' } as const
  const results = [{ track: 'base', report, release }] as unknown as readonly TrackResult[]
  const of = (type: string) => conditionsOf(seen(), results).find((c) => c.type === type)
  expect([of('Applied'), of('Ready')]).toMatchObject([
    { status: 'False', reason: 'Progressing' },
    { status: 'False', reason: 'Progressing' },
  ])
})

describe('a commit whose Releases come with the next pass', () => {
  const results = (blocked?: object) =>
    [
      {
        track: 'base',
        report: { answer: { kind: 'Seen', failures: [] }, plan: { blocked } },
        release: { kind: 'AwaitsHub' },
      },
    ] as unknown as readonly TrackResult[]
  const ready = (given: readonly TrackResult[]) => conditionsOf(seen(), given).find((c) => c.type === 'Ready')

  // Otherwise a client that waits for the commit takes the previous Release for its own.
  test('is not Ready yet', () =>
    expect(ready(results())).toMatchObject({
      status: 'False',
      reason: 'Progressing',
      message: 'the hub is up to date; the Releases come next',
    }))

  test('deletions that the guard blocks last longer than a pass, and have their own condition', () =>
    expect(ready(results({ count: 2, total: 9, digest: 'abc', first: 'x' }))).toMatchObject({ status: 'True' }))
})

describe('while what the commit declares for the hub waits for a stage', () => {
  const digests = { hub: 'h' }
  const waitingFor = {
    predicate: 'GateClosed',
    since: '2026-11-22T00:00:00Z',
    seen: 'board: approved by 0 of 1 (ada)',
    unblock: 'kubenode approve release/base-b',
  }
  const staged = (status: object): Seen => {
    const tracks = new Map([['base', content({ hub: target('a') })]])
    const waiting = { ...made('base-b', digests), status } as unknown as Release
    return seen({ declared: declared({ tracks }), staged: new Set(['base']), releases: [waiting] })
  }
  const applied = (s: Seen, results: readonly TrackResult[] = []) =>
    conditionsOf(s, results).find((c) => c.type === 'Applied')
  const on = (phase: string) => ({ clusters: [{ name: 'hub', stage: 'hub', phase }] })

  test('the source says that it is not applied, and what it waits for', () => {
    const s = staged({ phase: 'Progressing', waitingFor, ...on('Waiting') })
    expect(applied(s)).toMatchObject({
      status: 'False',
      reason: 'GateClosed',
      message: 'the hub waits for release/base-b: board: approved by 0 of 1 (ada)',
    })
    // The source has done its part, as for clusters that wait: it is the Release that is not Ready.
    expect(conditionsOf(s, []).find((c) => c.type === 'Ready')).toMatchObject({
      status: 'True',
      message: 'the newest commit is rendered and has its Releases; the hub waits for release/base-b',
    })
  })

  test('also in the pass that creates the Release, and before that has a status', () => {
    const release = { kind: 'Create' as const, release: { metadata: { name: 'base-a' }, spec: { digests } } as never }
    const results: readonly TrackResult[] = [{ track: 'base', report: undefined, release }]
    const waits = { status: 'False', reason: 'Progressing', message: 'the hub waits for release/base-a' }
    expect(applied({ ...staged(on('Healthy')), releases: [] }, results)).toMatchObject(waits)
    expect(applied(staged({}))).toMatchObject({ ...waits, message: 'the hub waits for release/base-b' })
  })

  test.each(['Verifying', 'Healthy', 'Unchanged'])('it is applied once the hub is %s', (phase) =>
    expect(applied(staged(on(phase)))).toMatchObject({ status: 'True', reason: 'UpToDate' }),
  )

  test('a hub that cannot be applied to elsewhere is named first', () => {
    const results: readonly TrackResult[] = [
      { track: 'apps', report: undefined, release: { kind: 'NoPipeline', pipeline: 'infra/other' } },
    ]
    const s = staged({ phase: 'Progressing', waitingFor, ...on('Waiting') })
    expect(applied(s, results)).toMatchObject({ reason: 'ReferenceMissing' })
    expect(conditionsOf(s, results).find((c) => c.type === 'Ready')).toMatchObject({ status: 'False' })
  })
})

test.each([
  ['is handled once the repository was asked', {}, 'now'],
  [
    'is handled also when the repository did not answer',
    { declared: { kind: 'Failed', type: 'Fetched', reason: 'FetchError', message: 'away' } } as const,
    'now',
  ],
  ['waits while the source is paused', { paused: 'hold pause-a: a move' }, 'before'],
])('a request to read %s', (_, part, want) => {
  const base = seen()
  const metadata = { ...base.source.metadata, annotations: { [ANNOTATIONS.reconcile]: 'now' } }
  const source = { ...base.source, metadata, status: { lastHandledReconcileAt: 'before' } }
  const status = statusOf({ ...base, ...part, source }, [], { releases: [], now: 0 })
  expect(status.lastHandledReconcileAt).toBe(want)
})

describe('the way back from a commit that is not followed', () => {
  const [followed, other] = ['d'.repeat(40), 'e'.repeat(40)]
  const refused = { kind: 'Failed', type: 'Rendered', reason: 'RenderFailed', message: 'no' } as const
  const away = { kind: 'Failed', type: 'Fetched', reason: 'FetchError', message: 'away' } as const
  const revertOf = (more: Partial<Seen>, status: NonNullable<FleetSource['status']>) =>
    statusOf({ ...seen(more), source: { ...source, status } }, [], { releases: [], now: 0 }).revert
  const commit = (...parents: readonly string[]) => ({ commit: { id: COMMIT, parents } })

  test.each<[string, Partial<Seen>, NonNullable<FleetSource['status']>, string | undefined]>([
    ['that does not render', { ...commit(followed), declared: refused }, { rendered: followed }, 'Commit'],
    ['whose merge does not render', { ...commit(followed, other), declared: refused }, { rendered: followed }, 'Merge'],
    ['whose push has more commits', { ...commit(other), declared: refused }, { rendered: followed }, undefined],
    [
      'that the hub refuses',
      { ...commit(followed), hubDone: new Map() },
      { rendered: COMMIT, onHub: followed },
      'Commit',
    ],
    ['after the first', { ...commit(), declared: refused }, {}, undefined],
  ])('a commit %s', (_, more, status, revert) => expect(revertOf(more, status)).toBe(revert))

  test('is kept while the repository does not answer, and gone once the commit is followed', () => {
    const { commit: _commit, ...unread } = seen({ declared: away })
    const status = { rendered: followed, revert: 'Commit' } as const
    expect(statusOf({ ...unread, source: { ...source, status } }, [], { releases: [], now: 0 }).revert).toBe('Commit')
    expect(revertOf(commit(followed), { rendered: COMMIT, onHub: COMMIT, revert: 'Commit' })).toBeUndefined()
  })
})

describe('what a commit is called', () => {
  const title = { subject: 'beacon 1.1.0', author: 'Ada' }
  const titled = seen({ commit: { id: COMMIT, title } })
  const messageIn = (s: Seen, type: string) => conditionsOf(s, []).find((c) => c.type === type)?.message

  test('is in the status and where it was fetched and verified', () => {
    const verified = { commit: COMMIT, anchor: COMMIT, firstSeen: '2026-11-22T00:00:00Z', principal: 'ada', key: 'k' }
    const trusted: Seen = { ...titled, trust: { kind: 'Verified', head: COMMIT, verified, commits: 1 } }
    expect(statusOf(trusted, [], { releases: [], now: 0 })).toMatchObject({ commit: COMMIT, ...title })
    expect(messageIn(trusted, 'Fetched')).toBe('at commit aaaaaaaaaaaa "beacon 1.1.0" by Ada')
    expect(messageIn(trusted, 'SourceVerified')).toBe('commit aaaaaaaaaaaa "beacon 1.1.0" by Ada is signed by ada (k)')
  })

  test('is there for both commits of a history that was rewritten', () => {
    const rewritten = { id: 'd'.repeat(40), title: { subject: 'beacon 1.2.0', author: 'Eve' } }
    const found = conditionsOf({ ...titled, commit: { id: COMMIT, title, rewritten } }, []).find(
      (c) => c.type === 'Fetched',
    )
    expect(found?.message).toContain(
      `at commit ${COMMIT.slice(0, 12)} "beacon 1.1.0" by Ada, which does not contain dddddddddddd "beacon 1.2.0" by Eve, followed before`,
    )
    expect(found?.message).toContain('push dddddddddddd again')
  })

  test('stays that of the last commit that may be followed while a newer one is refused, whose title nobody reads', () => {
    const { commit: _, declared: __, ...rest } = titled
    const source = { ...titled.source, status: statusOf(titled, [], { releases: [], now: 0 }) }
    const refused: Seen = {
      ...rest,
      source,
      trust: { kind: 'Refused', head: 'b'.repeat(40), reason: 'Unsigned', message: 'KN7030: no signature', seen: [] },
    }
    expect(statusOf(refused, [], { releases: [], now: 0 })).toMatchObject({ commit: COMMIT, ...title })
    expect(messageIn(refused, 'Fetched')).toBe('at commit bbbbbbbbbbbb')
  })

  test('goes with its commit', () => {
    const source = { ...titled.source, status: statusOf(titled, [], { releases: [], now: 0 }) }
    const next = statusOf({ ...titled, source, commit: { id: 'b'.repeat(40) } }, [], { releases: [], now: 0 })
    expect([next.commit, next.subject, next.author]).toEqual(['b'.repeat(40), undefined, undefined])
  })
})

test('F17 a server that is away for a day keeps the commit, its time, and the hour since which it is away', () => {
  const DAY_MS = 86_400_000
  const start = Date.parse('2026-11-22T00:00:00Z')
  const at = (s: Seen, now: number): FleetSource => ({ ...s.source, status: statusOf(s, [], { releases: [], now }) })
  const { declared: _declared, commit: _commit, ...rest } = seen()
  const away = (of: FleetSource): Seen => ({
    ...rest,
    source: of,
    declared: { kind: 'Failed', type: 'Fetched', reason: 'FetchError', message: 'away' },
  })
  const before = at(seen(), start)
  const first = at(away(before), start + 60_000)
  const last = at(away(first), start + DAY_MS)
  expect(last.status).toMatchObject({ commit: COMMIT, fetchedAt: before.status?.fetchedAt })
  expect(last.status?.conditions?.find((c) => c.type === 'Fetched')).toMatchObject({
    status: 'False',
    reason: 'FetchError',
    lastTransitionTime: '2026-11-22T00:01:00Z',
  })
})
