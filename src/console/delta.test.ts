// Tests that a snapshot with a delta applied is the later snapshot.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { home, machines, pipeline, session, snapshots, why } from '#test/support/console/fixtures.ts'
import { applied, appliedAll, cellsAt, isMachines, rowsDelta } from './delta.ts'
import type { Delta, Snapshot } from './protocol.ts'
import { MACHINE_COLUMNS } from './machine-columns.ts'

const sorted = (rows: readonly { readonly id: string }[]) => rows.toSorted((a, b) => (a.id < b.id ? -1 : 1))

describe('rows', () => {
  test('an unchanged topic has no delta', () => {
    expect(rowsDelta(home, { ...home, at: home.at + 1, revision: 'x-2' })).toBeUndefined()
  })

  test('only what changed is sent', () => {
    const [first, ...rest] = pipeline.rows
    const after = { ...pipeline, rows: [{ ...first!, phase: 'Paused' }, ...rest.slice(1)] } as typeof pipeline
    const delta = rowsDelta(pipeline, after)
    expect(delta).toMatchObject({ topic: 'pipeline', removed: [rest[0]?.id] })
    expect(delta?.set).toHaveLength(1)
    expect(delta?.head).toBeUndefined()
  })

  test('a snapshot with the delta applied is the later snapshot', () => {
    const row = fc.record({ id: fc.constantFrom('a', 'b', 'c', 'd', 'e'), text: fc.string() })
    const rows = fc.uniqueArray(row, { selector: ({ id }) => id })
    fc.assert(
      fc.property(rows, rows, fc.string(), fc.string(), (some, others, one, other) => {
        const of = (list: typeof some, sentence: string) => ({ ...home, head: { sentence }, rows: list })
        const [before, after] = [of(some, one), of(others, other)]
        const delta = rowsDelta(before, after)
        const result = delta === undefined ? before : applied(before as never, delta, 'x', 1)
        expect(sorted(result.rows)).toEqual(sorted(after.rows))
        expect(result.head).toEqual(after.head)
      }),
    )
  })
})

describe('machines', () => {
  const place = (topic: typeof machines, name: string) => topic.names.indexOf(name)
  const cells = (name: string) => cellsAt(machines, place(machines, name))

  test('a changed, a new and a deleted machine are applied, and the others stay', () => {
    const changed = cells('n-1').with(1, 2)
    const words = ['zone-c']
    const fresh = cells('n-2').with(2, machines.words.length)
    const after = applied(
      machines,
      {
        topic: machines.topic,
        words,
        machines: [
          ['n-1', changed],
          ['n-8', fresh],
        ],
        removed: ['n-3', 'n-none'],
      },
      'x-2',
      1,
    )
    expect(after.names.toSorted()).toEqual(['n-1', 'n-2', 'n-4', 'n-5', 'n-6', 'n-7', 'n-8'])
    expect(cellsAt(after, place(after, 'n-1'))).toEqual(changed)
    expect(after.words[cellsAt(after, place(after, 'n-8'))[2] ?? 0]).toBe('zone-c')
    for (const name of ['n-2', 'n-4', 'n-7']) expect(cellsAt(after, place(after, name))).toEqual(cells(name))
    expect(machines.names).toHaveLength(7)
  })
})

test('many deltas at once are the same as one after the other, and the snapshot before stays as it is', () => {
  const name = fc.constantFrom('n-1', 'n-2', 'n-7', 'n-8', 'n-9')
  const cells = fc.nat(9).map((n) => MACHINE_COLUMNS.map((_, c) => n + c))
  const ofMachines = fc.record({
    topic: fc.constant(machines.topic),
    words: fc.array(fc.string(), { maxLength: 2 }),
    machines: fc.array(fc.tuple(name, cells), { maxLength: 4 }),
    removed: fc.array(name, { maxLength: 3 }),
  })
  const id = fc.constantFrom('a', 'b', 'c', 'd')
  const ofRows = fc
    .record({ set: fc.uniqueArray(id), removed: fc.uniqueArray(id), text: fc.string(), head: fc.option(fc.string()) })
    .map(({ set, removed, text, head }) => ({
      topic: home.topic,
      ...(head !== null && { head: { sentence: head } }),
      set: set.map((row) => ({ id: row, text })),
      removed: removed.filter((row) => !set.includes(row)),
    }))
  fc.assert(
    fc.property(
      fc.array(fc.oneof(ofMachines, ofRows), { maxLength: 12 }),
      fc.constantFrom(machines, home),
      (all, first) => {
        const before = JSON.stringify(first)
        const deltas = all as unknown as readonly Delta[]
        const oneByOne = deltas.reduce<Snapshot>((state, delta) => applied(state, delta, 'x', 1), {
          ...first,
          revision: 'x',
          at: 1,
        })
        expect(appliedAll<Snapshot>(first, deltas, 'x', 1)).toEqual(oneByOne)
        expect(JSON.stringify(first)).toBe(before)
      },
    ),
  )
})

describe('the fixtures', () => {
  test.each(snapshots.map((s) => [s.topic, s] as const))('%s has unique ids', (_, snapshot) => {
    const ids = isMachines(snapshot) ? snapshot.names : snapshot.rows.map(({ id }: { readonly id: string }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    if (isMachines(snapshot))
      for (const column of MACHINE_COLUMNS.filter((c) => c !== 'since'))
        for (const cell of snapshot.columns[column]) expect(snapshot.words[cell]).toBeDefined()
  })

  test('the session and the tree are of the same fleet', () => {
    expect(session.clusters.map(({ name }) => name)).toContain(why.cluster)
  })
})
