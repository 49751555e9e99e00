import { expect, test } from 'vitest'
import { inventory as kind, MAX_REFS, type Inventory } from '#api/kinds/inventory.ts'
import { createValidator } from '#api/validate.ts'
import { inventoryRefs, shardWrites } from './inventory.ts'

const owner = { source: 'kubenode-system/fleet', track: 'machines', target: 'Member' } as const
const mark = { commit: 'c'.repeat(40), release: 'machines-cccccccccccc', appliedAt: '2026-01-31T12:00:00Z' }
const refs = (n: number) =>
  Array.from({ length: n }, (_, i) => ({
    group: '',
    kind: 'ConfigMap',
    namespace: 'd',
    name: `o${String(i).padStart(6, '0')}`,
    digest: 'abcdef0123456789',
  }))
const stored = (n: number) => shardWrites([], owner, refs(n), mark).apply as unknown as readonly Inventory[]

test('an inventory is cut into valid shards of at most 2,000 references and put together again', () => {
  const shards = stored(2 * MAX_REFS + 1)
  expect(shards.map((s) => [s.metadata.name, s.spec.refs.length, s.spec.shards])).toEqual([
    ['kubenode-system.fleet.machines.member-0', MAX_REFS, 3],
    ['kubenode-system.fleet.machines.member-1', MAX_REFS, 3],
    ['kubenode-system.fleet.machines.member-2', 1, 3],
  ])
  const validator = createValidator()
  for (const shard of shards) expect(validator.problems(kind, shard)).toEqual([])
  expect(inventoryRefs(shards.toReversed(), owner, new Set())).toEqual(refs(2 * MAX_REFS + 1))
})

test('nothing is written when nothing changed, and one shard when one object did', () => {
  const shards = stored(MAX_REFS + 5)
  expect(shardWrites(shards, owner, refs(MAX_REFS + 5), mark)).toEqual({ apply: [], remove: [] })
  const changed = refs(MAX_REFS + 5).with(MAX_REFS + 2, {
    group: '',
    kind: 'ConfigMap',
    namespace: 'd',
    name: 'z',
    digest: '0123456789abcdef',
  })
  expect(shardWrites(shards, owner, changed, mark).apply.map((s) => s.metadata.name)).toEqual([
    'kubenode-system.fleet.machines.member-1',
  ])
})

test('an exemption of recoveries is written with the shards, and taken back with them', () => {
  const shards = stored(3)
  const exempt = shardWrites(shards, owner, refs(3), { ...mark, isBudgetExempt: true }).apply
  expect(exempt.map((s) => s.spec.exemptRecoveries)).toEqual([['Budget']])
  const held = exempt as unknown as readonly Inventory[]
  expect(shardWrites(held, owner, refs(3), { ...mark, isBudgetExempt: true })).toEqual({ apply: [], remove: [] })
  expect(shardWrites(held, owner, refs(3), mark).apply.map((s) => s.spec.exemptRecoveries)).toEqual([undefined])
})

test('shards that are not needed any more are removed, those of others are not ours', () => {
  const shards = stored(MAX_REFS + 5)
  const other = {
    ...stored(1)[0],
    spec: { ...stored(1)[0]?.spec, track: 'other' },
    metadata: { name: 'other' },
  } as Inventory
  expect(shardWrites([...shards, other], owner, refs(3), mark).remove).toEqual([
    'kubenode-system.fleet.machines.member-1',
  ])
  expect(inventoryRefs([other], owner, new Set())).toEqual([])
})
