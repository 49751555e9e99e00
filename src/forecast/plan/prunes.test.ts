import { expect, test } from 'vitest'
import type { PromisedPrune } from '../prunes.ts'
import { approveCommand, guardText, pruneDoubt, unknownTexts } from './prunes.ts'

const PRUNE: PromisedPrune = {
  cluster: 'prod',
  source: 'kubenode-system/fleet',
  track: 'fleet',
  digest: 'd'.repeat(64),
  count: 2,
  first: 'ConfigMap/default/b',
  guard: '10%',
  allowed: 1,
  takenAt: '2026-01-05T11:50:00Z',
}
const { guard: _, allowed: __, ...UNRULED } = PRUNE

test.each<[PromisedPrune, string]>([
  [
    PRUNE,
    'deletes 2 objects (limit 1), the first is ConfigMap/default/b; the prune guard (10%) holds this until it is approved',
  ],
  [
    { ...PRUNE, machines: 10, allowedMachines: 3 },
    'deletes 10 machines (limit 3) and 2 objects (limit 1), the first is ConfigMap/default/b; the prune guard (10%) holds this until it is approved',
  ],
  [
    { ...PRUNE, count: 1, first: 'Cluster.kubenode.io/kubenode-system/prod' },
    'deletes 1 object with machines whose number is not known, the first is Cluster.kubenode.io/kubenode-system/prod; the prune guard (10%) holds this until it is approved',
  ],
  [
    { ...UNRULED, machines: 1 },
    'deletes 1 machine and 2 objects, the first is ConfigMap/default/b; if that exceeds the prune guard of the source, which no inventory has, it waits for an approval',
  ],
])('what is deleted, and by which limit it waits: %j', (prune, text) => expect(guardText(prune)).toBe(text))

test('the command has the whole digest, and the plan says by which inventory and what makes it another', () => {
  expect(approveCommand(PRUNE)).toBe(`kubenode approve sha256:${'d'.repeat(64)}`)
  expect(pruneDoubt(PRUNE)).toBe('by the inventory of 2026-01-05T11:50:00Z')
  expect(pruneDoubt({ ...PRUNE, mayDiffer: 'the inventory is 3 h old' })).toBe(
    'by the inventory of 2026-01-05T11:50:00Z; the digest may differ: the inventory is 3 h old',
  )
})

test('clusters of which it is unknown for one cause are one line, and of many the first are named', () => {
  const all = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((cluster) => ({ cluster, why: 'no inventory was given' }))
  expect(unknownTexts(all)).toEqual([
    'a, b, c, d, e and 2 more: whether the prune guard stops the deletions is unknown: no inventory was given',
  ])
})
