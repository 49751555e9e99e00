import { expect, test } from 'vitest'
import { snapshots } from '#test/support/console/fixtures.ts'
import type { MachinesTopic } from '../../protocol.ts'
import { machineAt, machinesOf, rememberedOrder, spoken } from './machines.ts'
import type { Wanted } from './machines.ts'

const topic = snapshots.find((s) => s.topic === 'machines/prod') as MachinesTopic
const wanted: Wanted = { coloring: 'phase', component: 'beacon', grouping: 'zone', only: '', text: '', group: '' }
const of = (change: Partial<Wanted>) => machinesOf([topic], { ...wanted, ...change }, rememberedOrder())

test('machines are grouped and counted by what they are colored by', () => {
  const { groups, counts, total, shown } = of({})
  expect(groups.map(({ title, cells }) => [title, cells.length])).toEqual([
    ['zone-a', 3],
    ['zone-b', 4],
  ])
  expect(Object.fromEntries(counts)).toEqual({ Ready: 4, Updating: 1, Repairing: 1, NotReady: 1 })
  expect([total, shown]).toEqual([7, 7])
})

test('a filter leaves the counts of the other values, so that one can go on from there', () => {
  const { counts, shown, groups } = of({ only: 'NotReady' })
  expect(shown).toBe(1)
  expect(counts.get('Ready')).toBe(4)
  expect(groups.map(({ title }) => title)).toEqual(['zone-b'])
  expect(of({ text: 'n-3' }).shown).toBe(1)
  expect(of({ group: 'zone-a' }).shown).toBe(3)
})

test('the most frequent version is pale and the others differ by color and by pattern', () => {
  const { shades } = of({ coloring: 'version' })
  expect(shades.map(({ name, isPale }) => [name, isPale])).toEqual([
    ['1.1.0', true],
    ['1.2.0', false],
  ])
  expect(new Set(shades.map(({ pattern }) => pattern)).size).toBe(2)
})

test('silence of which nothing is known is not shown as heartbeats', () => {
  expect(Object.fromEntries(of({ coloring: 'silent' }).counts)).toEqual({ Heartbeats: 5, Silent: 1, Unknown: 1 })
})

test('several clusters are one picture, and each cell leads back to its machine', () => {
  const other: MachinesTopic = { ...topic, topic: 'machines/test' }
  const cells = machinesOf([topic, other], { ...wanted, grouping: 'cluster' }, rememberedOrder())
  expect(cells.groups.map(({ title }) => title)).toEqual(['prod', 'test'])
  const last = cells.groups[1]?.cells.at(-1) ?? -1
  const machine = machineAt(cells.topicOf(last) as MachinesTopic, cells.placeOf(last))
  expect(spoken(machine, true)).toBe('n-7, Ready, rack rack-1, zone zone-b, cluster test')
})
