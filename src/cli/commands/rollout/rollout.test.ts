import { shortCommit, titledCommit } from '#api/protocol/commit-title.ts'
import { describe, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { ComponentCanary } from '#api/kinds/component-canary.ts'
import type { Release } from '#api/kinds/release.ts'
import { renderedConfig } from '#api/kinds/component-config.ts'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import { type OperationalHold, operationalHold } from '#api/kinds/operational-hold.ts'
import { createValidator } from '#api/validate.ts'
import { defined } from '#lib/defined.ts'
import { seededRandom } from '#lib/random.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { type RevisedComponent, revisionNameOf } from '#api/protocol/set-revision.ts'
import { componentSet } from '#test/support/fleets/rollout-fleet.ts'
import { VIRTUAL_EPOCH_MS, VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { changeText, promotion, rollbackChange } from '#explain/rollout/commit.ts'
import { placeHold } from '#permits/holds/placing.ts'
import { heldTarget, holdFor, liftHolds } from './holds.ts'
import { revisionCalled, revisionsOf, warningsOf } from '#explain/rollout/revisions.ts'
import { storyLines } from '#explain/finding.ts'
import { canaryStory, historyRows, refuseUnlessFailed, setStory } from '#explain/rollout/status.ts'

const NOW = VIRTUAL_EPOCH_MS
const canaryLines = (canary: ComponentCanary) => storyLines(canaryStory(canary, NOW))
const setLines = (set: MachineComponentSet, holds: readonly OperationalHold[]) =>
  storyLines(setStory(set, { now: NOW + 240_000, holds }))
const request = { reason: 'a test', for: '4h', author: 'ada' }

describe('a hold', () => {
  test.each([
    ['set/base', 'Pause', 'pause-machinecomponentset-base'],
    ['canary/try', 'Abort', 'abort-componentcanary-try'],
    ['machine/m-1', 'Pause', 'pause-machine-m-1'],
  ] as const)('of %s to %s is called %s, is valid and ends by itself', (what, effect, name) => {
    const hold = holdFor({ ...request, target: heldTarget(what), effect }, NOW)
    expect([hold.metadata.name, hold.spec.until]).toEqual([name, '2026-01-05T04:00:00Z'])
    expect(createValidator().problems(operationalHold, hold)).toEqual([])
  })

  test('that retries is another one each time: it counts from when it is made', () => {
    const target = heldTarget('set/base')
    const names = [NOW, NOW + 5_000].map((at) => holdFor({ ...request, target, effect: 'Retry' }, at).metadata.name)
    expect(new Set(names).size).toBe(2)
  })

  test.each(['base', 'set/', 'set/a/b', 'pod/x', '__proto__/x', 'cluster/c'])('of %s is refused by number', (what) => {
    expect(() => heldTarget(what)).toThrow(/^KN1325/)
  })

  test.each(['kustomization/apps', 'ks/apps', 'helmrelease/a', 'gitrepository/fleet'])(
    'of the Flux object %s is refused with the command for a source',
    (what) => expect(() => heldTarget(what)).toThrow(/^KN1325.*kubenode resume source\/NAME/),
  )

  test.each(['', '0s', 'soon', '31d'])('for %j is refused by number', (length) => {
    expect(() => holdFor({ ...request, for: length, target: heldTarget('set/a'), effect: 'Pause' }, NOW)).toThrow(
      /^KN1002/,
    )
  })

  test('is taken back by who made it; a freeze and what covers more stay and are named', async () => {
    const client = new FakeKube({
      clock: new VirtualClock(),
      random: seededRandom(1),
      kinds: [{ type: operationalHold, schema: operationalHold.schema, status: true }],
    }).client({ actor: 'ada' })
    const set = heldTarget('set/base')
    await placeHold(client, holdFor({ ...request, target: set, effect: 'Pause' }, NOW))
    await placeHold(client, holdFor({ ...request, target: set, effect: 'Pin', to: 'base-1' }, NOW))
    await placeHold(client, holdFor({ ...request, target: set, effect: 'Pin', to: 'base-2' }, NOW))
    await placeHold(client, holdFor({ ...request, target: set, effect: 'Freeze' }, NOW))
    await placeHold(client, holdFor({ ...request, target: heldTarget('set/other'), effect: 'Pause' }, NOW))
    const { removed, left } = await liftHolds(client, 'set/base', false, NOW)
    expect([removed.toSorted(), left.map((h) => h.metadata.name)]).toEqual([
      ['pause-machinecomponentset-base', 'pin-machinecomponentset-base'],
      ['freeze-machinecomponentset-base'],
    ])
    expect((await client.list(operationalHold)).items).toHaveLength(2)
  })
})

const base = componentSet({ beacon: '1.2.0', scribe: '1.0.0' })
/** Named by content, as a set names them; with the number in it, so that a test can distinguish two with the same content. */
const nameOf = (number: number, components: readonly object[]): string =>
  revisionNameOf(`base-${number}`, components as readonly RevisedComponent[])
const short = (name: string | undefined): string => name?.replace(/-[0-9a-f]{12}$/, '') ?? ''
const revision = (
  number: number,
  components: readonly object[],
  annotations: Record<string, string> = {},
): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'ControllerRevision',
  metadata: {
    name: nameOf(number, components),
    annotations,
    ownerReferences: [{ apiVersion: base.apiVersion, kind: base.kind, name: 'base', uid: 'set-base' }],
  },
  revision: number,
  data: { components },
})
/** A set's record on a revision whose components completed their ladder. */
const completed = (versions: Record<string, string>, more: object = {}): Record<string, string> => ({
  'kubenode.io/completed': JSON.stringify(
    Object.fromEntries(
      Object.entries(versions).map(([name, version]) => [
        name,
        { version, digest: 'a'.repeat(64), at: '2026-01-05T10:00:00Z', ...more },
      ]),
    ),
  ),
})
const failure = (component: string, since: string, liftedAt?: string): Record<string, string> => ({
  'kubenode.io/blocked': JSON.stringify([{ component, since, reason: 'it broke', machines: [], liftedAt }]),
})
const components = (versions: Record<string, string>) =>
  Object.entries(versions).map(([name, version]) => ({ name, version }))
