// Reverts in the plan of a Release: the fast lane for content that was healthy before, its limits, and what blocks reverted content.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { releasePipeline, type ReleasePipelineSpec } from '#api/kinds/release-pipeline.ts'
import type { Release, ReleaseStatus } from '#api/kinds/release.ts'
import { applyDefaults } from '#api/schema/default.ts'
import { UNDISTURBED } from '#test/support/fleets/undisturbed.ts'
import type { ClusterAnswer, SeenCluster } from './cluster-seen.ts'
import { openClusters, type ReleaseSeen } from './release-seen.ts'
import { planRelease } from './stages.ts'

const T0 = Date.parse('2026-01-31T12:00:00Z')
const NAMES = ['a', 'b', 'c']

type Stages = readonly object[]
const pipelineOf = (more: object): ReleasePipelineSpec => {
  const stages: Stages = [
    { name: 'prod', clusters: { names: NAMES }, minSuccessTime: '1h', maxConcurrency: 1, ...more },
  ]
  return (applyDefaults(releasePipeline.schema, { spec: { stages } }) as { spec: ReleasePipelineSpec }).spec
}

const WELL: ClusterAnswer = {
  kind: 'Seen',
  isApplied: true,
  failures: [],
  failing: [],
  machines: 10,
  baseline: undefined,
  readings: { machines: { total: 10, notReady: [], inconsistent: [], skipped: [] }, repairs: [] },
}
const BROKEN: ClusterAnswer = {
  ...WELL,
  failing: [{ object: 'MachineSet.kubenode.io/x', state: 'Failed', reason: 'x', message: 'it is broken' }],
}

const releaseOf = (status: ReleaseStatus = {}): Release => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Release',
  metadata: { name: 'r', namespace: 'n' },
  spec: {
    source: 's',
    track: 't',
    pipeline: 'p',
    commit: 'c'.repeat(40),
    revertOf: 'b'.repeat(40),
    digests: Object.fromEntries(NAMES.map((n) => [n, n])),
  },
  status,
})

interface Wish extends Partial<ReleaseSeen> {
  readonly returns?: readonly string[]
  readonly stage?: object
  readonly look?: ClusterAnswer
}

/** This many passes, a second apart. */
function after(passes: number, { returns = NAMES, stage = {}, look = WELL, ...more }: Wish, from: ReleaseStatus = {}) {
  let status = from
  for (let i = 0; i < passes; i++) {
    const release = releaseOf(status)
    const asked = new Set(openClusters(release))
    const cluster = (name: string): SeenCluster => ({
      name,
      labels: {},
      digest: name,
      isReturn: returns.includes(name),
      ...(asked.has(name) && { answer: look }),
    })
    const seen: ReleaseSeen = {
      release,
      pipeline: pipelineOf(stage),
      clusters: new Map(NAMES.map((n) => [n, cluster(n)])),
      ...UNDISTURBED,
      ...more,
    }
    status = planRelease(seen, T0 + i * 1_000).status
  }
  return status
}

const phases = ({ clusters = [] }: ReleaseStatus) => clusters.map((c) => c.phase)
const APPROVAL = { name: 'board', approval: { from: ['ada'] } }
// Open in June only.
const WINDOW = [{ cron: '0 0 1 6 *', duration: '1h' }]

