import { expect, test } from 'vitest'
import { cronProblem } from './cron.ts'

test.each(['0 2 * * 6', '0 2 29 2 *', '0 0 20 12 *', '0 2 30 2 1', '0 2 L 2 *', '*/5 9-17 * * 1-5'])(
  '%s is taken',
  (text) => expect(cronProblem(text)).toBeUndefined(),
)

test.each([
  ['0 2 30 2 *', /never has that day/],
  ['0 2 31 4,6,9,11 *', /never has that day/],
  ['0 2 * *', /five are required/],
  ['0 0 2 * * 6', /five are required/],
  ['soon', /five are required/],
  ['0 25 * * *', /./],
])('%s is refused: a window that never opens blocks for ever', (text, why) => expect(cronProblem(text)).toMatch(why))
