import { describe, expect, test } from 'vitest'
import type { MachineComponentSet, Slice } from '#api/kinds/machine-component-set.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { componentSet } from '#test/support/fleets/rollout-fleet.ts'
import { machinesOrdered, movedMachines } from './concerned.ts'

const NAMES = ['m-0', 'm-1', 'm-2']

const permit = (
  spec: Partial<OperationPermit['spec']> = {},
  status: OperationPermit['status'] = { phase: 'Granted' },
): OperationPermit => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'OperationPermit',
  metadata: { name: 'p' },
  spec: {
    operations: ['SwitchComponent'],
    targets: NAMES.map((name) => ({ kind: 'Machine', name, uid: `uid-${name}` })),
    requester: { manager: 'kubenode-componentset' },
    reason: '',
    recovery: false,
    leaseSeconds: 120,
    ...spec,
  },
  status: {
    ...status,
    verdicts: NAMES.map((n) => ({ target: `uid-${n}`, gate: 'Budget' as const, verdict: 'Granted' as const })),
  },
})

describe('a permit', () => {
  const done = { 'uid-m-0': 'Succeeded' as const }
  test.each<[string, OperationPermit | undefined, OperationPermit | undefined, readonly string[]]>([
    ['that comes concerns all its machines', undefined, permit(), NAMES],
    ['that goes concerns all its machines', permit(), undefined, NAMES],
    ['that is granted concerns all its machines', permit({}, { phase: 'Requested' }), permit(), NAMES],
    ['that is renewed concerns none', permit(), permit({ renewTime: '2026-01-05T10:00:00Z' }), []],
    ['with a result concerns that machine', permit(), permit({ results: done }), ['m-0']],
    [
      'that ends concerns those without a result before',
      permit({ results: done }),
      permit({ results: done }, { phase: 'Expired' }),
      ['m-1', 'm-2'],
    ],
  ])('%s', (_, before, now, machines) => {
    expect(machinesOrdered(before, now)).toEqual(machines)
  })
})

describe('a set', () => {
  const slice = (more: Partial<Slice> = {}): Slice => ({
    component: 'beacon',
    version: '1.1.0',
    step: 1,
    number: 0,
    phase: 'Switching',
    permit: 'p',
    machines: NAMES,
    startedAt: '2026-01-05T10:00:00Z',
    ...more,
  })
  const set = (slices: readonly Slice[], update = 'r-1'): MachineComponentSet => ({
    ...componentSet({ beacon: '1.1.0' }),
    status: { observedGeneration: 1, revisions: { update }, slices },
  })
  const waiting = { predicate: 'Progressing', seen: '1 of 3', since: '2026-01-05T10:00:00Z' }
  test.each<[string, MachineComponentSet, MachineComponentSet, readonly string[] | undefined]>([
    ['whose slice gets on concerns none', set([slice()]), set([slice({ waitingFor: waiting })]), []],
    [
      'whose slice is granted concerns none: the permit does',
      set([slice({ phase: 'AwaitingPermit' })]),
      set([slice()]),
      [],
    ],
    ['whose slice asks again concerns its machines', set([slice()]), set([slice({ permit: 'p-1' })]), NAMES],
    ['whose slice is inspected concerns its machines', set([slice()]), set([slice({ phase: 'Inspecting' })]), NAMES],
    [
      'whose slice lets a machine go concerns that one',
      set([slice()]),
      set([slice({ machines: ['m-0', 'm-2'] })]),
      ['m-1'],
    ],
    ['whose slice opens concerns its machines', set([]), set([slice()]), NAMES],
    ['that goes to another revision concerns all', set([slice()]), set([slice()], 'r-2'), undefined],
  ])('%s', (_, before, now, machines) => {
    const moved = movedMachines(before, now)
    expect(moved && [...moved]).toEqual(machines)
  })
})
