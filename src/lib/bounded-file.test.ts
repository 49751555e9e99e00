import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, truncateSync, writeFileSync, writeSync, constants } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readBounded, readBoundedText } from './bounded-file.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-bounded-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const fileOf = (text: string): string => {
  const path = join(folder, 'file')
  writeFileSync(path, text)
  return path
}
const pipe = (): string => {
  const path = join(folder, 'pipe')
  execFileSync('mkfifo', [path])
  return path
}

test.each(['', 'text\n', 'x'.repeat(200_000)])('a file is read whole', (text) => {
  expect(readBoundedText(fileOf(text))).toBe(text)
})

test('a file of exactly the limit is read, and one byte more is refused before anything is read', () => {
  const path = fileOf('x'.repeat(1024 * 1024))
  expect(readBounded(path, 1024 * 1024)).toHaveLength(1024 * 1024)
  truncateSync(path, 1024 * 1024 + 1)
  expect(() => readBounded(path, 1024 * 1024)).toThrow('it has 1048577 bytes, more than the limit of 1 MiB')
})

test('a sparse file of 10 GB costs nothing', () => {
  const path = fileOf('')
  truncateSync(path, 10 * 1024 ** 3)
  expect(() => readBounded(path)).toThrow('it has 10737418240 bytes, more than the limit of 8 MiB')
})

test('a device that never ends is read up to the limit', () => {
  expect(() => readBounded('/dev/zero', 1024 * 1024)).toThrow('it has more than the limit of 1 MiB')
  expect(readBoundedText('/dev/null')).toBe('')
})

test('a pipe without a writer does not hang, and one with a writer is read', () => {
  const path = pipe()
  expect(() => readBounded(path)).toThrow('it is a pipe that nothing writes to')
  const end = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
  writeSync(end, 'text')
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  closeSync(end)
  expect(readBoundedText(`/proc/self/fd/${reader}`)).toBe('text')
  closeSync(reader)
})

test('what the system says of a file is left to the caller', () => {
  expect(() => readBounded(join(folder, 'none'))).toThrow(expect.objectContaining({ code: 'ENOENT' }))
  expect(() => readBounded(folder)).toThrow(expect.objectContaining({ code: 'EISDIR' }))
})
