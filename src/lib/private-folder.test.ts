import { chmodSync, linkSync, mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makePrivateFolder, requireOwn } from './private-folder.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-private-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const modeOf = (...names: readonly string[]): string => (statSync(join(folder, ...names)).mode & 0o7777).toString(8)

/** Whatever the umask of the test is. */
function make(name: string, mode: number, text?: string): void {
  const path = join(folder, name)
  if (text === undefined) mkdirSync(path)
  else writeFileSync(path, text)
  chmodSync(path, mode)
}

test('S31 a folder that was open is closed with all that is in it, and stays usable', () => {
  chmodSync(folder, 0o777)
  make('sub', 0o755)
  make('sub/key', 0o644, 'k')
  make('sub/program', 0o755, 'p')
  make('closed', 0o400, 'c')
  expect(makePrivateFolder(folder)).toBe(4)
  expect([modeOf(), modeOf('sub'), modeOf('sub/key'), modeOf('sub/program'), modeOf('closed')]).toEqual([
    '700',
    '700',
    '600',
    '700',
    '400',
  ])
  expect(makePrivateFolder(folder)).toBe(0)
})

test('S31 a new folder and those above it are made for the owner alone', () => {
  expect(makePrivateFolder(join(folder, 'a/b'))).toBe(0)
  expect([modeOf('a'), modeOf('a/b')]).toEqual(['700', '700'])
})

test('a link is never followed: what it leads to keeps its mode', () => {
  make('outside', 0o644, 'o')
  make('data', 0o755)
  symlinkSync(join(folder, 'outside'), join(folder, 'data/link'))
  makePrivateFolder(join(folder, 'data'))
  expect([modeOf('data'), modeOf('outside')]).toEqual(['700', '644'])
})

test('a file that has another name elsewhere keeps its mode', () => {
  make('checkout', 0o644, 'o')
  make('data', 0o755)
  linkSync(join(folder, 'checkout'), join(folder, 'data/object'))
  expect(makePrivateFolder(join(folder, 'data'))).toBe(1)
  expect(modeOf('checkout')).toBe('644')
})

test('S31 a second name in a folder that others could write to is refused: they may have put it there for us to write to', () => {
  make('elsewhere', 0o600, 'mine')
  make('data', 0o700)
  make('data/open', 0o777)
  linkSync(join(folder, 'elsewhere'), join(folder, 'data/open/objects.db'))
  expect(() => makePrivateFolder(join(folder, 'data'))).toThrow(/^KN1040: cannot use .*open\/objects\.db: /)
  expect(modeOf('elsewhere')).toBe('600')
})

test('a sealed folder is closed and not looked into', () => {
  make('node', 0o755)
  make('node/hostname', 0o644, 'n')
  makePrivateFolder(folder, { isSealed: (path) => path.endsWith('node') })
  expect([modeOf('node'), modeOf('node/hostname')]).toEqual(['700', '644'])
})

test('what a file system has by itself is left alone', () => {
  make('lost+found', 0o755)
  makePrivateFolder(folder)
  expect(modeOf('lost+found')).toBe('755')
})

test("S31 another user's folder, and another user's file in ours, are refused", () => {
  expect(() => requireOwn('/x', { uid: 4_711 })).toThrow(
    /^KN1040: cannot use \/x: it belongs to another user \(uid 4711/,
  )
})
