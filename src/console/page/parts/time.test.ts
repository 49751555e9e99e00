// Times as people read them.
import { expect, test } from 'vitest'
import { dayText, moment } from './time.ts'

const NOW = new Date(2026, 0, 31, 12, 0, 0).getTime()

test.each([
  [new Date(2026, 0, 31, 9, 5, 7), '09:05:07'],
  [new Date(2026, 0, 30, 12, 0, 0), 'Fri 30 Jan 12:00:00'],
  [new Date(2025, 11, 31, 23, 59, 59), '31 Dec 2025 23:59:59'],
])('%s is said as %s', (at, text) => {
  expect(moment(at.getTime(), NOW)).toBe(text)
})

test('a day of a report is a date in words, and any other word stays', () => {
  expect(['2026-01-05', 'workers', '2026-01'].map(dayText)).toEqual(['5 Jan 2026', 'workers', '2026-01'])
})
