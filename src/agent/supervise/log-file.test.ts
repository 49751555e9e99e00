import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
  closeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { rotateLog } from './log-file.ts'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'kubenode-log-'))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const sizes = (path: string) =>
  ['', '.1', '.2', '.3'].map((end) => (existsSync(path + end) ? statSync(path + end).size : undefined))

test('F33 a component that fills its output fills no disk, and goes on writing to the same file', () => {
  const path = join(folder, 'c.log')
  const output = openSync(path, 'a')
  for (let n = 0; n < 10; n++) {
    writeSync(output, 'x'.repeat(1_500))
    expect(rotateLog(path, 1_000)).toBeUndefined()
  }
  writeSync(output, 'last\n')
  closeSync(output)
  expect([readFileSync(path, 'utf8'), ...sizes(path).slice(1)]).toEqual(['last\n', 1_500, 1_500, undefined])
})

test('what is small is left alone, and what is not there is no problem', () => {
  const path = join(folder, 'c.log')
  appendFileSync(path, 'x')
  expect([rotateLog(path, 1_000), rotateLog(join(folder, 'none'), 1_000), sizes(path)]).toEqual([
    undefined,
    undefined,
    [1, undefined, undefined, undefined],
  ])
})
