import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Ends } from './why-ended.ts'

let folder: string
let log: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'kubenode-ended-'))
  log = join(folder, 'programs.log')
})
afterAll(() => rmSync(folder, { recursive: true }))

const logged = (text: string): string | undefined => {
  rmSync(log, { force: true })
  const ends = new Ends(folder)
  writeFileSync(log, text)
  return ends.why('programs')
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
  expect(new Ends(folder).why('none')).toBeUndefined()
})

test('an error of an earlier start is not the reason of this end', () => {
  writeFileSync(log, 'KN6106: the disk is full\n')
  const ends = new Ends(folder)
  expect(ends.why('programs')).toBeUndefined()
  appendFileSync(log, 'KN3012: leadership ended\n')
  expect(ends.why('programs')).toBe('KN3012: leadership ended')
  appendFileSync(log, 'serving\n')
  expect(ends.why('programs')).toBeUndefined()
  expect([ends.last('programs'), ends.last('approvers')]).toEqual(['KN3012: leadership ended', undefined])
})

test('a log that a user emptied is read from its beginning', () => {
  writeFileSync(log, `${'x'.repeat(100)}\n`)
  const ends = new Ends(folder)
  writeFileSync(log, 'KN1307: cannot run\n')
  expect(ends.why('programs')).toBe('KN1307: cannot run')
})
