// A file that was written or cut by hand is refused with the part that is wrong, and never read as an inventory.
import { expect, test } from 'vitest'
import { INVENTORY_FORM, readInventory } from './inventory.ts'
import { INVENTORY_SHAPE } from './inventory-shape.ts'

const named = { metadata: { name: 'n' } }
const lists = Object.fromEntries((INVENTORY_SHAPE.required ?? []).map((list) => [list, []]))
const whole = { form: INVENTORY_FORM, cluster: 'prod', takenAt: '2026-01-05T02:00:00Z', ...lists }
const problemOf = (part: object) => {
  const read = readInventory({ ...whole, ...part })
  return 'problem' in read ? read.problem : undefined
}

test('an inventory of an empty cluster is read', () => {
  expect(problemOf({})).toBeUndefined()
  expect(problemOf({ later: 'of a newer version', nodes: [{ ...named, later: 1 }] })).toBeUndefined()
})

test.each(
  Object.entries(INVENTORY_SHAPE.properties ?? {}).flatMap(([list, { type }]) => (type === 'array' ? list : [])),
)('%s with nothing in place of an item is refused', (list) => {
  expect(problemOf({ [list]: [null] })).toMatch(RegExp(`^${list}\\[0\\] must be (an object|a text)$`))
  expect(problemOf({ [list]: {} })).toBe(`${list} must be a list`)
})

test.each([
  [{ machines: null }, 'machines must be a list'],
  [{ machines: [{}] }, 'machines[0].metadata is missing'],
  [{ machines: [named, { ...named, spec: [] }] }, 'machines[0].spec is missing'],
  [{ nodes: [{ ...named, spec: { taints: 'x' } }] }, 'nodes[0].spec.taints must be a list'],
  [{ nodes: [{ ...named, status: { capacity: { cpu: 8 } } }] }, 'nodes[0].status.capacity.cpu must be a text'],
  [{ revisions: [{ ...named, revision: '1' }] }, 'revisions[0].revision must be a number'],
  [{ applied: [{ source: 's', track: 't', refs: [{ group: '', kind: 'K' }] }] }, 'applied[0].refs[0].name is missing'],
  [{ ledger: 1 }, 'ledger must be an object'],
])('%j is refused: %s', (part, problem) => {
  expect(problemOf(part)).toBe(problem)
})
