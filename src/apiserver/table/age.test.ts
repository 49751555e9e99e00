import { expect, test } from 'vitest'
import { ageText } from './age.ts'

test.each([
  [-5, '<invalid>'],
  [0, '0s'],
  [119, '119s'],
  [120, '2m'],
  [125, '2m5s'],
  [600, '10m'],
  [3 * 3_600, '3h'],
  [3 * 3_600 + 60, '3h1m'],
  [8 * 3_600, '8h'],
  [49 * 3_600, '2d1h'],
  [8 * 86_400, '8d'],
  [2 * 365 * 86_400, '2y'],
  [2 * 365 * 86_400 + 86_400, '2y1d'],
  [9 * 365 * 86_400, '9y'],
])('%d seconds are %s', (seconds, want) => expect(ageText(seconds)).toBe(want))
