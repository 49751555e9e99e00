// Which permits a node's page lists, and what it says of them.
import { expect, test } from 'vitest'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { permitRows } from './node-permits.ts'

const permit = (name: string, minute: number, spec: object = {}, status: object = {}): OperationPermit =>
  ({
    metadata: { name, creationTimestamp: `2026-01-31T11:${String(minute).padStart(2, '0')}:00Z` },
    spec: {
      operations: ['Reboot'],
      targets: [{ kind: 'Machine', name: 'n-1', uid: 'u' }],
      reason: 'a kernel hangs',
      requester: { manager: 'kubenode-remedyjob' },
      ...spec,
    },
    status,
  }) as unknown as OperationPermit

const N_1 = { machine: 'n-1', node: 'node-1' }

test('a permit that waits says what for, a granted one until when, and who approved it', () => {
  const shut = { gate: 'Rate', verdict: 'Waiting', seen: '20 in 10m', limit: '20', policy: 'production' }
  const [granted, waiting] = permitRows(
    [
      permit('a', 1, {}, { phase: 'Requested', gates: [shut, { ...shut, verdict: 'Granted' }], verdicts: [shut] }),
      permit(
        'b',
        2,
        {},
        { phase: 'Granted', decidedAt: '2026-01-31T11:03:00Z', expiresAt: '2026-01-31T12:00:00Z', approvedBy: ['ada'] },
      ),
    ],
    N_1,
  )
  expect(waiting).toMatchObject({
    purpose: 'a kernel hangs',
    phase: 'Requested',
    wait: '20 in 10m, limit 20 (policy production)',
  })
  expect(granted).toMatchObject({
    since: Date.parse('2026-01-31T11:03:00Z'),
    until: Date.parse('2026-01-31T12:00:00Z'),
    approvedBy: ['ada'],
  })
  expect(granted).not.toHaveProperty('wait')
})

test('permits of its Machine and of its Node, no others, the newest ten', () => {
  const target = (kind: string, name: string) => ({ targets: [{ kind, name, uid: name }] })
  const others = [
    permit('other', 1, target('Machine', 'n-2')),
    permit('namesake', 2, target('Node', 'n-1')),
    permit('all', 3, target('Cluster', 'n-1')),
  ]
  expect(permitRows(others, N_1)).toEqual([])
  expect(permitRows([permit('own', 4, target('Node', 'node-1'))], N_1)).toHaveLength(1)
  const many = Array.from({ length: 12 }, (_, n) => permit(`p-${n}`, n))
  expect(permitRows(many, N_1).map(({ name }) => name)).toEqual(Array.from({ length: 10 }, (_, n) => `p-${11 - n}`))
})
