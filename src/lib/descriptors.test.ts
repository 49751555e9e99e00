import { expect, test } from 'vitest'
import { connectionsWithin, descriptorLimit } from './descriptors.ts'

const limits = (soft: string) => () =>
  `Limit                     Soft Limit           Hard Limit           Units     \nMax processes             100                  100                  processes \nMax open files            ${soft.padEnd(20)} 1048576              files     \n`

test.each([
  ['a limit', limits('20000'), 20_000],
  ['none', limits('unlimited'), undefined],
  [
    'a system that does not say',
    () => {
      throw new Error('ENOENT')
    },
    undefined,
  ],
])('%s is read', (_, read, expected) => expect(descriptorLimit(read)).toBe(expected))

test.each([
  [48_000, undefined, 48_000],
  [48_000, 1_048_576, 48_000],
  [48_000, 20_000, 19_488],
  [48_000, 1_024, 512],
  [48_000, 256, 128],
  [64, 20_000, 64],
])('of %i connections and %s descriptors %i connections are held', (most, limit, expected) =>
  expect(connectionsWithin(most, limit)).toBe(expected),
)
