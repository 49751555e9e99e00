// Recoveries that no budget blocks: only those of a set that sync recorded as exempt, and for at most a day.
import { expect, test } from 'vitest'
import type { Inventory } from '#api/kinds/inventory.ts'
import { machineComponentSet, type MachineComponentSet } from '#api/kinds/machine-component-set.ts'
import { isBudgetExempt } from './budget-exempt.ts'

const NOW = Date.parse('2026-01-31T12:00:00Z')
const ref = { group: 'kubenode.io', kind: 'MachineComponentSet', namespace: '', name: 'base', uid: 'u-1' }
const shard = (more: Partial<Inventory['spec']> = {}): Pick<Inventory, 'spec'> => ({
  spec: {
    source: 'n/s',
    track: 't',
    shard: 0,
    shards: 1,
    appliedAt: '2026-01-31T11:00:00Z',
    exemptRecoveries: ['Budget'],
    refs: [ref],
    ...more,
  },
})
const set = { ...machineComponentSet.example, metadata: { name: 'base', uid: 'u-1' } } as unknown as MachineComponentSet
const asked = (requester: object) => ({ spec: { requester } }) as unknown as Parameters<typeof isBudgetExempt>[0]
const base = { kind: 'MachineComponentSet', name: 'base', uid: 'u-1' }

test.each<[string, object, Pick<Inventory, 'spec'>[], boolean]>([
  ['a set that is listed with an exemption', base, [shard()], true],
  ['the same set without its uid in the request', { kind: base.kind, name: 'base' }, [shard()], true],
  ['a set that is listed without one', base, [shard({ exemptRecoveries: undefined } as never)], false],
  ['a set that is not listed', base, [shard({ refs: [] })], false],
  ['another set of the same name', { ...base, uid: 'u-2' }, [shard()], false],
  ['a set that was made again since', base, [shard({ refs: [{ ...ref, uid: 'u-0' }] })], false],
  ['an exemption of the day before yesterday', base, [shard({ appliedAt: '2026-01-29T11:00:00Z' })], false],
  ['an exemption without a time', base, [shard({ appliedAt: undefined } as never)], false],
  ['a requester that is no set', { kind: 'RemedyOperationJob', name: 'base' }, [shard()], false],
])('%s', (_, requester, shards, is) =>
  expect(
    isBudgetExempt(asked(requester), shards, { setNamed: (n) => (n === 'base' ? set : undefined), now: NOW }),
  ).toBe(is),
)
