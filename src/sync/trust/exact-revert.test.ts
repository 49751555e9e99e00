import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { inFull } from '#test/support/tools/full.ts'
import type { TreeEntry } from '../git/tree-entries.ts'
import { type PutBackTree, putBack } from '../revert/put-back.ts'
import { revertProblem } from './exact-revert.ts'
import { revertTrailers, revertNamedIn } from './revert-trailers.ts'

type Files = Readonly<Record<string, string>>

/** Commits in memory: ids are repeated letters, trees are stored by content. */
class History {
  readonly #trees = new Map<string, readonly TreeEntry[]>()
  readonly #commits = new Map<string, { tree: string; parents: string[]; message: string; isOfSync: boolean }>()

  readonly treeOf = (id: string): readonly TreeEntry[] => this.#trees.get(id) ?? []

  readonly write = (entries: readonly TreeEntry[]): string => {
    const id = JSON.stringify(entries.map((e) => [e.name, e.kind, e.oid]))
    this.#trees.set(id, entries)
    return id
  }

  tree(files: Files): string {
    const folders = Map.groupBy(Object.keys(files), (path) => path.split('/')[0] ?? '')
    const entries = [...folders].map(([name, paths]): TreeEntry => {
      if (paths.length === 1 && paths[0] === name) return { name, kind: 'file', oid: `${files[name]}` }
      const below = Object.fromEntries(paths.map((p) => [p.slice(name.length + 1), files[p] ?? '']))
      return { name, kind: 'tree', oid: this.tree(below) }
    })
    return this.write(entries.toSorted((a, b) => (a.name < b.name ? -1 : 1)))
  }

  commit(letter: string, tree: string, parents: readonly string[], message = '', isOfSync = false): string {
    const id = letter.repeat(40)
    this.#commits.set(id, { tree, parents: [...parents], message, isOfSync })
    return id
  }

  problem(id: string, never: readonly string[] = []): Promise<string | undefined> {
    const get = (each: string) => this.#commits.get(each) ?? { tree: '', parents: [], message: '', isOfSync: false }
    return revertProblem(
      id,
      {
        factsOf: get,
        messageOf: (each) => get(each).message,
        isOfSync: async (each) => get(each).isOfSync,
        treeOf: this.treeOf,
      },
      { anchor: 'a'.repeat(40), isAnchorOnLine: false, never },
    )
  }

  trees(good: string, bad: string, parent: string): PutBackTree {
    return { good, bad, parent, treeOf: this.treeOf, write: this.write }
  }
}

const message = (reverts: string, restores: string) =>
  `Revert it\n\nText.\n\n${revertTrailers({ reverts, restores })}\n`

/** anchor a, good b, bad c, later d; e is the revert. */
function history(good: Files, bad: Files, later: Files) {
  const h = new History()
  const [a, g] = [h.tree({ first: '1' }), h.tree(good)]
  const anchor = h.commit('a', a, [])
  const b = h.commit('b', g, [anchor])
  const c = h.commit('c', h.tree(bad), [b])
  const d = h.commit('d', h.tree(later), [c])
  return { h, anchor, b, c, d, g, badTree: h.tree(bad), laterTree: h.tree(later) }
}

const GOOD = { 'fleet/a': '1', 'fleet/gone': '1', other: '1' }
const BAD = { 'fleet/a': '2', 'fleet/new': '1', other: '1' }
const LATER = { ...BAD, other: '2' }
const BACK = { 'fleet/a': '1', 'fleet/gone': '1', other: '2' }

