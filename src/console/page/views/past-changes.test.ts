import { expect, test } from 'vitest'
import type { MachinesTopic, PipelineTopic, SetsTopic } from '#console/protocol.ts'
import { snapshots } from '#test/support/console/fixtures.ts'
import { MACHINE_COLUMNS } from '../../machine-columns.ts'
import { cellsAt } from '../../delta.ts'
import { changesIn } from './past-changes.ts'

const topicNamed = (topic: string) => snapshots.find((s) => s.topic === topic)

test('a release, its stages and its clusters are called by their names, not by ids of rows', () => {
  const pipeline = topicNamed('pipeline') as PipelineTopic
  const delta = { topic: 'pipeline', set: pipeline.rows, removed: [] }
  const changes = changesIn({ ...pipeline, rows: [] }, delta)
  expect(changes.map(({ name, before, after }) => [name, before, after?.phase])).toEqual([
    ['Release machines-3f1c9e0a7b5d', undefined, 'Progressing'],
    ['Stage test of machines-3f1c9e0a7b5d', undefined, 'Soaking'],
    ['Stage prod of machines-3f1c9e0a7b5d', undefined, 'Waiting'],
    ['Cluster test in machines-3f1c9e0a7b5d', undefined, 'Healthy'],
    ['Cluster prod in machines-3f1c9e0a7b5d', undefined, 'Waiting'],
    ['Cluster edge in machines-3f1c9e0a7b5d', undefined, 'Offline'],
  ])
})

test('a set that stays in its phase shows how far it came', () => {
  const sets = topicNamed('sets/prod') as SetsTopic
  const [first] = sets.rows
  if (first === undefined) throw new Error('the fixtures have no set')
  const set = [{ ...first, updated: first.updated + 1 }]
  const [change] = changesIn(sets, { topic: sets.topic, set, removed: [] })
  expect(change).toEqual({
    id: first.id,
    name: first.object.name,
    before: { phase: first.phase, facts: [`${first.updated} of ${first.total} up to date`] },
    after: { phase: first.phase, facts: [`${first.updated + 1} of ${first.total} up to date`] },
  })
})

test('a machine shows the facts that differ, and one that ended is absent after', () => {
  const machines = topicNamed('machines/prod') as MachinesTopic
  const cells = cellsAt(machines, 0).map((cell, at) =>
    MACHINE_COLUMNS[at] === 'versions' ? machines.words.length : cell,
  )
  const [first = '', second = ''] = machines.names
  const delta = {
    topic: machines.topic,
    words: ['beacon=9.9.9'],
    machines: [[first, cells] as const],
    removed: [second],
  }
  const [changed, ended] = changesIn(machines, delta)
  expect(changed?.after?.facts).toEqual(['beacon 9.9.9'])
  expect(changed?.before?.facts).not.toContain('components Healthy')
  expect(ended).toMatchObject({ name: second, after: undefined })
})
