// Windows in words, and those that stay as declared.
import { expect, test } from 'vitest'
import { windowText } from './window-text.ts'

test.each([
  ['0 9 * * 1-4', 'Mon to Thu at 09:00'],
  ['30 2 * * *', 'every day at 02:30'],
  ['0 22 * * fri,6,7', 'Fri, Sat, Sun at 22:00'],
  ['0 2 1 * *', '0 2 1 * *'],
  ['0 2 * * 6#1', '0 2 * * 6#1'],
  ['0 2 * * 1-5/2', '0 2 * * 1-5/2'],
  ['*/30 2 * * *', '*/30 2 * * *'],
])('%s is %s', (cron, text) => {
  expect(windowText({ cron, duration: '8h', timeZone: 'Europe/Berlin' })).toBe(`${text} for 8h (Europe/Berlin)`)
})
