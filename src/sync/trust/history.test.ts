import fc from 'fast-check'
import { expect, test } from 'vitest'
import { firstParentRange, mergeBase, wholeRange, type Links } from './history.ts'

/** Commit n may have any commits below n as parents; times are in random order. */
const histories = fc
  .array(fc.record({ parents: fc.array(fc.nat(), { maxLength: 3 }), time: fc.nat({ max: 50 }) }), {
    minLength: 2,
    maxLength: 24,
  })
  .map((all) =>
    all.map(({ parents, time }, n) => ({
      time,
      parents: n === 0 ? [] : [...new Set(parents.map((p) => String(p % n)))],
    })),
  )

const reader = (all: readonly Links[]) => (id: string) => {
  const found = all[Number(id)]
  if (found === undefined) throw new Error(`no commit ${id}`)
  return found
}

function reach(all: readonly Links[], of: string): ReadonlySet<string> {
  const found = new Set<string>()
  const visit = (id: string) => {
    if (found.has(id)) return
    found.add(id)
    for (const parent of all[Number(id)]?.parents ?? []) visit(parent)
  }
  visit(of)
  return found
}

const pairs = fc.tuple(histories, fc.nat(), fc.nat())

test('a range is everything that the new commit contains and the last one does not, parents first, whatever the dates say', async () => {
  await fc.assert(
    fc.asyncProperty(pairs, async ([all, a, b]) => {
      const [from, to] = [String(a % all.length), String(b % all.length)]
      const range = await wholeRange(from, to, reader(all))
      const [old, contained] = [reach(all, from), reach(all, to)]
      expect(range.kind).toBe(contained.has(from) ? 'Range' : 'Unrelated')
      if (range.kind !== 'Range') return
      expect(new Set(range.commits)).toEqual(contained.difference(old))
      for (const [i, id] of range.commits.entries())
        for (const parent of all[Number(id)]?.parents ?? [])
          expect(old.has(parent) || range.commits.indexOf(parent) < i).toBe(true)
      // A branch commit's merged commits are between it and the previous one.
      const line = await firstParentRange(from, to, reader(all))
      if (line.kind !== 'Range') return
      for (const [i, id] of line.commits.entries()) {
        const before = reach(all, i === 0 ? from : (line.commits[i - 1] ?? from))
        const own = reach(all, id).difference(before)
        const start = i === 0 ? 0 : range.commits.indexOf(line.commits[i - 1] ?? '') + 1
        expect(new Set(range.commits.slice(start, range.commits.indexOf(id) + 1))).toEqual(own)
      }
    }),
    { numRuns: 500 },
  )
})

test('the base of a merge is the one newest commit of both sides, or none is named', async () => {
  await fc.assert(
    fc.asyncProperty(pairs, async ([all, a, b]) => {
      const [x, y] = [String(a % all.length), String(b % all.length)]
      const common = reach(all, x).intersection(reach(all, y))
      const newest = [...common].filter((id) => ![...common].some((o) => o !== id && reach(all, o).has(id)))
      expect(await mergeBase(x, y, reader(all))).toBe(newest.length === 1 ? newest[0] : undefined)
    }),
    { numRuns: 500 },
  )
})

test('walks end: a range that is too long is an answer', async () => {
  const endless = (id: string): Links => ({ parents: [String(Number(id) + 1)], time: 0 })
  expect(await wholeRange('x', '0', (id) => (id === 'x' ? { parents: [], time: 0 } : endless(id)), 1_000)).toEqual({
    kind: 'TooLong',
  })
  expect(await firstParentRange('x', '0', endless, 1_000)).toEqual({ kind: 'TooLong' })
  expect(await mergeBase('0', '-1000000', endless, 1_000)).toBeUndefined()
})

test('walks end: commits that name thousands of parents are too long', async () => {
  const parents = Array.from({ length: 1_000 }, () => '0')
  const wide = (id: string): Links => ({ parents: [String(Number(id) + 1), ...parents], time: -Number(id) })
  let reads = 0
  const counted = (id: string) => (reads++, wide(id))
  for (const range of [wholeRange, firstParentRange])
    expect(await range('-1', '0', counted, 1_000)).toEqual({ kind: 'TooLong' })
  expect(reads).toBeLessThan(20)
})

test('the merge base of two short branches is found below a history of any length', async () => {
  const long = (id: string): Links =>
    /^[xy]/.test(id) ? { parents: ['0'], time: 1 } : { parents: [String(Number(id) + 1)], time: -Number(id) }
  expect(await mergeBase('x', 'y', long, 100)).toBe('0')
  expect(await mergeBase('x', '50', long, 100)).toBe('50')
})
