import { expect, test } from 'vitest'
import type { ClusterDifference } from '#sync/difference.ts'
import type { ClusterPrediction } from '../predict.ts'
import type { Accuracy } from '../accuracy/accuracy.ts'
import { approvalTexts, bookedText, earlierTexts } from './findings.ts'
import { outlookOf } from './outlook.ts'
import { plainOf } from './rich-text.ts'
import { loosenedText, oneWayText, outlookText, planText } from './text.ts'

const PLAIN = { isColored: false, isCut: true }
const COLORED = { isColored: true, isCut: true }

const difference: ClusterDifference = {
  cluster: 'prod',
  added: 1,
  changed: 0,
  removed: 2,
  unchanged: 7,
  changes: [],
  problems: [],
  machines: {
    deleted: 6,
    sets: [
      { set: 'a\u001b[2J', of: 24, deleted: 4, kept: 20 },
      { set: 'b', of: 3, deleted: 1, kept: 0 },
    ],
    single: ['m-1'],
  },
}

test('how many machines a commit deletes is said last, and in red on a terminal', () => {
  expect(planText('c0ffee', undefined, [difference], PLAIN)).toBe(
    [
      'plan of c0ffee',
      '',
      'prod: 1 to add, 0 to change, 2 to remove, 7 unchanged',
      '    another set takes over 20 machines of MachineSet a\ufffd[2J',
      '  ! deletes 6 machines: MachineSet a\ufffd[2J (4 of 24); MachineSet b (1 of 3); m-1',
      '',
    ].join('\n'),
  )
  const lines = planText('c0ffee', undefined, [difference], COLORED).split('\n')
  expect(lines.at(-2)).toBe(
    '\u001b[31m  ! deletes 6 machines: MachineSet a\ufffd[2J (4 of 24); MachineSet b (1 of 3); m-1\u001b[39m',
  )
})

test('S25 an object that a cluster may refuse is marked in the plan', () => {
  const object = 'DaemonSet.apps/shop/a'
  const ref = { group: 'apps', kind: 'DaemonSet', namespace: 'shop', name: 'a' }
  const one: ClusterDifference = {
    ...difference,
    machines: { deleted: 0, sets: [], single: [] },
    changes: [{ change: 'added', ref, object, fields: [], more: 0 }],
  }
  const plain = { ...one, cluster: 'test' }
  const marked = { ...one, changes: one.changes.map((c) => ({ ...c, isListedOnly: true as const })) }
  const text = planText('c0ffee', undefined, [marked, plain], PLAIN)
  expect(text).toContain('  ! DaemonSet.apps/shop/a (added; KN3094: refused unless the cluster lists it)\n')
  expect(text).toContain('  + DaemonSet.apps/shop/a\n')
})

test('nothing is said where no machine is deleted', () => {
  const quiet = { ...difference, machines: { deleted: 0, sets: [], single: [] } }
  expect(planText('c0ffee', undefined, [quiet], COLORED)).not.toContain('machine')
})

