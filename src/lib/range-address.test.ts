import { expect, test } from 'vitest'
import { addressIn } from './range-address.ts'

test.each([
  ['10.96.0.0/16', 1, '10.96.0.1'],
  ['10.96.0.0/16', 10, '10.96.0.10'],
  ['fd00:1::/108', 1, 'fd00:1::1'],
  ['fd00:1::/108', 10, 'fd00:1::a'],
])('in %s, number %d is %s', (range, nth, address) => {
  expect(addressIn(range, nth)).toBe(address)
})