describe('what the key of sync may sign', () => {
  test('the files of one commit, as they were, on top of other changes', async () => {
    const { h, b, c, d } = history(GOOD, BAD, LATER)
    expect(await h.problem(h.commit('e', h.tree(BACK), [d], message(c, b), true))).toBeUndefined()
  })

  test.each<[string, Files, RegExp]>([
    ['another file beside them', { ...BACK, other: '3' }, /changes other, which the reverted commit did not change/],
    ['a new file', { ...BACK, 'fleet/extra': '1' }, /changes fleet\/extra, which/],
    ['other content', { ...BACK, 'fleet/a': '3' }, /does not restore fleet\/a as it was/],
    ['only some of them', { ...LATER, 'fleet/a': '1' }, /does not put back fleet\/(gone|new)/],
    ['nothing', LATER, /does not put back/],
  ])('refused: %s', async (_, files, why) => {
    const { h, b, c, d } = history(GOOD, BAD, LATER)
    expect(await h.problem(h.commit('e', h.tree(files), [d], message(c, b), true))).toMatch(why)
  })

  test('a file that was changed since is not put back over that change', async () => {
    const { h, b, c, d } = history(GOOD, BAD, { ...BAD, 'fleet/a': '9' })
    expect(await h.problem(h.commit('e', h.tree(GOOD), [d], message(c, b), true))).toMatch(
      /changes fleet\/a, which another commit has changed since/,
    )
  })

  test('commits in the wrong order, of no history, or before the anchor', async () => {
    const { h, anchor, b, c, d } = history(GOOD, BAD, LATER)
    const revert = (reverts: string, restores: string) =>
      h.problem(h.commit('e', h.tree(BACK), [d], message(reverts, restores), true))
    expect(await revert(b, c)).toMatch(/not older/)
    expect(await revert(c, c)).toMatch(/not older/)
    expect(await revert('9'.repeat(40), b)).toMatch(/not older/)
    expect(await revert(c, '9'.repeat(40))).toMatch(/names 9{12}/)
    expect(await revert(c, anchor)).toMatch(/changes|does not/)
    const before = h.commit('0', h.tree(GOOD), [])
    h.commit('a', h.tree({ first: '1' }), [before])
    expect(await revert(c, before)).toMatch(/names 0{12}/)
  })

  test('a revert of sync is not reverted, and a commit is reverted once', async () => {
    const { h, b, c, d } = history(GOOD, BAD, LATER)
    const e = h.commit('e', h.tree(BACK), [d], message(c, b), true)
    expect(await h.problem(h.commit('f', h.tree(LATER), [e], message(e, d), true))).toMatch(/is a revert by sync/)
    const again = h.commit('1', h.tree(LATER), [e])
    expect(await h.problem(h.commit('f', h.tree(BACK), [again], message(c, b), true))).toMatch(/a second time/)
    // Not even if the revert is in the middle of the reverted commits.
    expect(await h.problem(h.commit('f', h.tree(LATER), [again], message(again, d), true))).toMatch(
      /is a revert by sync/,
    )
  })

  test('a merge, a first commit, a message without names or with two of them', async () => {
    const { h, b, c, d } = history(GOOD, BAD, LATER)
    const back = h.tree(BACK)
    expect(await h.problem(h.commit('e', back, [d, b], message(c, b), true))).toMatch(/exactly one parent/)
    expect(await h.problem(h.commit('e', back, [], message(c, b), true))).toMatch(/exactly one parent/)
    expect(await h.problem(h.commit('e', back, [d], 'Revert', true))).toMatch(/does not name/)
    const two = `${message(c, b).trimEnd()}\nKubenode-Reverts: ${d}\n`
    expect(await h.problem(h.commit('e', back, [d], two, true))).toMatch(/does not name/)
  })

  test('the file that says who may sign is never put back', async () => {
    const { h, b, c, d } = history(GOOD, BAD, LATER)
    expect(await h.problem(h.commit('e', h.tree(BACK), [d], message(c, b), true), ['fleet/gone'])).toMatch(
      /the signers file/,
    )
  })

  test('only trailers of the last paragraph count', () => {
    const [x, y] = ['1'.repeat(40), '2'.repeat(40)]
    expect(revertNamedIn(`a\n\n${revertTrailers({ reverts: x, restores: y })}`)).toEqual({ reverts: x, restores: y })
    expect(revertNamedIn(`${revertTrailers({ reverts: x, restores: y })}\n\nSigned-off-by: Ada`)).toBeUndefined()
  })
})

