import { expect, test } from 'vitest'
import { ANNOTATIONS, TAINTS } from '#api/names.ts'
import type { MaintenanceEvent } from '#api/kinds/maintenance-event.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { Node } from '#nodes/objects.ts'
import { defined } from '#lib/defined.ts'
import { aMachine, condition } from '#test/support/fleets/defender-objects.ts'
import { nodeState, plannedMachines, plannedTargets } from './node-state.ts'

const IN_SERVICE = { inServiceSince: '2026-01-01T00:00:00Z' }
function machine(ready: 'True' | 'False' = 'True', more: Partial<Parameters<typeof aMachine>[0]> = {}) {
  const made = aMachine({ name: 'a', ...IN_SERVICE, ...more })
  return {
    ...made,
    status: { ...made.status, conditions: [...(made.status?.conditions ?? []), condition('NodeReady', ready)] },
  }
}
const component = (state: string, version?: string) => {
  const made = machine()
  return {
    ...made,
    status: {
      ...made.status,
      components: [{ name: 'k', state, since: '', ...defined({ version }) }],
    },
  } as unknown as typeof made
}
const node = (more: object): Node => ({ metadata: { name: 'a' }, ...more }) as unknown as Node
const problem = (type: string) => node({ status: { conditions: [{ type, status: 'True' }] } })
const cordoned = (owner: string) =>
  node({
    metadata: { name: 'a', annotations: { [ANNOTATIONS.cordon]: JSON.stringify({ [owner]: { reason: 'x' } }) } },
    spec: { taints: [{ key: TAINTS.cordon, effect: 'NoSchedule' }] },
  })

test.each([
  ['a node that serves', machine(), undefined, 'good'],
  ['a component that is healthy', component('Healthy', '1'), undefined, 'good'],
  ['a download beside the running version', component('Fetching', '1'), undefined, 'good'],
  ['a first download', component('Fetching'), undefined, 'fault'],
  ['a broken component', component('Degraded', '1'), undefined, 'fault'],
  ['a node that is not ready', machine('False'), undefined, 'fault'],
  ['a condition with which pods do not work', machine(), problem('KernelDeadlock'), 'fault'],
  ['trouble to come', machine(), problem('CertificateExpiring'), 'good'],
  ['the cordon of a repair', machine(), cordoned('repair-0123'), 'fault'],
  ['the cordon of a rollout', machine(), cordoned('set/base'), 'good'],
  ['a silent agent', machine('True', { reachable: 'False' }), undefined, 'silent'],
  ['a machine that never served', machine('False', { inServiceSince: undefined as never }), undefined, 'pending'],
  ['a machine that leaves', machine('False', { deletionTimestamp: '2026-01-01T00:00:00Z' }), undefined, 'pending'],
])('%s', (_, of, at, state) => {
  expect(nodeState({ machine: of, node: at, isPlanned: false })).toBe(state)
  // A plan explains what does not serve, and makes nothing of what does.
  const planned = state === 'fault' || state === 'silent' ? 'planned' : state
  expect(nodeState({ machine: of, node: at, isPlanned: true })).toBe(planned)
})

const permit = (phase: string, kind: string, results?: object) =>
  ({
    spec: { targets: [{ uid: 't1' }, { uid: 't2' }], requester: { kind }, ...defined({ results }) },
    status: { phase },
  }) as unknown as OperationPermit

test('a granted change plans its targets until each has its result; a repair plans nothing', () => {
  expect([...plannedTargets([permit('Granted', 'MachineComponentSet')])]).toEqual(['t1', 't2'])
  expect([...plannedTargets([permit('Granted', 'MachineComponentSet', { t1: 'Succeeded' })])]).toEqual(['t2'])
  expect([...plannedTargets([permit('Requested', 'MachineComponentSet')])]).toEqual([])
  expect([...plannedTargets([permit('Granted', 'RemedyOperationJob')])]).toEqual([])
})

test('announced work on a host plans its machine; what nobody announced is a fault', () => {
  const event = (phase: string, unplanned: boolean) =>
    ({ spec: { machine: 'a', kind: 'Reboot', unplanned }, status: { phase } }) as unknown as MaintenanceEvent
  expect([...plannedMachines([event('InProgress', false)])]).toEqual(['a'])
  expect([...plannedMachines([event('Announced', false)])]).toEqual([])
  expect([...plannedMachines([event('InProgress', true)])]).toEqual([])
  expect([...plannedMachines([event('Done', false)])]).toEqual([])
})
