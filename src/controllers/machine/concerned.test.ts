import { describe, expect, test } from 'vitest'
import type { MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { componentSet } from '#test/support/rollout-fleet.ts'
import { machinesTold, movedMachines } from './concerned.ts'

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
    expect(machinesTold(before, now)).toEqual(machines)
  })
})

type Wave = NonNullable<NonNullable<MachineComponentSet['status']>['waves']>[number]

describe('a set', () => {
  const wave = (more: Partial<Wave> = {}): Wave => ({
    component: 'beacon',
    version: '1.1.0',
    step: 1,
    slice: 0,
    phase: 'Switching',
    permit: 'p',
    machines: NAMES,
    startedAt: '2026-01-05T10:00:00Z',
    ...more,
  })
  const set = (waves: readonly Wave[], update = 'r-1'): MachineComponentSet => ({
    ...componentSet({ beacon: '1.1.0' }),
    status: { observedGeneration: 1, revisions: { update }, waves },
  })
  const waiting = { predicate: 'Progressing', seen: '1 of 3', since: '2026-01-05T10:00:00Z' }
  test.each<[string, MachineComponentSet, MachineComponentSet, readonly string[] | undefined]>([
    ['whose wave gets on concerns none', set([wave()]), set([wave({ waitingFor: waiting })]), []],
    [
      'whose wave is granted concerns none: the permit does',
      set([wave({ phase: 'AwaitingPermit' })]),
      set([wave()]),
      [],
    ],
    ['whose wave asks again concerns its machines', set([wave()]), set([wave({ permit: 'p-1' })]), NAMES],
    ['whose wave is inspected concerns its machines', set([wave()]), set([wave({ phase: 'Inspecting' })]), NAMES],
    [
      'whose wave lets a machine go concerns that one',
      set([wave()]),
      set([wave({ machines: ['m-0', 'm-2'] })]),
      ['m-1'],
    ],
    ['whose wave opens concerns its machines', set([]), set([wave()]), NAMES],
    ['that goes to another revision concerns all', set([wave()]), set([wave()], 'r-2'), undefined],
  ])('%s', (_, before, now, machines) => {
    const moved = movedMachines(before, now)
    expect(moved && [...moved]).toEqual(machines)
  })
})
