import { describe, expect, test } from 'vitest'
import type { KubeObject } from '#api/schema/object.ts'
import { failuresOf, machinesOf } from './failures.ts'
import { healthOf } from './health.ts'

const ours = (kind: string, spec: object, status: object): KubeObject => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind,
  metadata: { name: 'x', uid: 'u', generation: 2 },
  spec,
  status: { observedGeneration: 2, ...status },
})
const condition = (type: string, status: string, reason: string) => ({
  type,
  status,
  reason,
  message: `${reason} m`,
  lastTransitionTime: '',
})
const of = (object: KubeObject) =>
  failuresOf([{ name: `${object.kind}/x`, object, health: healthOf(object), digest: 'd' }]).map(
    ({ part, state, reason, message, count }) => ({
      ...(part && { part }),
      state,
      reason,
      message,
      ...(count && { count }),
    }),
  )

const remedier = (stalled: boolean, matching: readonly object[], counts: object = {}) =>
  ours(
    'NodeRemedier',
    {},
    {
      matching,
      counts,
      conditions: [condition('Stalled', stalled ? 'True' : 'False', stalled ? 'LadderExhausted' : 'AsDeclared')],
    },
  )
const exhausted = (node: string) => ({ node, since: '', reason: 'LadderExhausted', waitingFor: 'needs a person' })
const inRepair = (node: string) => ({ node, since: '', job: 'j' })

test('a set that waits for a rate limit is known by it, and says until when', () => {
  const seen = 'beacon step 2: rate limit: 20 in 10m used, next grant at 12:10:00 UTC'
  const waiting = (predicate: string) =>
    ours('MachineComponentSet', {}, { phase: 'Progressing', waitingFor: { predicate, seen, since: '' } })
  const failures = (object: KubeObject) =>
    failuresOf([{ name: 'set', object, health: healthOf(object), digest: 'd' }]).map((f) => f.outside)
  expect(failures(waiting('RateExceeded'))).toEqual(['RateExceeded'])
  expect(failures(waiting('BudgetExhausted'))).toEqual([undefined])
  expect(of(waiting('RateExceeded'))[0]).toMatchObject({ message: seen })
})

test.each(['WaitingForWindow', 'OutsideWindow', 'BlackoutActive'])(
  'a set that waits only for %s says when it ends',
  (predicate) => {
    const waitingFor = {
      predicate,
      seen: 'no window is open',
      since: '',
      unblock: 'the window opens; for details run kubenode why operationpermit/p',
    }
    const set = ours('MachineComponentSet', {}, { phase: 'Progressing', waitingFor })
    expect(failuresOf([{ name: 'set', object: set, health: healthOf(set), digest: 'd' }])).toEqual([
      expect.objectContaining({
        state: 'InProgress',
        outside: predicate,
        message: 'no window is open; continues when the window opens',
      }),
    ])
  },
)

test('a set that a person holds is known by it, and says who; one that had failed before still has', () => {
  const paused = { ...condition('Paused', 'True', 'HoldPause'), message: 'hold pause-base: ada looks at it' }
  const held = (...more: readonly object[]) =>
    ours('MachineComponentSet', {}, { phase: 'Paused', conditions: [paused, ...more] })
  const found = (object: KubeObject) => failuresOf([{ name: 'set', object, health: healthOf(object), digest: 'd' }])
  expect(found(held())).toEqual([
    expect.objectContaining({
      state: 'InProgress',
      outside: 'HoldPause',
      message: 'it is Paused by hold pause-base: ada looks at it',
    }),
  ])
  const [failed] = found(held(condition('Stalled', 'True', 'RevisionFailed')))
  expect(failed).toMatchObject({ state: 'Failed', message: 'RevisionFailed m' })
  expect(failed?.outside).toBeUndefined()
})

