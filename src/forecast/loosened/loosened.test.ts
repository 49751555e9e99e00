import { sha256OfJson } from '#lib/sha256.ts'
import { describe, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { DefenderPolicyInput } from '#api/kinds/defender-policy.ts'
import type { FleetSourceInput } from '#api/kinds/fleet-source.ts'
import type { ReleasePipelineInput } from '#api/kinds/release-pipeline.ts'
import { type DesiredObject, type RenderedTarget } from '#delivery/desired.ts'
import { refOf } from '#delivery/object-ref.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { loosenedBy } from './loosened.ts'

const ours = (kind: string, spec: object, name = 'x', more: object = {}): KubeObject => ({
  apiVersion: API_GROUP_VERSION,
  kind,
  metadata: { name, ...more },
  spec,
})
const target = (objects: readonly KubeObject[], rejected: readonly KubeObject[] = []): RenderedTarget => ({
  objects: objects.map((object): DesiredObject => ({ ref: refOf(object), object, digest: sha256OfJson(object) })),
  rejected: rejected.map((object) => ({ ref: refOf(object), problem: 'wrong' })),
})
const found = (before: readonly KubeObject[], after: readonly KubeObject[], rejected: readonly KubeObject[] = []) =>
  loosenedBy(new Map([['hub', target(before)]]), new Map([['hub', target(after, rejected)]])).flatMap((l) => l.what)

type Stage = ReleasePipelineInput['spec']['stages'][number]
type Pipeline = Partial<ReleasePipelineInput['spec']>
const APPROVAL = { name: 'board', approval: { from: ['ada', 'bob'], count: 2 } }
const READY = { name: 'ready', machinesReady: { minPercent: 99 } }
const WEB = { name: 'web', http: { url: 'https://shop.example.org' } }
const WINDOW = { cron: '0 9 * * 1-4', duration: '8h' }
const PROD: Stage = {
  name: 'prod',
  clusters: { names: ['prod-1'] },
  before: [APPROVAL],
  gates: [READY, { name: 'quiet', noNewRepairs: { within: '30m' } }],
  after: [WEB, { name: 'same', componentsConsistent: { minPercent: 95 } }],
  minSuccessTime: '1h',
  maxConcurrency: 2,
  windows: [WINDOW],
}
const TEST: Stage = { name: 'test', clusters: { names: ['test-1'] }, minSuccessTime: '5m' }
const pipeline = (prod: Partial<Stage> = {}, more: Pipeline = {}): KubeObject =>
  ours('ReleasePipeline', { stages: [TEST, { ...PROD, ...prod }], ...more }, 'standard')

describe('what a pipeline no longer demands', () => {
  test.each<[string, KubeObject, readonly string[]]>([
    ['nothing', pipeline(), []],
    ['a removed gate', pipeline({ gates: [READY] }), ['stage prod: gate quiet is removed']],
    ['a removed approval', pipeline({ before: [] }), ['stage prod: gate board (before) is removed']],
    [
      'fewer approvals, and one more who may give them',
      pipeline({ before: [{ name: 'board', approval: { from: ['ada', 'bob', 'eve'], count: 1 } }] }),
      ['stage prod: gate board needs 1 in place of 2 approvals', 'stage prod: gate board can be approved by eve too'],
    ],
    [
      'control planes that change without an approval',
      pipeline({ withoutApproval: ['Versions', 'Rotations'] }),
      ['stage prod: Versions of Clusters need no approval', 'stage prod: Rotations of Clusters need no approval'],
    ],
    ['more approvals', pipeline({ before: [{ name: 'board', approval: { from: ['ada', 'bob'], count: 3 } }] }), []],
    [
      'lower shares',
      pipeline({
        gates: [
          { name: 'ready', machinesReady: { minPercent: 50 } },
          { name: 'quiet', noNewRepairs: { within: '5m' } },
        ],
        after: [WEB, { name: 'same', componentsConsistent: { minPercent: 0 } }],
      }),
      [
        'stage prod: gate ready: machinesReady.minPercent 99 → 50',
        'stage prod: gate quiet: noNewRepairs.within 30m → 5m',
        'stage prod: gate same: componentsConsistent.minPercent 95 → 0',
      ],
    ],
    [
      'a gate that asks another server, or becomes one of another kind',
      pipeline({
        gates: [{ name: 'ready', noNewRepairs: {} }, PROD.gates?.[1]],
        after: [{ name: 'web', http: { url: 'https://evil.example.org' } }, PROD.after?.[1]],
      } as Partial<Stage>),
      ['stage prod: gate ready checks something else', 'stage prod: gate web checks something else'],
    ],
    ['a longer timeout of a gate', pipeline({ before: [{ ...APPROVAL, timeout: '1h' }] }), []],
    [
      'all gates',
      pipeline({ before: [], gates: [], after: [] }),
      [
        'stage prod: gate board (before) is removed',
        'stage prod: gate ready is removed',
        'stage prod: gate quiet is removed',
        'stage prod: gate web (after) is removed',
        'stage prod: gate same (after) is removed',
        'stage prod: it has no gates left',
      ],
    ],
    [
      'a shorter soak, more clusters at once and more failures',
      pipeline({
        minSuccessTime: '1m',
        maxConcurrency: 10,
        maxFailures: 1,
        maxNewFailures: '50%',
        offlineDeadline: '1m',
      }),
      [
        'stage prod: minSuccessTime 1h → 1m',
        'stage prod: offlineDeadline 30m → 1m',
        'stage prod: maxConcurrency 2 → 10',
        'stage prod: maxFailures 0 → 1',
        'stage prod: maxNewFailures 2% → 50%',
      ],
    ],
    [
      'a limit in another form, which has no order',
      pipeline({ maxConcurrency: '1%' }),
      ['stage prod: maxConcurrency 2 → 1%'],
    ],
    ['a longer soak and fewer at once', pipeline({ minSuccessTime: '2h', maxConcurrency: 1 }), []],
    ['no windows', pipeline({ windows: [] }), ['stage prod: its windows are removed']],
    [
      'another window',
      pipeline({ windows: [{ ...WINDOW, duration: '24h' }] }),
      ['stage prod: its maintenance windows change'],
    ],
    [
      'a stage that is gone, and one without gates in its place',
      ours('ReleasePipeline', { stages: [TEST, { name: 'live', clusters: { names: ['prod-1'] } }] }, 'standard'),
      ['stage prod is removed', 'stage live is new and has no gates'],
    ],
    [
      'exemptions of reverts',
      pipeline({}, { revert: { exempt: ['Approvals', 'Holds'], to: 'Direct' } }),
      ['reverts are exempt from Approvals, Holds too', 'reverts are written to the followed branch itself'],
    ],
  ])('%s', (_, after, expected) => {
    expect(found([pipeline()], [after])).toEqual(expected)
    expect(found([after], [after])).toEqual([])
  })

  test('a pipeline that is removed; one that is declared wrongly stays as it is', () => {
    expect(found([pipeline()], [])).toEqual(['it is removed'])
    expect(found([pipeline()], [], [pipeline()])).toEqual([])
  })

  test('a cluster that is moved to a stage with fewer checks, or to none; not one that is moved to more', () => {
    const stage = (name: string, more: object) => ({
      name,
      clusters: { selector: { matchLabels: { 'kubenode.io/stage': name } } },
      ...more,
    })
    const p = ours(
      'ReleasePipeline',
      { stages: [stage('test', {}), stage('prod', { before: [APPROVAL] })] },
      'standard',
    )
    const cluster = (name: string) => ours('Cluster', { stage: name }, 'c')
    const moved = (from: string, to: string) => found([p, cluster(from)], [p, cluster(to)])
    expect(moved('prod', 'test')).toEqual([
      'it moves from stage prod to test: gate board (before) is removed',
      'it moves from stage prod to test: it has no gates left',
    ])
    expect(moved('prod', 'other')).toEqual([
      'it leaves stage prod of pipeline standard and has none: nothing changes there until a commit gives it a stage',
    ])
    expect(moved('test', 'prod')).toEqual([])
    expect(moved('other', 'test')).toEqual([])
  })

  test.each<[string, Stage['clusters'], Stage['clusters'], readonly string[]]>([
    [
      'an earlier stage that takes it',
      { names: ['test-1', 'prod-1'] },
      { names: ['prod-1'] },
      expect.arrayContaining(['it moves from stage prod to test: gate board (before) is removed']) as never,
    ],
    [
      'no stage that takes it',
      { names: ['test-1'] },
      { names: ['prod-9'] },
      ['it leaves stage prod of pipeline standard and has none: nothing changes there until a commit gives it a stage'],
    ],
    ['the same stage by its labels', { names: ['test-1'] }, { selector: { matchLabels: { a: 'b' } } }, []],
  ])('a cluster that stays as it is, and a pipeline with %s', (_, test, prod, expected) => {
    const cluster = ours('Cluster', {}, 'prod-1', { labels: { a: 'b' } })
    const after = ours(
      'ReleasePipeline',
      {
        stages: [
          { ...TEST, clusters: test },
          { ...PROD, clusters: prod },
        ],
      },
      'standard',
    )
    expect(found([pipeline(), cluster], [after, cluster])).toEqual(expected)
  })
})

type Policy = DefenderPolicyInput['spec']
const POLICY: Policy = {
  budgets: [{ max: '5%', of: 'unavailable' }],
  rates: [{ window: '1h', max: 10 }],
  approvals: [{ risk: 'High', from: ['ada'], count: 1 }],
  healthFloor: '90%',
  breaker: { failures: 3 },
  protect: [{ name: 'db-1' }],
  exemptRecoveries: ['Window'],
}
const policy = (more: Policy = {}): KubeObject => ours('DefenderPolicy', { ...POLICY, ...more })

describe('what a policy of the Defender no longer stops', () => {
  test.each<[string, KubeObject, readonly string[]]>([
    ['nothing', policy(), []],
    ['audit', policy({ mode: 'Audit' }), ['mode Enforce → Audit']],
    [
      'a larger budget',
      policy({ budgets: [{ max: '50%', of: 'unavailable' }] }),
      ['budget unavailable per cluster 5% → 50%'],
    ],
    ['a smaller budget', policy({ budgets: [{ max: '1%', of: 'unavailable' }] }), []],
    ['no budget', policy({ budgets: [] }), ['budget unavailable per cluster (5%) is removed']],
    ['a faster rate', policy({ rates: [{ window: '1h', max: 100 }] }), ['rate of 1h per cluster 10 → 100']],
    ['no approval', policy({ approvals: [] }), ['the approval for high risk is removed']],
    ['a lower floor', policy({ healthFloor: '10%' }), ['healthFloor 90% → 10%']],
    ['a later breaker', policy({ breaker: { failures: 9 } }), ['breaker.failures 3 → 9']],
    ['no protection', policy({ protect: [] }), ['an entry of protect is removed or changed']],
    ['other targets', policy({ selector: { matchLabels: { a: 'b' } } }), ['it applies to other targets or operations']],
    ['exemptions', policy({ exemptRecoveries: ['Window', 'Budget'] }), ['recoveries are exempt from Budget too']],
  ])('%s', (_, after, expected) => expect(found([policy()], [after])).toEqual(expected))

  test('its removal, but not what only reports', () => {
    expect(found([policy()], [])).toEqual(['it is removed'])
    expect(found([policy({ mode: 'Audit' })], [policy({ mode: 'Audit', budgets: [] })])).toEqual([])
  })
})

const set = (rollout: object): KubeObject =>
  ours('MachineComponentSet', { selector: { matchLabels: { a: 'b' } }, components: [], rollout })

test.each<[string, object, object, readonly string[]]>([
  ['equal', {}, {}, []],
  ['larger steps', { steps: [1, 5, 10] }, { steps: [1, 100] }, ['larger steps: 1, 5, 10 → 1, 100']],
  ['fewer steps of the same size', { steps: [1, 5, 5] }, { steps: [1, 5] }, []],
  ['smaller steps', { steps: [5, 50] }, { steps: [1] }, []],
  ['a shorter soak', { soak: '1h' }, { soak: '0s' }, ['soak 1h → 0s']],
  ['more unavailable', { maxUnavailable: 1 }, { maxUnavailable: 3 }, ['maxUnavailable 1 → 3']],
  ['failures where none were allowed', {}, { maxFailures: 5 }, ['maxFailures not set → 5']],
  ['an inspection less', { inspections: [{ name: 'n', nodeReady: {} }] }, {}, ['inspection n is removed']],
])('what a rollout no longer waits for: %s', (_, before, after, expected) => {
  expect(found([set(before)], [set(after)])).toEqual(expected)
})

type Source = Partial<FleetSourceInput['spec']>
const SIGNERS = [{ principal: 'ada', keys: [] }]
const source = (more: object): KubeObject =>
  ours('FleetSource', {
    url: 'https://git.example.org/f.git',
    tracks: [{ name: 'fleet', pipelineRef: { name: 'standard' } }],
    ...more,
  } satisfies Source)

test.each<[string, object, object, readonly string[]]>([
  ['equal', {}, {}, []],
  ['weaker signatures', { verify: { mode: 'All' } }, { verify: { mode: 'Head' } }, ['verify.mode All → Head']],
  ['no verification', { verify: { mode: 'Head' } }, {}, ['verify.mode Head → Off']],
  ['stronger signatures', { verify: { mode: 'Head' } }, { verify: { mode: 'All' } }, []],
  [
    'one more signer',
    { verify: { mode: 'All', signers: SIGNERS } },
    { verify: { mode: 'All', signers: [...SIGNERS, { principal: 'eve', keys: [] }] } },
    ['commits of eve are followed too'],
  ],
  ['a raised guard', {}, { prune: { guard: '100%' } }, ['prune.guard 10% → 100%']],
  ['a lower guard', {}, { prune: { guard: '1%' } }, []],
  ['no plan', { requirePlan: true }, {}, ['requirePlan is removed']],
  ['drift that stays', {}, { drift: 'Off' }, ['drift Correct → Off']],
  [
    'another pipeline',
    {},
    { tracks: [{ name: 'fleet', pipelineRef: { name: 'fast' } }] },
    ['track fleet goes through pipeline fast in place of standard'],
  ],
])('what a source no longer asks of commits: %s', (_, before, after, expected) => {
  expect(found([source(before)], [source(after)])).toEqual(expected)
})

test('each finding has its cluster and object; a cluster that is new or gone has none', () => {
  const before = new Map([
    ['prod', target([policy()])],
    ['old', target([policy()])],
  ])
  const after = new Map([
    ['prod', target([policy({ mode: 'Audit' })])],
    ['new', target([])],
  ])
  expect(loosenedBy(before, after)).toEqual([
    { cluster: 'prod', object: 'DefenderPolicy.kubenode.io/x', what: ['mode Enforce → Audit'] },
  ])
})
