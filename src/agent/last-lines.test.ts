import { expect, test } from 'vitest'
import { lastLines } from './last-lines.ts'

test('the last lines with text, without terminal escapes, secrets and the length of a dump', () => {
  const text = `first\n\u001b[31mred\u001b[0m\r\n\n  \ntoken=abc\n${'x-y '.repeat(100)}\n`
  expect(lastLines(text, 3)).toBe(`red\ntoken=[secret]\n${'x-y '.repeat(50).slice(0, 199)}…`)
})

test('of nothing there is nothing', () => {
  expect(lastLines('\n \n', 3)).toBe('')
})
