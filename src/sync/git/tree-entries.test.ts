// S8: names and modes of entries that would lead out of a tree or into .git.
import { describe, expect, test } from 'vitest'
import fc from 'fast-check'
import { nameProblem, parseTree } from './tree-entries.ts'

const OID = 'ce013625030ba8dba906f756967f9e9ca394464a'

const entry = (mode: string, name: string | Uint8Array): Buffer =>
  Buffer.concat([Buffer.from(`${mode} `), Buffer.from(name), Buffer.from([0]), Buffer.from(OID, 'hex')])

test('files, folders, symlinks and submodules are distinguished', () => {
  const bytes = Buffer.concat([
    entry('100644', 'a.ts'),
    entry('100755', 'b.sh'),
    entry('40000', 'folder'),
    entry('120000', 'link'),
    entry('160000', 'module'),
  ])
  expect(parseTree(bytes, 'x').map((e) => [e.name, e.kind, e.oid])).toEqual([
    ['a.ts', 'file', OID],
    ['b.sh', 'file', OID],
    ['folder', 'tree', OID],
    ['link', 'symlink', OID],
    ['module', 'submodule', OID],
  ])
})

describe('a hostile name is refused', () => {
  test.each([
    ['two dots', '..'],
    ['one dot', '.'],
    ['nothing', ''],
    ['.git', '.git'],
    ['.GIT', '.GIT'],
    ['.git with a point at the end', '.git.'],
    ['.git with a blank at the end', '.git '],
    ['.git with a character that some file systems drop', '.g\u200cit'],
    ['the short name of .git', 'GIT~1'],
    ['an alternate data stream of .git', '.git::$INDEX_ALLOCATION'],
    ['a carriage return at the end', 'main.ts\r'],
    ['a line break', 'a\nb'],
    ['a slash', 'a/b'],
    ['a backslash', 'a\\b'],
    ['more bytes than a file system takes', 'x'.repeat(256)],
  ])('%s', (_, name) => {
    expect(() => parseTree(entry('100644', name), 'tree')).toThrow('KN7015: cannot read tree: it has')
  })

  test('bytes that are no UTF-8', () => {
    expect(() => parseTree(entry('100644', Uint8Array.of(0xff, 0xfe)), 'tree')).toThrow('a name that is not UTF-8')
  })
})

test('a name that is quoted turns no line around', () => {
  expect(() => parseTree(entry('100600', 'a\u202eb'), 'tree')).toThrow(
    'it has the entry "a\ufffdb" with an unknown mode',
  )
})

test.each([
  ['a name twice', Buffer.concat([entry('100644', 'a'), entry('40000', 'a')]), 'the name "a" twice'],
  ['an unknown mode', entry('100600', 'a'), 'with an unknown mode'],
  ['a cut entry', entry('100644', 'a').subarray(0, 20), 'a truncated tree entry'],
  ['no mode', Buffer.from('a'), 'a truncated tree entry'],
])('%s is refused', (_, bytes, message) => {
  expect(() => parseTree(bytes, 'tree')).toThrow(message)
})

test('a folder of very many files is too large, and nothing that git would not write', () => {
  const many = Array.from({ length: 10_001 }, (_, i) => entry('100644', `f${i}`))
  expect(() => parseTree(Buffer.concat(many), 'tree')).toThrow(
    'KN7114: cannot read tree: it has more than 10000 entries in one folder; remove files',
  )
})

test.each(['a.ts', '.gitignore', '.github', 'git', 'größe.ts', '日本', 'a b', '..a', 'a..', 'con'])(
  '%s is a harmless name',
  (name) => {
    expect(nameProblem(name)).toBeUndefined()
  },
)

test('any bytes either parse or are refused with our own error', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 120 }), (bytes) => {
      try {
        for (const { name } of parseTree(bytes, 'x')) expect(nameProblem(name)).toBeUndefined()
      } catch (error) {
        expect(error).toMatchObject({ code: 'KN7015' })
      }
    }),
    { numRuns: 300 },
  )
})
