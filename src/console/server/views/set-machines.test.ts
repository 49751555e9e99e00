// The machines of a set: the versions that they run side by side, and those that the next step takes.
import { expect, test } from 'vitest'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { Ladder } from '#explain/ladder.ts'
import type { MachineRow } from '../machine-row.ts'
import { membersOf, nextSteps, versionCounts } from './set-machines.ts'

interface Is {
  readonly zone?: string
  readonly hardware?: string
  readonly runs?: string
  readonly isReady?: boolean
  readonly isFailing?: boolean
  readonly isRolledBack?: boolean
  /** The version that failed. */
  readonly desired?: string
  readonly silent?: 'Yes' | 'No'
  readonly pool?: string
}

const machine = (name: string, is: Is = {}): MachineRow =>
  ({
    metadata: { name },
    place: {
      zone: is.zone ?? 'a',
      rack: '',
      pool: '',
      class: is.hardware ?? 'old',
      labels: { pool: is.pool ?? 'workers' },
    },
    state: {
      versions: `agentless=none,beacon=${is.runs ?? '1.0.0'}`,
      isReady: is.isReady ?? true,
      silent: is.silent ?? 'No',
    },
    failures:
      is.isFailing === true
        ? [
            {
              component: 'beacon',
              isRolledBack: is.isRolledBack ?? false,
              desired: is.desired ?? '1.1.0',
              set: 'base',
              text: 'Failed',
              since: '',
            },
          ]
        : [],
  }) as unknown as MachineRow

const setWith = (status: object = {}): MachineComponentSet =>
  ({
    metadata: { name: 'base' },
    spec: {
      selector: { matchLabels: { pool: 'workers' } },
      components: [{ name: 'beacon', version: '1.1.0' }],
      rollout: { steps: [1, 2, 5], spread: ['class', 'zone', 'rack'] },
    },
    status: { phase: 'Progressing', ...status },
  }) as unknown as MachineComponentSet

const ladder = (...states: readonly Ladder['rungs'][number]['state'][]): Ladder => ({
  component: 'beacon',
  version: '1.1.0',
  rungs: states.map((state, step) => ({ step, machines: [1, 3, 8][step] ?? 8, state })),
})

test('only machines that the selector matches count, and a selector that cannot be read matches none', () => {
  const machines = [machine('n-1'), machine('n-2', { pool: 'storage' })]
  expect(membersOf(setWith(), machines).map((m) => m.metadata.name)).toEqual(['n-1'])
  const broken = { ...setWith(), spec: { ...setWith().spec, selector: { matchLabels: { 'a b': 'x' } } } }
  expect(membersOf(broken as unknown as MachineComponentSet, machines)).toEqual([])
})

test('versions stand side by side, the declared one first, each with what is wrong on its machines', () => {
  const members = [
    machine('n-1', { runs: '1.1.0', isFailing: true, isReady: false }),
    machine('n-2', { silent: 'Yes' }),
    machine('n-3', { isFailing: true, isRolledBack: true }),
    machine('n-4', { runs: 'none' }),
    machine('n-5', { isFailing: true, isRolledBack: true, desired: '1.0.5' }),
  ]
  expect(versionCounts(setWith(), members)).toEqual([
    {
      component: 'beacon',
      version: '1.1.0',
      isDeclared: true,
      machines: 1,
      ready: 0,
      failing: 1,
      wentBack: 1,
      silent: 0,
    },
    {
      component: 'beacon',
      version: '1.0.0',
      isDeclared: false,
      machines: 3,
      ready: 3,
      failing: 0,
      wentBack: 0,
      silent: 1,
    },
    { component: 'beacon', isDeclared: false, machines: 1, ready: 1, failing: 0, wentBack: 0, silent: 0 },
  ])
})

test('the next step takes an untried class first, then machines of all zones in turn', () => {
  const members = [
    machine('n-1', { runs: '1.1.0' }),
    machine('n-2', { zone: 'a' }),
    machine('n-3', { zone: 'a' }),
    machine('n-4', { zone: 'b' }),
    machine('n-5', { zone: 'b', hardware: 'new' }),
  ]
  const [step] = nextSteps(setWith(), [ladder('Passed', 'Waiting', 'Waiting')], members)
  expect(step).toEqual({
    component: 'beacon',
    version: '1.1.0',
    step: 1,
    size: 2,
    machines: [
      { machine: 'n-5', why: 'first of class new' },
      { machine: 'n-2', why: 'zone a' },
    ],
  })
})

test('a machine that went back from an earlier version may be next, one that failed with this version is not', () => {
  const back = { isFailing: true, isRolledBack: true }
  const members = [
    machine('n-1', { ...back, desired: '1.0.5' }),
    machine('n-2', back),
    machine('n-3', { isFailing: true, desired: '1.0.0' }),
    machine('n-4', { ...back, hardware: 'new' }),
    machine('n-5', { hardware: 'new' }),
  ]
  const [step] = nextSteps(setWith(), [ladder('Passed', 'Waiting')], members)
  expect(step?.machines).toEqual([
    { machine: 'n-5', why: 'zone a' },
    { machine: 'n-1', why: 'zone a' },
  ])
})

test.each([
  ['a machine of an open slice', { slices: [{ component: 'beacon', version: '1.1.0', machines: ['n-2'] }] }],
  ['a skipped machine', { skipped: [{ machine: 'n-2', reason: 'silent' }] }],
])('%s is not next', (_, status) => {
  const members = [machine('n-2'), machine('n-3')]
  const [step] = nextSteps(setWith(status), [ladder('Open', 'Waiting')], members)
  expect(step?.machines.map((m) => m.machine)).toEqual(['n-3'])
})

test('nothing is next after a failed step, in a set that is blocked, and without machines that may be read', () => {
  const members = [machine('n-2')]
  expect(nextSteps(setWith(), [ladder('Failed', 'Waiting')], members)).toEqual([])
  expect(nextSteps(setWith({ phase: 'Blocked' }), [ladder('Passed', 'Waiting')], members)).toEqual([])
  expect(nextSteps(setWith(), [ladder('Passed', 'Waiting')], [])).toEqual([])
})
