// Tests who is recorded as the author of a change, and that a modified log is detected.
import { expect, test } from 'vitest'
import type { KubeObject, ManagedFieldsEntry } from '#api/schema/object.ts'
import type { Json } from '#lib/json.ts'
import { type DeedLine, beginningOf, chainProblem, chained } from './chain.ts'
import { changedFieldsDeeds } from './changed-fields.ts'
import { deedsOf, inGap } from './deeds.ts'

const made = (kind: string, spec: object, more: object = {}): KubeObject => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind,
  metadata: {
    name: 'a',
    uid: 'u',
    generation: 1,
    creationTimestamp: '2026-11-20T10:00:00Z',
    managedFields: [
      { manager: 'kubenode-defender', operation: 'Update', subresource: 'status', time: '2026-11-20T12:00:00Z' },
      { manager: 'kubectl-edit', operation: 'Update', time: '2026-11-20T11:00:00Z' },
    ],
  },
  spec,
  ...more,
})

const next = (object: KubeObject, more: object = {}): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, generation: 2 },
  ...more,
})

const hold = made('OperationalHold', {
  target: { kind: 'MachineComponentSet', name: 'base' },
  effect: 'Pause',
  reason: 'incident 4711',
  author: 'ada@example.org',
  until: '2026-12-01T00:00:00Z',
})

test('a hold names its author, its reason and how it was written', () => {
  expect(deedsOf(undefined, hold)).toEqual([
    {
      who: 'ada@example.org',
      via: 'kubectl-edit',
      did: 'created',
      object: 'operationalhold/a',
      what: 'Pause machinecomponentset/base until 2026-12-01T00:00:00Z',
      why: 'incident 4711',
      reported: Date.parse('2026-11-20T11:00:00Z'),
    },
  ])
})

test('a server does not say who deleted an object, and nobody is guessed', () => {
  expect(deedsOf(hold, undefined)).toMatchObject([{ who: 'unknown', did: 'deleted', why: 'incident 4711' }])
})

test('a new spec of a rule is a deed of the manager that wrote it; a new status is none', () => {
  const rule = made('NodeRemedier', { mode: 'DryRun' })
  expect(deedsOf(rule, next(rule))).toMatchObject([{ who: 'kubectl-edit', did: 'changed', object: 'noderemedier/a' }])
  expect(deedsOf(rule, { ...rule, status: { counts: {} } })).toEqual([])
})

test('programs write Machines all day; a change by somebody else is a deed', () => {
  const machine = made('Machine', { pool: 'a' })
  const by = (manager: string) => ({
    ...next(machine),
    metadata: { ...machine.metadata, generation: 2, managedFields: [{ manager, operation: 'Update' as const }] },
  })
  expect(deedsOf(machine, by('kubenode-machine'))).toEqual([])
  expect(deedsOf(machine, by('kubectl'))).toMatchObject([{ who: 'kubectl', did: 'changed' }])
})

test('a permit is a deed once it is decided', () => {
  const permit = made('OperationPermit', {
    operations: ['Reboot'],
    targets: [{ kind: 'Node', name: 'n-1', uid: 'x' }],
    requester: { kind: 'RemedyOperationJob', name: 'j' },
    reason: 'kernel deadlock',
  })
  const granted = { ...permit, status: { phase: 'Granted', approvedBy: ['ada'], decidedAt: '2026-11-20T12:00:00Z' } }
  expect(deedsOf(undefined, permit)).toEqual([])
  expect(deedsOf(permit, granted)).toMatchObject([
    {
      who: 'kubenode-defender',
      did: 'granted',
      what: 'Reboot on n-1 for remedyoperationjob/j',
      why: 'approved by ada',
    },
  ])
  expect(deedsOf(granted, { ...granted })).toEqual([])
})

const cordon = { path: 'spec/unschedulable', before: undefined, after: 'true' }
const at = (time: string, fieldsV1: { readonly [key: string]: Json } = {}) =>
  ({ manager: 'kubectl-cordon', operation: 'Update', time, fieldsV1 }) as const
const node = (...managedFields: readonly ManagedFieldsEntry[]): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'n-1', uid: 'u', managedFields },
})
const AWAY = Date.parse('2026-11-20T11:30:00Z')
const UNSCHEDULABLE = { 'f:spec': { 'f:unschedulable': {} } }

