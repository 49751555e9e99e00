// Tests who is recorded as the author of a change, and that a modified log is detected.
import { expect, test } from 'vitest'
import type { KubeObject } from '#api/schema/object.ts'
import { type DeedLine, beginningOf, chainProblem, chained } from './chain.ts'
import { deedsOf } from './deeds.ts'

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

test('a cordon names the client that wrote it', () => {
  const node = made('Node', {})
  expect(deedsOf(node, next(node, { spec: { unschedulable: true } }))).toMatchObject([
    { who: 'kubectl-edit', what: 'cordoned' },
  ])
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
