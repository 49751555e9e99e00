import { expect, test } from 'vitest'
import type { Approval } from '#api/kinds/approval.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { approvalDigest } from '#permits/approval-digest.ts'
import type { GateContext } from '../question.ts'
import { usedApprovals } from './approval.ts'

const NOW = Date.parse('2026-03-02T12:00:00Z')

const permit = (kind: string): OperationPermit =>
  ({
    metadata: { name: 'retire' },
    spec: {
      operations: ['Drain', 'Replace'],
      targets: [{ kind: 'Machine', name: 'm-1', uid: 'u-1' }],
      requester: { manager: 'kubenode-hostdoctor', kind, name: 'retire' },
    },
  }) as unknown as OperationPermit

const approved = (name: string, by: string, more: object = {}): Approval =>
  ({
    metadata: { name },
    spec: { digest: approvalDigest(permit('MaintenanceEvent').spec), by, ...more },
  }) as unknown as Approval

const context = (approvals: readonly Approval[], dataLoss: boolean): GateContext['snapshot'] =>
  ({
    policies: [],
    approvals,
    wall: NOW,
    maintenance: [{ metadata: { name: 'retire' }, spec: { machine: 'm-1', kind: 'Redeploy', dataLoss } }],
  }) as unknown as GateContext['snapshot']

const namesOf = (found: readonly Approval[]) => found.map((a) => `${a.metadata.name} by ${a.spec.by}`)

test('who approved a loss of data is kept without any policy that asks for approvals', () => {
  const approvals = [
    approved('b', 'bob'),
    approved('a', 'ada'),
    approved('old', 'eve', { until: '2026-03-01T00:00:00Z' }),
    approved('other', 'eve', { digest: 'f'.repeat(64) }),
  ]
  expect(namesOf(usedApprovals(permit('MaintenanceEvent'), context(approvals, true)))).toEqual(['a by ada', 'b by bob'])
})

test.each([
  ['work that loses nothing', 'MaintenanceEvent', false],
  ['a repair', 'RemedyOperationJob', true],
])('%s needs none, and names none', (_, kind, dataLoss) => {
  expect(usedApprovals(permit(kind), context([approved('a', 'ada')], dataLoss))).toEqual([])
})
