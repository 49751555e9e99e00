import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { nearlyFull, roomFor, usageOf } from './copies.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kubenode-copies-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const copy = (name: string, bytes: number): string => {
  mkdirSync(join(dir, name, 'objects'), { recursive: true })
  writeFileSync(join(dir, name, 'objects/pack'), Buffer.alloc(bytes))
  return join(dir, name)
}

test('a copy may have what the others leave, its own bytes included', () => {
  const kib = 1024
  const [a] = [copy('a', 3 * kib), copy('b', 2 * kib)]
  const usage = usageOf(dir, 10 * kib)
  expect(usage).toEqual({ bytes: 5 * kib, maxBytes: 10 * kib, copies: 2 })
  expect(roomFor(a, usage)).toBe(8 * kib)
  expect(roomFor(join(dir, 'new'), usage)).toBe(5 * kib)
  expect(roomFor(join(dir, 'new'), usageOf(dir, 4 * kib + 1))).toBe(-kib)
  expect(usageOf(join(dir, 'missing'), 10)).toEqual({ bytes: 0, maxBytes: 10, copies: 0 })
})

test('four fifths of the bound are reported, with what to do', () => {
  const mib = 1024 * 1024
  expect(nearlyFull({ bytes: 79 * mib, maxBytes: 100 * mib, copies: 3 })).toBeUndefined()
  expect(nearlyFull({ bytes: 80 * mib, maxBytes: 100 * mib, copies: 3 })).toMatch(
    /^the 3 copies of repositories have 80 of 100 MiB, .*raise --max-repository/,
  )
})