test('while a recorder runs, a cordon, a label and a taint are deeds of the last writer, and those of programs are none', () => {
  const fields = [
    cordon,
    { path: 'metadata/labels/example.org~1team', before: '"a"', after: '"b"' },
    {
      path: 'spec/taints',
      before: '[]',
      after: JSON.stringify([
        { key: 'example.org/bad', effect: 'NoSchedule' },
        { key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' },
      ]),
    },
  ]
  const object = node(at('2026-11-20T12:00:00Z'))
  expect(changedFieldsDeeds({ object, fields, notBefore: undefined })).toEqual([
    {
      who: 'kubectl-cordon',
      did: 'changed',
      object: 'node/n-1',
      what: 'cordoned, label example.org/team=b, taint example.org/bad:NoSchedule added',
      reported: Date.parse('2026-11-20T12:00:00Z'),
    },
  ])
  const byKubelet = node({ ...at('2026-11-20T12:00:00Z'), manager: 'kubelet' })
  expect(changedFieldsDeeds({ object: byKubelet, fields, notBefore: undefined })).toEqual([])
})

test.each([
  [
    'a manager that owns the field and wrote in that time',
    node(at('2026-11-20T12:00:00Z', UNSCHEDULABLE)),
    'kubectl-cordon',
  ],
  ['a manager that wrote before', node(at('2026-11-20T11:00:00Z', UNSCHEDULABLE)), 'unknown'],
  ['a manager of another field', node(at('2026-11-20T12:00:00Z', { 'f:spec': { 'f:taints': {} } })), 'unknown'],
  ['no manager', node(), 'unknown'],
])('after a time without a recorder, a change with %s is by the one who is known', (_, object, who) => {
  const [deed] = changedFieldsDeeds({ object, fields: [cordon], notBefore: AWAY })
  expect(deed).toMatchObject({ who, what: 'cordoned', notBefore: AWAY })
  expect(deed?.reported).toBe(who === 'unknown' ? undefined : Date.parse('2026-11-20T12:00:00Z'))
})

test('who removed a field while no recorder ran is unknown, since nobody owns it', () => {
  const fields = [{ path: 'metadata/labels/a', before: '"b"', after: undefined }]
  const object = node(at('2026-11-20T12:00:00Z', { 'f:metadata': { 'f:labels': { 'f:c': {} } } }))
  expect(changedFieldsDeeds({ object, fields, notBefore: AWAY })).toMatchObject([
    { who: 'unknown', what: 'label a removed' },
  ])
})

test.each(['kubectl-label', 'kubenode-machine'])(
  'an uncordon, which leaves no entry, is a deed of an unknown author, and not of the last writer %s',
  (manager) => {
    const object = node({ ...at('2026-11-20T12:00:00Z'), manager })
    const fields = [{ path: 'spec/unschedulable', before: 'true', after: undefined }]
    expect(changedFieldsDeeds({ object, fields, notBefore: undefined })).toEqual([
      { who: 'unknown', did: 'changed', object: 'node/n-1', what: 'uncordoned' },
    ])
  },
)

test('a changed rule whose last writer wrote before the time without a recorder has no known author', () => {
  const rule = made('NodeRemedier', { mode: 'DryRun' })
  const [deed] = deedsOf(rule, next(rule))
  if (deed === undefined) throw new Error('it is a deed')
  expect(inGap(deed, AWAY)).toEqual({ who: 'unknown', did: 'changed', object: 'noderemedier/a', notBefore: AWAY })
  expect(inGap(deed, Date.parse('2026-11-20T10:59:00Z'))).toMatchObject({ who: 'kubectl-edit' })
})

function log(count: number): readonly DeedLine[] {
  const lines: DeedLine[] = []
  let last = { n: 0, digest: beginningOf('hub') }
  for (let n = 1; n <= count; n++) {
    last = chained(
      { who: 'ada', did: 'created', object: `set/${n}` },
      { n, cluster: 'hub', observed: n, prev: last.digest },
    )
    lines.push(last as DeedLine)
  }
  return lines
}

test('a whole log, and its end alone, have no problem', () => {
  expect(chainProblem(log(5))).toBeUndefined()
  expect(chainProblem(log(5).slice(2))).toBeUndefined()
})

test.each([
  [
    'a changed line',
    (l: readonly DeedLine[]) => l.with(2, { ...(l[2] as DeedLine), who: 'mallory' }),
    { n: 3, problem: 'Changed' },
  ],
  ['a missing line', (l: readonly DeedLine[]) => l.toSpliced(2, 1), { n: 4, problem: 'Missing' }],
  [
    'a line of another log',
    (l: readonly DeedLine[]) =>
      l.with(0, chained({ who: 'm', did: 'created', object: 'a' }, { n: 1, cluster: 'hub', observed: 1, prev: 'x' })),
    { n: 1, problem: 'Missing' },
  ],
])('%s shows', (_, change, problem) => {
  expect(chainProblem(change(log(5)))).toEqual(problem)
})