const names = fc.constantFrom('a', 'b', 'c', 'd/a', 'd/b', 'd/e/a', 'd/e/b', 'e', 'e/a')
const files = fc
  .dictionary(names, fc.constantFrom('1', '2', '3'), { maxKeys: 6 })
  .map((f): Files => ('e' in f ? Object.fromEntries(Object.entries(f).filter(([k]) => k !== 'e/a')) : f))

/** Later changes, mostly to other files. */
const others = fc.oneof(
  { weight: 3, arbitrary: fc.dictionary(fc.constantFrom('z', 'd/z', 'd/e/z', 'y/z'), fc.constantFrom('1', '2')) },
  { weight: 1, arbitrary: files },
)

describe('properties', () => {
  test('what sync puts back is what its key may sign, and one more change is not', async () => {
    await fc.assert(
      fc.asyncProperty(files, files, others, names, async (good, bad, other, more) => {
        const later = { ...bad, ...other }
        const { h, b, c, d, g, badTree, laterTree } = history(good, bad, later)
        const made = putBack(h.trees(g, badTree, laterTree))
        if (made.kind !== 'Tree') return
        expect(await h.problem(h.commit('e', made.tree, [d], message(c, b), true))).toBeUndefined()
        const evil = h.tree(Object.fromEntries([...filesOf(h, made.tree), [more, 'evil']]))
        expect(await h.problem(h.commit('f', evil, [d], message(c, b), true))).toBeDefined()
      }),
    )
  })

  test('on the bad commit itself the files are exactly those of the good one', () => {
    fc.assert(
      fc.property(files, files, (good, bad) => {
        const { h, g, badTree } = history(good, bad, bad)
        const made = putBack(h.trees(g, badTree, badTree))
        if (g === badTree) expect(made.kind).toBe('Problem')
        else expect(made).toEqual({ kind: 'Tree', tree: g, paths: expect.any(Array) as unknown })
      }),
    )
  })
})

/** A tenth of the largest repository that is read, and all of it before a release. */
const [FILES, FOLDERS] = [inFull(50_000, 5_000), 500]

describe(`a repository of ${FILES} files`, () => {
  const filesWith = (value: string, changed: (i: number) => boolean): Files =>
    Object.fromEntries(
      Array.from({ length: FILES }, (_, i) => [`d${i % FOLDERS}/f${i}`, changed(i) ? value : 'same'] as const),
    )

  test.each<[string, (i: number) => boolean, number]>([
    ['one of which changed', (i) => i === 7, 1],
    ['all of which changed', () => true, FILES],
  ])('%s: the revert is made, allowed, and reads no folder that did not change', async (_, changed, count) => {
    const bad = filesWith('2', changed)
    const { h, b, c, d, g, badTree, laterTree } = history(filesWith('1', changed), bad, { ...bad, other: '2' })
    const read = new Set<string>()
    const treeOf = (id: string) => {
      read.add(id)
      return h.treeOf(id)
    }
    const made = putBack({ ...h.trees(g, badTree, laterTree), treeOf })
    expect(made).toMatchObject({ kind: 'Tree' })
    if (made.kind !== 'Tree') return
    expect(made.paths).toHaveLength(count)
    // The three roots, plus a changed folder's state before and after.
    expect(read.size).toBeLessThanOrEqual(3 + 2 * Math.min(count, FOLDERS))
    expect(await h.problem(h.commit('e', made.tree, [d], message(c, b), true))).toBeUndefined()
  })
})

/** Leaves out the files that the evil file would hide. */
function filesOf(h: History, tree: string, folder = ''): [string, string][] {
  return h.treeOf(tree).flatMap(({ name, kind, oid }): [string, string][] => {
    const path = `${folder}${name}`
    return kind === 'tree' ? filesOf(h, oid, `${path}/`) : [[path, oid]]
  })
}
