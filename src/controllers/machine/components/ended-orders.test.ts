import { expect, test } from 'vitest'
import type { Machine } from '#api/kinds/machine.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { EndedOrders } from './ended-orders.ts'

const machine = (state: string): Machine =>
  ({
    metadata: { name: 'm', uid: 'u' },
    spec: { components: [{ name: 'beacon', version: '1.1.0', attempt: 2, switch: { attempt: 2, permit: 'p' } }] },
    status: { components: [{ name: 'beacon', desired: '1.1.0', attempt: 2, state }] },
  }) as unknown as Machine

const permit = (phase: string): OperationPermit =>
  ({
    metadata: { name: 'p' },
    spec: { operations: [], targets: [{ kind: 'Machine', name: 'm', uid: 'u' }] },
    status: { phase, verdicts: [{ target: 'u', gate: 'All', verdict: 'Granted' }] },
  }) as unknown as OperationPermit

test('a permit has ended for as long as it was observed to be no longer in force', () => {
  let now = 1_000
  const ended = new EndedOrders(() => now)
  const forMs = (state: string, permits: readonly OperationPermit[]) =>
    Object.fromEntries(ended.observe(machine(state), permits))
  expect(forMs('Staged', [permit('Granted')])).toEqual({})
  expect(forMs('Staged', [permit('Expired')])).toEqual({ p: 0 })
  now += 700
  // A permit that was deleted has ended, too.
  expect(forMs('Staged', [])).toEqual({ p: 700 })
  expect(forMs('Staged', [permit('Granted')])).toEqual({})
  now += 700
  expect(forMs('Staged', [permit('Revoked')])).toEqual({ p: 0 })
  expect(forMs('Healthy', [permit('Revoked')])).toEqual({})
})
