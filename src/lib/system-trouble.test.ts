import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { systemTrouble } from './system-trouble.ts'

const folder = mkdtempSync(join(tmpdir(), 'kubenode-trouble-'))
afterAll(() => rmSync(folder, { recursive: true }))
writeFileSync(join(folder, 'file'), '')

test.each([
  ['nothing', 'none', 'there is no such file'],
  ['a folder', '.', 'it is a folder'],
  ['a path through a file', 'file/x', 'part of its path is a file, not a folder'],
])('%s that cannot be read is said in words', (_, path, words) => {
  let thrown: unknown
  try {
    readFileSync(join(folder, path))
  } catch (e) {
    thrown = e
  }
  expect(systemTrouble(thrown)).toBe(words)
})

test.each([
  [new Error('it has 9 bytes'), 'it has 9 bytes'],
  [Object.assign(new Error('ESTRANGE: odd'), { code: 'ESTRANGE' }), 'ESTRANGE: odd'],
  [Object.assign(new Error('odd'), { code: 'toString' }), 'odd'],
  ['thrown text', 'thrown text'],
])('anything else keeps its text: %s', (error, text) => {
  expect(systemTrouble(error)).toBe(text)
})
