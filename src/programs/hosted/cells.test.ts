import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Cell, planCells } from './cells.ts'

const none: ReadonlySet<string> = new Set()
const shape = (cells: readonly Cell[]) => cells.map(({ name, clusters }) => `${name}: ${clusters.join(' ')}`)

describe('which clusters share a process', () => {
  it('as many as are allowed, of one tenant', () => {
    const clusters = ['a/1', 'a/2', 'b/1', 'a/3']
    expect(shape(planCells({ cells: [], clusters, apart: none, perProcess: 2 }))).toEqual([
      'cell-1: a/1 a/2',
      'cell-2: b/1',
      'cell-3: a/3',
    ])
  })

  it('one that was in a process that failed gets its own, and keeps it', () => {
    const cells = [{ name: 'cell-1', clusters: ['a/1', 'a/2', 'a/3'] }]
    const clusters = ['a/1', 'a/2', 'a/3', 'a/4']
    const apart = new Set(['a/1', 'a/2'])
    const planned = planCells({ cells, clusters, apart, perProcess: 10 })
    expect(shape(planned)).toEqual(['cell-1: a/3 a/4', 'cell-2: a/1', 'cell-3: a/2'])
    expect(planCells({ cells: planned, clusters, apart, perProcess: 10 })).toEqual(planned)
  })

  it('properties: each cluster once, bounds kept, tenants apart, planning again changes nothing', () => {
    const ids = fc.uniqueArray(fc.stringMatching(/^[ab]\/[0-9]{1,2}$/), { maxLength: 20 })
    fc.assert(
      fc.property(ids, ids, ids, fc.integer({ min: 1, max: 5 }), (first, clusters, suspects, perProcess) => {
        const before = planCells({ cells: [], clusters: first, apart: none, perProcess })
        const apart = new Set(suspects)
        const cells = planCells({ cells: before, clusters, apart, perProcess })
        expect(cells.flatMap((c) => c.clusters).toSorted()).toEqual([...clusters].toSorted())
        expect(new Set(cells.map((c) => c.name)).size).toBe(cells.length)
        for (const cell of cells) {
          expect(cell.clusters.length).toBeLessThanOrEqual(perProcess)
          expect(new Set(cell.clusters.map((c) => c.split('/')[0])).size).toBe(1)
          if (cell.clusters.some((c) => apart.has(c))) expect(cell.clusters.length).toBe(1)
        }
        expect(planCells({ cells, clusters, apart, perProcess })).toEqual(cells)
      }),
    )
  })
})