const objects = [
  revision(1, [{ name: 'beacon', version: '1.0.0' }]),
  revision(
    2,
    [
      { name: 'beacon', version: '1.1.0' },
      { name: 'scribe', version: '1.0.0' },
    ],
    { 'kubenode.io/commit': 'bbb', ...completed({ beacon: '1.1.0', scribe: '1.0.0' }) },
  ),
  revision(
    3,
    [
      { name: 'beacon', version: '1.2.0' },
      { name: 'scribe', version: '1.0.0' },
    ],
    {
      'kubenode.io/commit': 'ccc',
      'kubenode.io/blocked': '[{"component":"beacon","since":"","reason":"it broke","machines":[]}]',
    },
  ),
  { ...revision(9, []), metadata: { name: 'of-another' } },
]
const [, NAME_2 = '', NAME_3 = ''] = objects.map((o) => o.metadata.name)
const set = { ...base, status: { phase: 'Blocked' as const, revisions: { update: NAME_3, current: NAME_2 } } }
const revisions = revisionsOf(set, objects)

describe('the revisions of a set', () => {
  test('are listed from the newest, with what they are and what failed', () => {
    expect(
      historyRows(set, revisions, shortCommit).map(([n = '', name, ...r]) => [n, short(name), ...r.slice(0, 2)]),
    ).toEqual([
      ['3', 'base-3', 'target, failed', 'ccc'],
      ['2', 'base-2', 'last healthy', 'bbb'],
      ['1', 'base-1', '', ''],
    ])
  })

  test('are called by the title of their commit where a Release of it is known', () => {
    const titled = { spec: { commit: 'bbb', subject: 'beacon 1.1.0', author: 'Ada' } } as Release
    expect(historyRows(set, revisions, (commit) => titledCommit(commit, [titled])).map((r) => r[3])).toEqual([
      'ccc',
      'bbb "beacon 1.1.0" by Ada',
      '',
    ])
  })

  test.each([
    [undefined, 'base-2'],
    ['1', 'base-1'],
    [NAME_3, 'base-3'],
  ])('are found by %j: %s', (to, name) => {
    expect(short(revisionCalled(set, revisions, to).name)).toBe(name)
  })

  test('that are not kept are refused with those that are', () => {
    expect(() => revisionCalled(set, revisions, '7')).toThrow(
      /^KN1372: cannot find revision "7" of set\/base; name one with --to: 3, 2, 1/,
    )
    expect(() => revisionCalled(set, [], undefined)).toThrow(
      /^KN1372: cannot find an earlier revision with a completed rollout of set\/base: no other revision is kept; commit/,
    )
  })

  test('make the commit that goes back to one, and name the commits that it undoes', () => {
    const to = revisionCalled(set, revisions, '1')
    expect(changeText(rollbackChange(set, to))).toBe(
      [
        '# set/base',
        '#   beacon 1.2.0 → 1.0.0',
        '#   scribe 1.0.0 → not declared',
        'spec:',
        '  components:',
        '    - name: beacon',
        '      version: 1.0.0',
        '',
      ].join('\n'),
    )
  })
})

