import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { entriesBelow, isRealFolder } from './entries-below.ts'

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-entries-'))
  mkdirSync(join(folder, 'a/b'), { recursive: true })
  writeFileSync(join(folder, 'a/b/file'), '')
  symlinkSync('..', join(folder, 'a/circle'))
  symlinkSync('/', join(folder, 'a/root'))
  symlinkSync('file', join(folder, 'a/b/link'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const found = (...given: Parameters<typeof entriesBelow>) =>
  [...entriesBelow(...given)].map(({ path, kind }) => `${kind} ${path}`).toSorted()

test('names everything below a folder, and follows no link', () => {
  const links = ['Other a/b/link', 'Other a/circle', 'Other a/root']
  expect(found(folder)).toEqual(['File a/b/file', 'Folder a', 'Folder a/b', ...links])
})

test('enters only the folders that the caller wants', () => {
  expect(found(folder, (path) => path !== 'a/b')).toEqual(['Folder a', 'Folder a/b', 'Other a/circle', 'Other a/root'])
})

test('a link to a folder is no folder', () => {
  expect(['a', 'a/b', 'a/circle', 'a/b/file', 'none'].map((path) => isRealFolder(join(folder, path)))).toEqual([
    true,
    true,
    false,
    false,
    false,
  ])
})