test('S33 keys, values and problems of a commit add no line of their own and no command of a CI runner', () => {
  const forged: ClusterDifference = {
    ...difference,
    machines: { deleted: 0, sets: [], single: [] },
    problems: ['x: bad\n::error::forged'],
    changes: [
      {
        change: 'changed',
        ref: { group: '', kind: 'ConfigMap', namespace: 'default', name: 'a' },
        object: 'ConfigMap/default/a',
        fields: [{ path: 'data.a\n  - MachineSet/workers', before: '##[add-path]', after: '\u2028::error::\u202e' }],
        more: 0,
      },
    ],
  }
  const text = planText('c0ffee', undefined, [forged], PLAIN)
  expect(text.split('\n')).toHaveLength(7)
  expect(text).not.toMatch(/^\s*::|##\[|[\u2028\u202e]/m)
})

test('clusters with equal changes are one entry', () => {
  const all = ['a', 'b', 'c'].map((cluster) => ({ ...difference, cluster, removed: cluster === 'c' ? 1 : 2 }))
  const heads = planText('c0ffee', undefined, all, PLAIN)
    .split('\n')
    .filter((l) => /^\w.*: /.test(l))
  expect(heads).toEqual([
    'a, b: 1 to add, 0 to change, 2 to remove, 7 unchanged in each of these 2 clusters',
    'c: 1 to add, 0 to change, 1 to remove, 7 unchanged',
  ])
})

test('values are shortened on a terminal, and whole in a pipe', () => {
  const [before, after] = [`${'x'.repeat(100)}1`, `${'x'.repeat(100)}2`]
  const ref = { group: '', kind: 'ConfigMap', namespace: 'default', name: 'a' }
  const fields = [...Array(20).keys()].map((i) => ({ path: `data.f${i}`, before, after }))
  const one = {
    ...difference,
    changes: [{ change: 'changed' as const, ref, object: 'ConfigMap/default/a', fields, more: 0 }],
  }
  const short = planText('c0ffee', undefined, [one], PLAIN)
  expect(short).toContain('and 8 more fields')
  expect(short).not.toContain(before)
  const whole = planText('c0ffee', undefined, [one], { isColored: false, isCut: false })
  expect(whole.split(`"${before}" → "${after}"`)).toHaveLength(21)
})

test('what a commit loosens is listed by object, and where it loosens nothing there is no line', () => {
  expect(loosenedText([])).toBe('')
  expect(
    loosenedText([{ cluster: 'hub', object: 'ReleasePipeline.kubenode.io/a/standard', what: ['it is removed'] }]),
  ).toBe('\nloosens what later commits must pass:\n  ! hub: ReleasePipeline.kubenode.io/a/standard: it is removed\n')
})

test('what a revert leaves undone is a line for all clusters with it', () => {
  expect(oneWayText([])).toBe('')
  const what = 'deletes Namespace/shop with everything in it'
  expect(
    oneWayText([
      { cluster: 'a', what },
      { cluster: 'b', what },
    ]),
  ).toBe(`\ngit revert does not take this back:\n  ! a, b: ${what}\n`)
})

test('approvals are listed while any is missing, with those that were given', () => {
  const sre = { asker: 'policy careful', from: ['group:sre'], count: 1, batches: 9 }
  const board = { asker: 'gate board of stage prod', from: ['ada', 'bob'], count: 2 }
  expect(
    approvalTexts([
      { ...sre, missing: 9 },
      { ...board, missing: 1 },
    ]).map(plainOf),
  ).toEqual([
    '1 approval of group:sre for each of 9 batches (policy careful)',
    '2 approvals of ada, bob (gate board of stage prod), 1 given',
  ])
  expect(
    approvalTexts([
      { ...sre, missing: 0 },
      { ...board, missing: 0 },
    ]).map(plainOf),
  ).toEqual([])
})

test('machines that are away anyway are counted, and the first three are named', () => {
  const booked = [0, 1, 2, 3].map((n) => ({
    machine: `m-${n}`,
    event: `reboot-${n}`,
    kind: 'Reboot',
    source: n === 0 ? 'People' : 'cloud',
    by: n === 0 ? 'ada@example.org' : 'cloud',
    from: '2026-03-02T12:00:00Z',
    ...(n === 0 && { until: '2026-03-02T14:00:00Z' }),
  }))
  expect(plainOf(bookedText({ booked } as unknown as ClusterPrediction))).toBe(
    '4 machines are away for work on hosts while it runs, and counted in every budget: m-0 (Reboot by ada@example.org, from 2026-03-02T12:00:00Z to 2026-03-02T14:00:00Z), m-1 (Reboot by cloud, from 2026-03-02T12:00:00Z), m-2 (Reboot by cloud, from 2026-03-02T12:00:00Z) and 1 more',
  )
})

test('of a cluster that leaves the fleet it says that everything in it stays', () => {
  const none = { deleted: 0, sets: [], single: [] }
  const left: ClusterDifference = { ...difference, added: 0, removed: 0, machines: none, isLeft: true }
  expect(planText('c0ffee', undefined, [left], PLAIN)).toContain(
    'prod: 0 to add, 0 to change, 0 to remove, 7 unchanged\n  ! leaves the fleet: its machines and all its objects stay',
  )
})

test('a rollout that something stops for good has no time, and the line says what stops it', () => {
  const prediction = {
    cluster: 'prod',
    takenAt: '2026-01-05T00:00:00Z',
    of: 1,
    machines: ['m-0'],
    slices: [],
    drains: 1,
    reboots: 0,
    p50: 14 * 86_400_000,
    p90: 28 * 86_400_000,
    mostUnavailable: 0,
    brakes: [{ what: 'careful: at least 1', ms: 14 * 86_400_000 }],
    risk: undefined,
    approvals: [],
    fullBudgets: [],
    classes: new Map(),
    skipped: [],
    stuck: [
      {
        set: 'base',
        wait: { predicate: 'HealthFloor' as const, seen: 'gate HealthFloor: no room', unblock: 'it needs fewer' },
      },
    ],
    untimed: [],
    assumed: [],
    wayBack: undefined,
    booked: [],
    underWay: [],
  }
  const text = outlookText({
    clusters: [{ stage: '-', prediction }],
    unknown: [],
    machines: 1,
    batches: 1,
    drains: 1,
    reboots: 0,
    p50: prediction.p50,
    p90: prediction.p90,
    mostUnavailable: 0,
    risk: undefined,
    approvals: [],
    uncovered: [],
    wayBack: undefined,
    soak: 0,
  })
  expect(text).toContain('1 machine, 1 drain, 0 reboots, does not finish, at most 0 unavailable at once')
  expect(text).toContain('set base does not finish: gate HealthFloor: no room; it continues when it needs fewer')
  expect(text).not.toMatch(/28|slowed most|stage/)
})

test('a changed rule is named as what is not predicted', () => {
  const outlook = outlookOf([], { pipelines: [], clusters: [] }, [])
  const rule = { group: 'kubenode.io', kind: 'NodeRemedier', name: 'stuck' }
  const changes = ['test', 'prod'].map((cluster) => ({
    cluster,
    changes: [{ ref: rule, change: 'added', fields: [], more: 0 }],
  })) as unknown as Parameters<typeof outlookText>[2]
  expect(outlookText(outlook, [], changes)).toContain(
    '  ! 1 rule of repairs changes: what is repaired from then on is not predicted\n',
  )
  expect(outlookText(outlook)).not.toContain('rule')
})

test.each<readonly [string, Accuracy, readonly string[]]>([
  [
    'its median and of how many',
    { changes: 12, medianError: 0.184 },
    ['earlier predictions: median error 18 % over the last 12 changes'],
  ],
  ['the only one', { changes: 1, medianError: 0 }, ['earlier predictions: median error 0 % over the last change']],
  ['that there is none', { changes: 0 }, ['no earlier prediction to compare with']],
])('how well earlier predictions held is said: %s', (_, earlier, lines) => {
  const outlook = outlookOf([], { pipelines: [], clusters: [] }, [])
  expect(earlierTexts({ ...outlook, machines: 3, earlier })).toEqual(lines)
  expect(earlierTexts({ ...outlook, machines: 0, earlier })).toEqual([])
})