describe('the revision that a set returns to when none is named', () => {
  const BEFORE = '2026-01-05T09:00:00Z'
  const AFTER = '2026-01-05T11:00:00Z'
  const target = { beacon: '1.0.0', thermo: '1.0.1' }
  const last = nameOf(6, components(target))
  const on = (...older: readonly KubeObject[]) => {
    const now = { ...set, status: { phase: 'Complete' as const, revisions: { update: last, current: last } } }
    const found = revisionsOf(now, [...older, revision(6, components(target), completed(target))])
    return { now, found, default: () => short(revisionCalled(now, found, undefined).name) }
  }
  const good = { beacon: '1.0.0' }
  const completedOne = revision(1, components(good), completed(good))

  test.each<[string, KubeObject]>([
    ['was reverted before it completed', revision(5, components({ beacon: '1.2.0' }))],
    [
      'completed in one component only',
      revision(5, components({ beacon: '1.0.0', thermo: '1.0.0' }), completed({ beacon: '1.0.0' })),
    ],
    ['completed with another version', revision(5, components({ beacon: '1.2.0' }), completed({ beacon: '1.1.0' }))],
    [
      'completed with another configuration',
      revision(5, [{ name: 'beacon', version: '1.2.0', values: { a: 1 } }], completed({ beacon: '1.2.0' })),
    ],
    [
      'people went back from',
      revision(5, components({ beacon: '1.2.0' }), completed({ beacon: '1.2.0' }, { leftAt: AFTER })),
    ],
    [
      'was only left or begun, with no completion',
      revision(5, components({ beacon: '1.2.0' }), completed({ beacon: '1.2.0' }, { at: undefined, backAt: AFTER })),
    ],
    [
      'failed after it had completed',
      revision(5, components({ beacon: '1.2.0' }), {
        ...completed({ beacon: '1.2.0' }),
        ...failure('beacon', AFTER, '2026-01-05T12:00:00Z'),
      }),
    ],
    ['has no components', revision(5, [], completed({}))],
    ['has text for a record', revision(5, components({ beacon: '1.2.0' }), { 'kubenode.io/completed': '{' })],
  ])('is not one that %s', (_, other) => {
    expect(on(completedOne, other).default()).toBe('base-1')
    expect(on(other).default).toThrow(
      /^KN1372: cannot find an earlier revision with a completed rollout of set\/base; name one with --to: 5$/,
    )
  })

  test('is the newest that completed', () => {
    const newer = { beacon: '1.0.0', thermo: '1.0.0' }
    expect(on(completedOne, revision(5, components(newer), completed(newer))).default()).toBe('base-5')
  })

  test('is one that completed with the configuration that it declares', () => {
    const configured = { name: 'beacon', version: '1.2.0', values: { a: 1 } }
    const kept = completed({ beacon: '1.2.0' }, { config: renderedConfig(configured)?.object })
    expect(on(revision(5, [configured], kept)).default()).toBe('base-5')
  })

  test('is not guessed while the set has no current one', () => {
    const fresh = { ...set, status: { phase: 'Pending' as const } }
    expect(() => revisionCalled(fresh, revisionsOf(fresh, [completedOne]), undefined)).toThrow(/^KN1372/)
  })

  test('is one that failed and completed later', () => {
    const kept = { ...completed(good), ...failure('beacon', BEFORE, '2026-01-05T09:30:00Z') }
    expect(on(revision(5, components(good), kept)).default()).toBe('base-5')
  })

  test('is not guessed when it takes away a component that was there before it', () => {
    const both = { beacon: '1.0.0', thermo: '1.0.0' }
    const older = revision(4, components(both), completed(both))
    const without = revision(5, components(good), completed(good))
    expect(on(older, without).default).toThrow(/name one with --to: 5, 4$/)
  })

  test('is none of those that were made before completions were recorded, whatever the status says', () => {
    const { found, now } = on(revision(5, components(good)))
    const blocked = {
      ...now,
      status: { phase: 'Blocked' as const, revisions: { update: last, current: nameOf(5, components(good)) } },
    }
    expect(() => revisionCalled(blocked, found, undefined)).toThrow(/^KN1372/)
  })
})

