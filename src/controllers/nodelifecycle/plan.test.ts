// Tests which lifecycle conditions KubeNode sets on a Node, and that conditions of other writers stay.
import { expect, test } from 'vitest'
import type { MaintenanceEvent } from '#api/kinds/maintenance-event.ts'
import type { RemedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { Node } from '#nodes/objects.ts'
import { plan } from './plan.ts'
import type { Seen } from './seen.ts'

const NOW = Date.UTC(2026, 10, 28)
const AT = '2026-11-28T00:00:00Z'

const node = (conditions: readonly object[] = []): Node =>
  ({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n-1', uid: 'u' }, status: { conditions } }) as unknown as Node

const seen = (more: Partial<Seen> = {}): Seen => ({
  node: node(),
  machine: undefined,
  jobs: [],
  events: [],
  isServed: true,
  ...more,
})

const event = (phase: string, status: object = {}): MaintenanceEvent =>
  ({
    metadata: { name: 'e' },
    spec: { machine: 'm', kind: 'Reboot', source: 'metal', state: 'Scheduled', unplanned: false },
    status: { phase, ...status },
  }) as unknown as MaintenanceEvent

const job = (steps: readonly object[], more: object = {}, phase = 'Running'): RemedyOperationJob =>
  ({
    metadata: { name: 'j' },
    spec: {
      node: { name: 'n-1', uid: 'u' },
      remedierRef: { name: 'rule', generation: 1 },
      operations: [{ drain: {} }, { reboot: {} }],
      dryRun: false,
      ...more,
    },
    status: { phase, steps },
  }) as unknown as RemedyOperationJob

const written = (s: Seen): readonly string[] =>
  plan(s, NOW).actions.flatMap((a) => a.conditions.map((c) => `${c.type} ${c.status} ${c.reason}`))

test.each([
  ['announced maintenance', { events: [event('Announced')] }, ['MaintenancePlanned True KubeNodeMaintenance']],
  [
    'a drain for maintenance',
    { events: [event('Preparing', { drainStartedAt: AT })] },
    ['DrainInProgress True KubeNodeMaintenance', 'MaintenancePlanned True KubeNodeMaintenance'],
  ],
  [
    'a node that is drained for it',
    { events: [event('Prepared', { drainedAt: AT })] },
    ['Drained True KubeNodeMaintenance', 'MaintenancePlanned True KubeNodeMaintenance'],
  ],
  [
    'maintenance under way',
    { events: [event('InProgress', { drainedAt: AT })] },
    ['Drained True KubeNodeMaintenance', 'MaintenanceInProgress True KubeNodeMaintenance'],
  ],
  [
    'a repair that drains',
    { jobs: [job([{ operation: 'drain', startedAt: AT }])] },
    ['DrainInProgress True KubeNodeRepair', 'MaintenanceInProgress True KubeNodeRepair'],
  ],
  [
    'a repair after its drain',
    { jobs: [job([{ operation: 'drain', startedAt: AT, outcome: 'Succeeded' }])] },
    ['Drained True KubeNodeRepair', 'MaintenanceInProgress True KubeNodeRepair'],
  ],
  [
    'a repair that restarts a component',
    { jobs: [job([], { operations: [{ restartComponent: { component: 'a' } }] })] },
    [],
  ],
  ['a repair that waits for its permit', { jobs: [job([], {}, 'AwaitingPermit')] }, []],
  ['a dry run', { jobs: [job([], { dryRun: true })] }, []],
  ['nothing', {}, []],
] satisfies readonly (readonly [string, Partial<Seen>, readonly string[]])[])('%s', (_, more, expected) => {
  expect(written(seen(more))).toEqual(expected)
})

test('a machine that is removed is drained', () => {
  const conditions = [{ type: 'Drained', status: 'False', reason: 'WaitingForDrain' }]
  const machine = { metadata: { name: 'm' }, status: { conditions } } as unknown as NonNullable<Seen['machine']>
  expect(written(seen({ machine }))).toEqual(['DrainInProgress True KubeNodeRemoval'])
})

test('what we wrote ends with its cause, once', () => {
  const ours = node([
    { type: 'DrainInProgress', status: 'True', reason: 'KubeNodeRepair', message: 'x', lastTransitionTime: AT },
  ])
  expect(written(seen({ node: ours }))).toEqual(['DrainInProgress False KubeNodeEnded'])
  const ended = node([
    { type: 'DrainInProgress', status: 'False', reason: 'KubeNodeEnded', message: 'x', lastTransitionTime: AT },
  ])
  expect(written(seen({ node: ended }))).toEqual([])
})

test('a condition that somebody else set is left alone, with and without a cause of ours', () => {
  const theirs = node([{ type: 'DrainInProgress', status: 'True', reason: 'KubectlDrain', lastTransitionTime: AT }])
  expect(written(seen({ node: theirs }))).toEqual([])
  const draining = job([{ operation: 'drain', startedAt: AT }])
  expect(written(seen({ node: theirs, jobs: [draining] }))).toEqual(['MaintenanceInProgress True KubeNodeRepair'])
})

test.each([false, undefined])(
  'nothing is begun on a server that does not know them (%s), and ours end there',
  (isServed) => {
    const events = [event('InProgress')]
    expect(written(seen({ events, isServed }))).toEqual([])
    const ours = node([
      { type: 'MaintenanceInProgress', status: 'True', reason: 'KubeNodeMaintenance', lastTransitionTime: AT },
    ])
    expect(written(seen({ events, isServed, node: ours }))).toEqual(['MaintenanceInProgress False KubeNodeEnded'])
  },
)

test('planning again after the write yields nothing', () => {
  const before = seen({ events: [event('InProgress', { drainedAt: AT })] })
  const [action] = plan(before, NOW).actions
  expect(plan({ ...before, node: node(action?.conditions) }, NOW + 60_000).actions).toEqual([])
})