describe('a revert to what was healthy', () => {
  test('starts everywhere at once and needs no soak; an ordinary change goes one by one and soaks', () => {
    expect(phases(after(1, {}))).toEqual(['Applying', 'Applying', 'Applying'])
    expect(after(4, {}).phase).toBe('Succeeded')
    expect(phases(after(1, { returns: [] }))).toEqual(['Applying', 'Waiting', 'Waiting'])
    expect(after(20, { returns: [] }).phase).toBe('Progressing')
  })

  test('in one cluster only: the others go one by one, and soak', () => {
    expect(phases(after(1, { returns: ['b'] }))).toEqual(['Applying', 'Applying', 'Waiting'])
    expect(after(20, { returns: ['b'] }).stages?.[0]?.phase).toBe('Soaking')
  })

  test('still has to be healthy', () => {
    const status = after(5, { look: BROKEN })
    expect([status.phase, status.waitingFor?.predicate]).toEqual(['Paused', 'StageFailed'])
  })

  test.each<[string, Wish, string]>([
    ['a window', { stage: { windows: WINDOW } }, 'WaitingForWindow'],
    ['an approval before', { stage: { before: [APPROVAL] } }, 'GateClosed'],
    ['an approval as a gate', { stage: { gates: [APPROVAL] } }, 'GateClosed'],
    ['an approval after', { stage: { after: [APPROVAL] } }, 'GateClosed'],
    ['a hold', { paused: 'ada holds it' }, 'HoldPause'],
  ])('is blocked by %s', (_, wish, predicate) =>
    expect(after(6, wish).waitingFor?.predicate ?? after(6, wish).stages?.[0]?.waitingFor?.predicate).toBe(predicate),
  )

  test('passes what its pipeline exempts it from by name, and nothing else', () => {
    const stage = { windows: WINDOW, before: [APPROVAL], gates: [APPROVAL], after: [APPROVAL] }
    expect(after(6, { stage, exempt: new Set(['Windows', 'Approvals']) }).phase).toBe('Succeeded')
    expect(after(6, { stage, exempt: new Set(['Windows']) }).waitingFor?.predicate).toBe('GateClosed')
    expect(after(6, { stage, exempt: new Set(['Approvals']) }).waitingFor?.predicate).toBe('WaitingForWindow')
    const ready = { name: 'ready', machinesReady: { minPercent: 98 } }
    const look: ClusterAnswer = { ...WELL, readings: {} }
    const all = new Set(['Windows', 'Approvals', 'Holds'] as const)
    expect(after(6, { stage: { gates: [ready] }, look, exempt: all }).waitingFor?.predicate).toBe('GateClosed')
  })

  test('a cluster that never had it is not exempt, also beside others that are', () => {
    const status = after(6, { returns: ['b'], stage: { windows: WINDOW }, exempt: new Set(['Windows']) })
    expect(phases(status)).toEqual(['Waiting', 'Healthy', 'Waiting'])
    expect(status.clusters?.[0]?.waitingFor?.predicate).toBe('WaitingForWindow')
  })

  test('whatever is exempt and returns: nothing else starts while the stage is closed', () => {
    const wishes = fc.record({
      returns: fc.subarray(NAMES),
      exempt: fc.subarray(['Windows', 'Approvals', 'Holds'] as const).map((all) => new Set(all)),
      isWindow: fc.boolean(),
      isGate: fc.boolean(),
      passes: fc.integer({ min: 1, max: 12 }),
    })
    fc.assert(
      fc.property(wishes, ({ returns, exempt, isWindow, isGate, passes }) => {
        const stage = { ...(isWindow && { windows: WINDOW }), ...(isGate && { before: [APPROVAL] }) }
        const isClosed = isWindow || isGate
        const isExempt = (!isWindow || exempt.has('Windows')) && (!isGate || exempt.has('Approvals'))
        for (const { name, phase } of after(passes, { returns, exempt, stage }).clusters ?? []) {
          const mayStart = !isClosed || (isExempt && returns.includes(name))
          if (!mayStart) expect(phase).toBe('Waiting')
        }
      }),
    )
  })
})