describe('a revision that failed', () => {
  const failed = failure('thermo', '2026-01-05T09:00:00Z', '2026-01-05T09:30:00Z')
  const wanted = { thermo: '1.0.0' }
  const [older, current] = [nameOf(2, components(wanted)), nameOf(3, components({ thermo: '1.0.1' }))]
  const rows = (update: string, annotations: Record<string, string>) => {
    const now = { ...set, status: { phase: 'Complete' as const, revisions: { update, current } } }
    const all = [revision(2, components(wanted), annotations), revision(3, components({ thermo: '1.0.1' }))]
    return historyRows(now, revisionsOf(now, all), shortCommit).map((r) => r[2])
  }

  test('stays failed in the history when a newer one completed', () => {
    expect(rows(current, failed)).toEqual(['target, last healthy', 'failed'])
  })

  test('is failed no more once its own rollout completed', () => {
    expect(rows(current, { ...failed, ...completed(wanted) })).toEqual(['target, last healthy', ''])
  })

  test('is not failed while it is the target and tried again', () => {
    expect(rows(older, failed)).toEqual(['last healthy', 'target'])
  })
})

test.each([
  ['3', ['warning: revision 3 failed on set/base: beacon: it broke']],
  ['1', ['warning: no completed rollout of revision 1 is recorded on set/base']],
  ['2', []],
])('a person who names revision %s is warned of what is known: %j', (to, lines) => {
  expect(warningsOf(set, revisionCalled(set, revisions, to))).toEqual(lines)
})

const canary = (phase: 'Observing' | 'Passed' | 'Promoted', version = '1.3.0'): ComponentCanary => ({
  apiVersion: API_GROUP_VERSION,
  kind: 'ComponentCanary',
  metadata: { name: 'try' },
  spec: {
    selector: {},
    pick: { count: 1 },
    components: [{ name: 'beacon', version, values: { level: 'info' } }],
    strategy: { maxBatchSize: 1, maxFailures: 0 },
    duration: '1h',
    promoteWithin: '72h',
    abort: false,
  },
  status: {
    phase,
    promotedBy: 'base',
    counts: { total: 1, healthy: 1, failed: 0 },
    observeUntil: '2026-01-05T01:00:00Z',
  },
})

describe('a canary', () => {
  test('that has passed makes the commit that gives its versions and values to the set', () => {
    const [change, ...more] = promotion(canary('Passed'), [base, componentSet({ other: '1.0.0' }, {}, { name: 'b' })])
    expect(more).toEqual([])
    expect(change).toMatchObject({
      set: 'base',
      changes: ['beacon 1.2.0 → 1.3.0'],
      components: [{ name: 'beacon', version: '1.3.0', values: { level: 'info' } }, { name: 'scribe' }],
    })
  })

  test.each([
    ['is still watched', canary('Observing'), [base], /^KN1374: cannot promote canary\/try: it is Observing/],
    ['is promoted', canary('Promoted'), [base], /^KN1373: canary\/try is promoted already: set\/base/],
    ['tried what no set has', canary('Passed'), [], /^KN1375/],
  ])('that %s is not promoted', (_, it, sets, error) => {
    expect(() => promotion(it, sets)).toThrow(error)
  })

  test('says how it stands', () => {
    expect(canaryLines(canary('Passed')).join('\n')).not.toContain('observing')
    expect(canaryLines(canary('Observing'))).toEqual([
      'canary/try (beacon 1.3.0) is Observing: 1 of 1 machine is healthy, 0 failed',
      'observing until Mon 5 Jan 01:00 UTC',
    ])
  })
})

