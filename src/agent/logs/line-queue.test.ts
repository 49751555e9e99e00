import { expect, test } from 'vitest'
import { LOG_LINE_CHARS, LOG_PAGE_BYTES } from '#api/protocol/log-bounds.ts'
import { LineQueue } from './line-queue.ts'

test('pages hold whole lines, in order, and never more than their bound', () => {
  const queue = new LineQueue(2 ** 20)
  const lines = Array.from({ length: 1_000 }, (_, n) => `${n} ${'é'.repeat(50)}`)
  queue.add(lines)
  const pages: string[] = []
  while (!queue.isEmpty) pages.push(queue.take().text)
  expect(pages.join('\n').split('\n')).toEqual(lines)
  expect(Math.max(...pages.map((p) => Buffer.byteLength(p)))).toBeLessThanOrEqual(LOG_PAGE_BYTES)
  expect(pages.length).toBeGreaterThan(3)
})

test('the longest line fits into a page', () => {
  const queue = new LineQueue(2 ** 20)
  queue.add(['\u{1f600}'.repeat(LOG_LINE_CHARS / 2)])
  expect(queue.take().text).not.toBe('')
  expect(queue.isEmpty).toBe(true)
})

test('a flood costs the oldest lines, which are counted once', () => {
  const queue = new LineQueue(100)
  for (let n = 0; n < 1_000; n++) queue.add([`line ${n}`])
  const { text, omittedLines } = queue.take()
  expect(text.split('\n').at(-1)).toBe('line 999')
  expect(omittedLines + text.split('\n').length).toBe(1_000)
  expect(queue.take()).toEqual({ text: '', omittedLines: 0 })
})

test.each([
  [2, 'c\nd'],
  [0, ''],
  [9, 'a\nb\nc\nd'],
])('keeps the last %i lines', (count, text) => {
  const queue = new LineQueue(1_000)
  queue.add(['a', 'b', 'c', 'd'])
  queue.keepLast(count)
  expect(queue.take()).toEqual({ text, omittedLines: 0 })
})
