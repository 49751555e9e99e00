import { expect, test } from 'vitest'
import { snapshots } from '#test/support/console/fixtures.ts'
import type { MachinesTopic } from '../../protocol.ts'
import { shadesOf } from './colors.ts'
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

test('a component that is reported without a version is not installed', () => {
  const { words, columns } = topic
  const versions = columns.versions.map((word, i) => (i === 0 ? words.length : word))
  const without: MachinesTopic = { ...topic, words: [...words, 'beacon=none'], columns: { ...columns, versions } }
  const { counts, shown } = machinesOf(
    [without],
    { ...wanted, coloring: 'version', only: 'Not installed' },
    rememberedOrder(),
  )
  expect([counts.get('Not installed'), shown]).toEqual([1, 1])
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

test('machines are grouped by a label, a version and a kernel; those without one are a group of their own', () => {
  const titles = (change: Partial<Wanted>) => of(change).groups.map(({ title, cells }) => [title, cells.length])
  expect(titles({ grouping: 'label:team' })).toEqual([
    ['blue', 3],
    ['green', 4],
  ])
  expect(titles({ grouping: 'label:owner' })).toEqual([['no owner', 7]])
  expect(titles({ grouping: 'version' })).toEqual([
    ['1.1.0', 5],
    ['1.2.0', 2],
  ])
  expect(titles({ grouping: 'kernel' })).toEqual([['6.1.0-41', 7]])
  expect(of({ grouping: 'label:team', group: 'blue' }).shown).toBe(3)
})

test('phases in the heat map differ by pattern as well', () => {
  const phases = ['Ready', 'Updating', 'Pending', 'NotReady', 'Repairing', 'Lost']
  const shades = shadesOf('phase', new Map(phases.map((p, i) => [p, 10 - i])))
  expect(new Set(shades.map(({ pattern }) => pattern)).size).toBe(phases.length)
})
