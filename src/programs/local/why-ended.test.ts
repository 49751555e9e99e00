import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { whyEnded } from './why-ended.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-ended-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

const logged = (text: string): string | undefined => {
  const file = join(folder, 'programs.log')
  writeFileSync(file, text)
  return whyEnded(file)
}

test('the last numbered error of the log is said, without its stack', () => {
  const bug =
    'KN1000: kubenode hit a bug; please report it with the lines below\nError: x is no loop\n    at a (b.ts:1:2)\n'
  expect(logged(`{"level":"info"}\nKN1307: cannot run\n${bug}`)).toBe(
    'KN1000: kubenode hit a bug; please report it with the lines below',
  )
})

test('a long error is cut, and one that would move the cursor is not', () => {
  expect(logged(`KN1000: ${'x'.repeat(500)}\n`)).toHaveLength(200)
  expect(logged('KN1000: a\u001b[2Jb\n')).not.toContain('\u001b')
})

test('a program that said nothing has no reason, and so has one without a log', () => {
  expect(logged('{"level":"info"}\n')).toBeUndefined()
  expect(whyEnded(join(folder, 'none.log'))).toBeUndefined()
})
