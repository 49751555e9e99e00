import { execFileSync } from 'node:child_process'
import {
  closeSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { copyWholeFile, openLog, writeWholeFile } from './whole-file.ts'

let folder: string
let victim: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-whole-'))
  victim = join(folder, 'victim')
  writeFileSync(victim, 'theirs')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const PLANTED: readonly (readonly [string, (path: string) => void])[] = [
  ['a link', (path) => symlinkSync(victim, path)],
  ['a link to nothing', (path) => symlinkSync(join(folder, 'new'), path)],
  ['a second name of another file', (path) => linkSync(victim, path)],
  ['a pipe without a reader', (path) => void execFileSync('mkfifo', [path])],
  ['a folder', (path) => mkdirSync(path)],
]

const append = (path: string, text: string): void => {
  const log = openLog(path)
  writeSync(log, text)
  closeSync(log)
}

test.each(PLANTED)('S31 %s in the place of a log is replaced, not written through', (_, plant) => {
  const path = join(folder, 'log')
  plant(path)
  append(path, 'a line')
  expect([readFileSync(path, 'utf8'), readFileSync(victim, 'utf8'), existsSync(join(folder, 'new'))]).toEqual([
    'a line',
    'theirs',
    false,
  ])
  expect([lstatSync(path).isFile(), lstatSync(path).mode & 0o777]).toEqual([true, 0o600])
})

test.each(PLANTED)('S31 %s beside a file that is written whole is replaced', (_, plant) => {
  for (const write of [writeWholeFile, (path: string) => copyWholeFile(victim, path)]) {
    const path = join(folder, 'state')
    plant(`${path}.partial`)
    write(path, 'theirs')
    expect([readFileSync(path, 'utf8'), readFileSync(victim, 'utf8'), lstatSync(path).isFile()]).toEqual([
      'theirs',
      'theirs',
      true,
    ])
    expect(readdirSync(folder).sort()).toEqual(['state', 'victim'])
    rmSync(path)
  }
})

test('a log of ours is appended to', () => {
  const path = join(folder, 'log')
  for (const line of ['one\n', 'two\n']) append(path, line)
  expect(readFileSync(path, 'utf8')).toBe('one\ntwo\n')
})
