import { expect, test } from 'vitest'
import type { TreeEntry } from '../git/tree-entries.ts'
import { changedPaths, difference } from './changes.ts'

test('of folders with ten thousand names, one below the other, so many are compared and the rest is unknown', () => {
  const files = Array.from({ length: 9_999 }, (_, i): TreeEntry => ({ name: `f${i}`, kind: 'file', oid: 'same' }))
  let read = 0
  const treeOf = (id: string): readonly TreeEntry[] => {
    read++
    const [side, level] = id.split(' ')
    return [...files, { name: 'd', kind: 'tree', oid: `${side} ${Number(level) + 1}` }]
  }
  expect(changedPaths(difference('a 0', 'b 0', treeOf))).toEqual({ paths: [], isWhole: false })
  expect(read).toBeLessThan(150)
})