describe('a revert of what is still rolled out', () => {
  const PROD = { name: 'prod', clusters: { names: ['b', 'c'] }, minSuccessTime: '1h' }
  type Staged = { readonly prod?: object; readonly underway?: readonly string[]; readonly isReturn?: boolean }
  const staged = (wish: Staged & Partial<ReleaseSeen>) => {
    const { prod = {}, underway = ['b'], isReturn = true, ...more } = wish
    const stages = [
      { name: 'test', clusters: { names: ['a'] }, minSuccessTime: '1h' },
      { ...PROD, ...prod },
    ]
    const { spec } = applyDefaults(releasePipeline.schema, { spec: { stages } }) as { spec: ReleasePipelineSpec }
    const clusters = NAMES.map((name): [string, SeenCluster] => [
      name,
      { name, labels: {}, digest: name, isReturn, isUnderway: underway.includes(name) },
    ])
    const seen: ReleaseSeen = {
      release: releaseOf(),
      pipeline: spec,
      clusters: new Map(clusters),
      ...UNDISTURBED,
      ...more,
    }
    return planRelease(seen, T0).status
  }

  test('goes to that cluster at once; to the others when the earlier stage is done', () => {
    expect(phases(staged({}))).toEqual(['Applying', 'Applying', 'Waiting'])
    expect(phases(staged({ underway: [] }))).toEqual(['Applying', 'Waiting', 'Waiting'])
    expect(staged({}).stages?.map((s) => s.phase)).toEqual(['Progressing', 'Waiting'])
    // By content, not by the message: a branch that was reset is not a revert.
    expect(phases(staged({ isReturn: false }))).toEqual(['Applying', 'Applying', 'Waiting'])
  })

  test('readings before the stage do not hold it; windows, approvals and holds do, unless it is exempt', () => {
    const prodOf = (wish: Parameters<typeof staged>[0]) => staged(wish).clusters?.[1]
    const shop = { name: 'shop', http: { url: 'https://shop.example.org' } }
    expect(prodOf({ prod: { before: [shop] } })?.phase).toBe('Applying')
    const [window, board] = [{ windows: WINDOW }, { before: [APPROVAL] }]
    expect(prodOf({ prod: window })?.waitingFor?.predicate).toBe('WaitingForWindow')
    expect(prodOf({ prod: board })?.waitingFor?.predicate).toBe('GateClosed')
    expect(prodOf({ paused: 'ada holds it' })?.waitingFor?.predicate).toBe('HoldPause')
    const exempt = new Set(['Windows', 'Approvals'] as const)
    expect(prodOf({ prod: { ...window, ...board }, exempt })?.phase).toBe('Applying')
  })
})

describe('what was reverted', () => {
  const failed = after(5, { returns: [], look: BROKEN })
  const taken = { ...failed, revertCommit: 'd'.repeat(40), revertedBy: 'dddddddddddd "Revert" by sync' }

  test('goes no further, also when it becomes healthy; a retry lets it continue', () => {
    expect(after(5, { returns: [] }, failed).phase).toBe('Progressing')
    expect(phases(after(5, { returns: [] }, taken))).toEqual(phases(failed))
    const retried = after(5, { returns: [], retries: ['u-1'] }, taken)
    expect(retried.revert?.overruledAt).toBe('2026-01-31T12:00:00Z')
    expect(phases(retried)[0]).toBe('Healthy')
  })

  test('ends as Reverted by the commit that does it, and as Superseded by another', () => {
    const newer = { newer: 'r2' }
    expect(after(1, { ...newer, revertedBy: 'e'.repeat(40) }, failed)).toMatchObject({
      phase: 'Reverted',
      revertCommit: 'e'.repeat(40),
    })
    expect(after(1, newer, failed).phase).toBe('Superseded')
  })

  test('the same objects under another commit wait until a person retries', () => {
    const title = { subject: 'beacon 1.1.0', author: 'Ada' }
    const revertedBefore = {
      commit: 'b'.repeat(40),
      title,
      revertCommit: 'd'.repeat(40),
      revertedBy: 'dddddddddddd "Revert" by sync',
    }
    const waits = after(5, { returns: [], revertedBefore })
    expect(phases(waits)).toEqual(['Waiting', 'Waiting', 'Waiting'])
    expect(waits.waitingFor).toMatchObject({
      predicate: 'RevertedBefore',
      seen: 'commit bbbbbbbbbbbb "beacon 1.1.0" by Ada with the same objects failed and was reverted by dddddddddddd "Revert" by sync',
      unblock: 'push a commit that mends it; to retry, kubenode release retry r --reason WHY',
    })
    const retried = after(1, { returns: [], revertedBefore, retries: ['u-1'] }, waits)
    expect(phases(retried)).toEqual(['Applying', 'Waiting', 'Waiting'])
    // The hold ends; started work continues.
    expect(phases(after(5, { returns: [], revertedBefore }, retried))[0]).toBe('Healthy')
  })
})
