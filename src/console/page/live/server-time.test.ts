import { expect, test } from 'vitest'
import { aheadMs } from './server-time.ts'

const NOW = Date.parse('2026-01-31T12:00:00.700Z')

test.each([
  ['Sat, 31 Jan 2026 12:00:00 GMT', 0],
  ['Sat, 31 Jan 2026 11:59:57 GMT', 0],
  ['Sat, 31 Jan 2026 12:10:00 GMT', 599_300],
  ['Thu, 29 Jan 2026 12:00:00 GMT', -172_800_700],
])('%s is %i ms ahead', (date, ms) => {
  expect(aheadMs(date, NOW)).toBe(ms)
})

test('an answer without a time, such as of a proxy, changes nothing', () => {
  expect(aheadMs(null, NOW)).toBeUndefined()
  expect(aheadMs('soon', NOW)).toBeUndefined()
})
