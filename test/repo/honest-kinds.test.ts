// Every field of every kind is read or written by some part, or is listed in the table of unused ones. Uses the type checker, since many kinds share a name.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { CONDITIONS, REASONS } from '#api/catalogue.ts'
import type { ApiKind } from '#api/kind.ts'
import { KINDS } from '#api/kinds.ts'
import { EACH, unservedFields } from '#api/unserved.ts'
import { LanguageServer } from '#test/support/tools/language-server.ts'
import { type DeclaredField, declaredFields } from './declared-fields.ts'
import { isTest, ROOT, sourceFiles } from './source-files.ts'
import { PARTS_OF_UNSERVED, UNSERVED_SPEC, UNWRITTEN_STATUS, USED_AS } from './unserved.ts'
import { ONLY_IN_FULL, isFull } from '#test/support/tools/full.ts'

const fields = declaredFields()
const isIn = (id: string, place: string): boolean => id === place || id.startsWith(`${place}.`)
const isUnwritten = (id: string): boolean => Object.keys(UNWRITTEN_STATUS).some((place) => isIn(id, place))
const isExcused = ({ id, isUnserved }: DeclaredField): boolean =>
  isUnserved || isUnwritten(id) || id in USED_AS || PARTS_OF_UNSERVED.some((place) => isIn(id, place))

const isOurs = (file: string): boolean =>
  file.startsWith('src/') && !file.startsWith('src/api/kinds/') && !isTest(file) && !file.includes('/testing/')

/** The ids that no file of KubeNode names. */
async function unusedOf(asked: readonly DeclaredField[]): Promise<readonly string[]> {
  const server = await LanguageServer.start(ROOT)
  try {
    const uses = await Promise.all(asked.map(async (f) => [f.id, await server.uses(f)] as const))
    return uses.flatMap(([id, places]) => (places.some((p) => isOurs(p.file)) ? [] : [id]))
  } finally {
    await server.close()
  }
}

const fileOf = ({ kind }: ApiKind): string => kind.replaceAll(/\B[A-Z]/g, '-$&').toLowerCase()

test('the fields are found where they are declared', () => {
  const ids = new Set(fields.map((f) => f.id))
  expect(fields.length).toBeGreaterThan(600)
  for (const id of ['cluster spec.network.podCIDR', 'machine status.nodeRef.uid', 'approval spec.digest'])
    expect(ids).toContain(id)
  expect(fields.filter((f) => f.line < 0)).toEqual([])
})

const asked = fields.filter((f) => !isExcused(f))

test('the name of every field stands in some part', () => {
  const words = new Set(
    sourceFiles('src')
      .filter((f) => isOurs(f.path))
      .flatMap((f) => f.text.match(/\w+/g) ?? []),
  )
  expect(asked.filter(({ id }) => !words.has(id.split(/[ .]/).at(-1) ?? '')).map((f) => f.id)).toEqual([])
})

test('a part that names the kind names each field that its status shares with others', () => {
  const parts = sourceFiles('src').filter((f) => isOurs(f.path) && !f.path.startsWith('src/declared/'))
  const isNamed = (kind: string, name: string): boolean =>
    parts.some(({ text }) => new RegExp(`\\b${kind}\\b`).test(text) && new RegExp(`\\b${name}\\b`).test(text))
  const shared = asked.filter((f) => f.isShared === true)
  expect(shared.length).toBeGreaterThan(20)
  const kindOf = (id: string) => KINDS.find((k) => fileOf(k) === id.split(' ')[0])?.kind ?? id
  expect(shared.filter(({ id }) => !isNamed(kindOf(id), id.split('.').at(-1) ?? '')).map((f) => f.id)).toEqual([])
})

test('every field is read or written by some part', async ({ skip }) => {
  if (!isFull) skip(ONLY_IN_FULL)
  expect(await unusedOf(asked)).toEqual([])
}, 600_000)

test('the check would find a field that no part reads', async ({ skip }) => {
  if (!isFull) skip(ONLY_IN_FULL)
  const known = fields.filter((f) => f.id === 'cluster spec.network')
  expect(await unusedOf(known)).toEqual(['cluster spec.network'])
}, 120_000)

describe('what a status says', () => {
  const parts = sourceFiles('src').filter(
    (f) => isOurs(f.path) && f.path !== 'src/api/catalogue.ts' && f.path !== 'src/api/phases.ts',
  )
  /** As a string, or as a key of a table. */
  const isWritten = (word: string): boolean =>
    parts.some((f) => new RegExp(`['"\`]${word}['"\`]|\\b${word}:`).test(f.text))

  /** A kind that is not served at all keeps its columns: there is nothing to print yet. */
  const isUnserved = (kind: ApiKind, path: string): boolean =>
    unservedFields(kind).some((f) => f.values === undefined && f.path.length > 1 && isIn(path, f.path.join('.')))

  test('every reason is given by some part', () => {
    expect(Object.keys(REASONS).filter((reason) => !isWritten(reason))).toEqual([])
  })

  test('every condition is written by some part, and only a kind with a status that is written has any', () => {
    expect(Object.keys(CONDITIONS).filter((type) => !isWritten(type))).toEqual([])
    const silent = KINDS.filter((k) => isUnwritten(`${fileOf(k)} status`))
    expect(silent.flatMap((k) => (k.definition.conditions ?? []).map((c) => `${k.kind} ${c}`))).toEqual([])
  })

  test('no column prints a field that nothing writes or serves', () => {
    const empty = KINDS.flatMap((k) =>
      k.definition.columns
        .map((c) => c.jsonPath.slice(1).split('[')[0] ?? '')
        .filter((path) => isUnserved(k, path) || isUnwritten(`${fileOf(k)} ${path}`))
        .map((path) => `${k.kind} ${path}`),
    )
    expect(empty).toEqual([])
  })
})

describe('the table', () => {
  test('has what the kinds mark, and no more', () => {
    const marked = KINDS.flatMap((k) =>
      unservedFields(k).map(({ path, values = [] }) =>
        [k.kind, path.join('.').replaceAll(`.${EACH}`, EACH), ...values].join(' '),
      ),
    )
    expect(marked.sort()).toEqual([...UNSERVED_SPEC].sort())
  })

  test.each(Object.keys(UNWRITTEN_STATUS))('%s is declared', (place) => {
    expect(fields.some((f) => isIn(f.id, place))).toBe(true)
  })

  test.each(Object.entries(USED_AS))('%s is used in %s', (id, file) => {
    expect(fields.map((f) => f.id)).toContain(id)
    const name = id.split('.').at(-1) ?? ''
    expect(readFileSync(join(ROOT, file), 'utf8')).toMatch(new RegExp(`\\b${name}\\b`))
  })
})