describe('what fails in an object', () => {
  test.each<[string, KubeObject, readonly object[]]>([
    ['one that is well', ours('MachineSet', { replicas: 1 }, { phase: 'Complete', readyReplicas: 1 }), []],
    [
      'a set that lacks machines only',
      ours(
        'MachineSet',
        { replicas: 5 },
        { phase: 'Progressing', readyReplicas: 3, conditions: [condition('Ready', 'False', 'ReplicasShort')] },
      ),
      [
        {
          state: 'InProgress',
          reason: 'Progressing ReplicasShort',
          message: 'ReplicasShort m',
          count: 2,
        },
      ],
    ],
    [
      'a set whose newest spec was not observed: as a whole',
      ours('MachineSet', { replicas: 5 }, { observedGeneration: 1, phase: 'Complete', readyReplicas: 3 }),
      [{ state: 'InProgress', reason: 'Complete', message: 'its controller has not observed the latest spec yet' }],
    ],
    [
      'a component set that is blocked: with the revision',
      ours(
        'MachineComponentSet',
        {},
        { phase: 'Blocked', revisions: { blocked: [{ component: 'beacon', revision: 'base-2' }] } },
      ),
      [{ state: 'Failed', reason: 'Blocked beacon@base-2', message: 'it is Blocked' }],
    ],
    [
      'a rule with nodes beyond repair: these, and the others as faulty',
      remedier(true, [exhausted('n-1'), inRepair('n-2')]),
      [
        { part: 'node/n-1', state: 'Failed', reason: 'LadderExhausted', message: 'needs a person' },
        { part: 'node/n-2', state: 'Faulty', reason: 'Faulty', message: '' },
      ],
    ],
    [
      'a rule whose nodes are being repaired',
      remedier(false, [inRepair('n-2')]),
      [{ part: 'node/n-2', state: 'Faulty', reason: 'Faulty', message: '' }],
    ],
    [
      'a rule of a controller that does not name reasons yet',
      remedier(true, [inRepair('n-2')]),
      [{ part: 'node/n-2', state: 'Failed', reason: 'LadderExhausted', message: '' }],
    ],
    [
      'a rule with more nodes than a status lists',
      remedier(true, [exhausted('n-1')], { matching: 3 }),
      [
        { part: 'node/n-1', state: 'Failed', reason: 'LadderExhausted', message: 'needs a person' },
        { state: 'Failed', reason: 'Unlisted', message: '2 more nodes are faulty than the status lists', count: 2 },
      ],
    ],
    [
      'a rule that is not understood: as a whole',
      ours(
        'NodeRemedier',
        {},
        { matching: [inRepair('n-2')], conditions: [condition('Stalled', 'True', 'RuleInvalid')] },
      ),
      [{ state: 'Failed', reason: 'RuleInvalid', message: 'RuleInvalid m' }],
    ],
  ])('%s', (_, object, wanted) => {
    expect(of(object)).toEqual(wanted)
  })
})

test('machines are counted by the objects that speak of most of them', () => {
  const sets = [3, 4].map((replicas) => ours('MachineSet', { replicas }, {}))
  expect(machinesOf(sets)).toBe(7)
  expect(machinesOf([...sets, ours('MachineComponentSet', {}, { counts: { total: 9 } })])).toBe(9)
  expect(machinesOf([])).toBe(0)
})

test('a set that lacks machines or a required component waits for what other sets bring', () => {
  const setWaits = (kind: string, status: object) => {
    const object = {
      apiVersion: 'kubenode.io/v1alpha1',
      kind,
      metadata: { name: 'a', uid: 'u' },
      spec: { replicas: 3 },
      status: { conditions: [{ type: 'Ready', status: 'False', reason: 'x', message: 'm' }], ...status },
    } as KubeObject
    return failuresOf([{ name: 'a', object, health: healthOf(object), digest: 'd' }]).map((f) => f.setWait)
  }
  expect(setWaits('MachineSet', { readyReplicas: 1 })).toEqual(['Machines'])
  expect(setWaits('MachineComponentSet', { waitingFor: { predicate: 'RequirementUnmet' } })).toEqual(['Requirement'])
  expect(setWaits('MachineComponentSet', { waitingFor: { predicate: 'Progressing' } })).toEqual([undefined])
})
