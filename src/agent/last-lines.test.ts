import { expect, test } from 'vitest'
import { lastLines, READ_CHARS } from './last-lines.ts'

test('the last lines with text, without terminal escapes, secrets and the length of a dump', () => {
  const text = `first\n\u001b[31mred\u001b[0m\r\n\n  \ntoken=abc\n${'x-y '.repeat(100)}\n`
  expect(lastLines(text, 3)).toBe(`red\ntoken=[secret]\n${'x-y '.repeat(50).slice(0, 199)}…`)
})

test('of nothing there is nothing', () => {
  expect(lastLines('\n \n', 3)).toBe('')
})

test('a secret that is longer than a line may be shown is masked before the line is cut', () => {
  const long = 'k'.repeat(400)
  expect(lastLines(`GET https://me:${long}@host/x failed\ntoken="${long}"`, 2)).toBe(
    'GET https://[secret]@host/x failed\ntoken=[secret]',
  )
})

test('S12 lines that a backtracking mask chokes on end, and few of them are read', () => {
  expect(lastLines('token.'.repeat(100_000), 1)).toBe(`${'token.'.repeat(50_000).slice(-READ_CHARS).slice(0, 199)}…`)
})