test('a retry that was asked for is shown with its time: until when its hold lasts matters to no one', () => {
  const hold = holdFor({ ...request, target: heldTarget('set/base'), effect: 'Retry' }, NOW)
  const made = { ...hold, metadata: { ...hold.metadata, creationTimestamp: '2026-01-05T00:00:00Z' } }
  expect(setLines(set, [made])).toContain('Retry on Mon 5 Jan at 00:00 UTC by ada: a test')
})

describe('a retry of a set', () => {
  const failed = { component: 'beacon', step: 0, number: 0, phase: 'Failed' as const, permit: 'p', machines: ['a'] }
  const stalled = { type: 'Stalled', status: 'True', reason: 'RolledBackByAgent', message: '' } as const
  const blocked = [{ revision: 'base-1', component: 'beacon', since: '2026-01-05T00:00:00Z', reason: 'it failed' }]
  const counts = { total: 4, updated: 3, healthy: 3, failed: 1, skipped: 0 }
  test.each([
    ['a blocked revision', { revisions: { blocked } }],
    ['a blocked revision while it is paused', { phase: 'Paused', revisions: { blocked } }],
    ['failed machines, although it is complete', { phase: 'Complete', counts }],
    ['a failed slice', { slices: [failed] }],
    ['machines that rolled back', { conditions: [{ ...stalled, lastTransitionTime: '2026-01-05T00:00:00Z' }] }],
  ] as const)('with %s is accepted', (_, status) => {
    expect(() => refuseUnlessFailed({ ...set, status })).not.toThrow()
  })

  test.each([
    ['is complete', { phase: 'Complete', counts: { ...counts, failed: 0 } }],
    ['is in progress', { phase: 'Progressing', slices: [{ ...failed, phase: 'Switching' as const }] }],
    [
      'stalls for another cause',
      {
        phase: 'Progressing',
        conditions: [{ ...stalled, reason: 'NoMachines', lastTransitionTime: '2026-01-05T00:00:00Z' }],
      },
    ],
    ['was not observed yet', undefined],
  ] as const)('that %s is refused', (_, status) => {
    const { status: _before, ...bare } = set
    expect(() => refuseUnlessFailed({ ...bare, ...defined({ status }) })).toThrow(
      /^KN1374: nothing to retry: set\/base/,
    )
  })
})

test('a blocked set does not count no failed machine beside the failure that blocks it', () => {
  const blocked = [
    { revision: 'base-2', component: 'beacon', reason: '1 machine failed', since: '2026-01-05T00:00:00Z' },
  ]
  const counts = { total: 4, updated: 0, healthy: 0, failed: 0, skipped: 0 }
  const line = (failed: number) =>
    setLines({ ...set, status: { phase: 'Blocked', revisions: { blocked }, counts: { ...counts, failed } } }, [])[0]
  expect(line(0)).toBe('set/base is Blocked: 0 of 4 machines are updated, 0 skipped')
  expect(line(1)).toBe('set/base is Blocked: 0 of 4 machines are updated, 1 failed, 0 skipped')
})

test('a set says how far it is, what holds it and which slices are open', () => {
  const slices = [
    { component: 'scribe', step: 1, number: 0, phase: 'Switching' as const, permit: 'p', machines: ['a', 'b'] },
  ]
  const waitingFor = { predicate: 'StepOpen', seen: 'two switch', since: '2026-01-05T00:00:00Z', unblock: 'they end' }
  const status = {
    ...set.status,
    slices,
    waitingFor,
    counts: { total: 4, updated: 1, healthy: 1, failed: 0, skipped: 1 },
  }
  const hold = holdFor({ ...request, target: heldTarget('set/base'), effect: 'Pause' }, NOW)
  expect(setLines({ ...set, status }, [hold])).toEqual([
    'set/base is Blocked: 1 of 4 machines are updated (1 of them healthy), 0 failed, 1 skipped',
    'Waiting for 4m: StepOpen',
    '  observed: two switch',
    '  unblocks when: they end',
    'Pause until Mon 5 Jan 04:00 UTC by ada: a test',
    'scribe leaves step 2 slice 1: Switching, 2 machines',
  ])
})
