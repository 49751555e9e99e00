import {
  appendFileSync,
  existsSync,
  mkdirSync,
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
    expect(rotateLog(path, 1_000)).toEqual({ problem: undefined, isFlood: false })
  }
  writeSync(output, 'last\n')
  closeSync(output)
  expect([readFileSync(path, 'utf8'), ...sizes(path).slice(1)]).toEqual(['last\n', 1_000, 1_000, undefined])
})

test('what is small is left alone, and what is not there is no problem', () => {
  const path = join(folder, 'c.log')
  appendFileSync(path, 'x')
  const nothing = { problem: undefined, isFlood: false }
  expect([rotateLog(path, 1_000), rotateLog(join(folder, 'none'), 1_000), sizes(path)]).toEqual([
    nothing,
    nothing,
    [1, undefined, undefined, undefined],
  ])
})

test('F33 of a flood the end is kept, and it is looked at again soon', () => {
  const path = join(folder, 'c.log')
  appendFileSync(path, `${'x'.repeat(200_000)}the end\n`)
  expect(rotateLog(path, 1_000)).toEqual({ problem: undefined, isFlood: true })
  expect([sizes(path), readFileSync(`${path}.1`, 'utf8').slice(-9)]).toEqual([
    [0, 1_000, undefined, undefined],
    'xthe end\n',
  ])
})

test('F31 F33 where there is no room for a copy the log is cut without one', () => {
  const path = join(folder, 'c.log')
  appendFileSync(path, 'x'.repeat(2_000))
  // The path of the copy cannot be written.
  mkdirSync(`${path}.1/full`, { recursive: true })
  mkdirSync(`${path}.2/full`, { recursive: true })
  expect(rotateLog(path, 1_000).problem).toMatch(/ENOTEMPTY|EISDIR|ENOTDIR|EEXIST|ENOSPC/)
  expect(statSync(path).size).toBe(0)
})
