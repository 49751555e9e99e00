import { expect, test } from 'vitest'
import { tooMany } from './advance.ts'

const tally = { failed: 1, allowed: 0, detail: 'm-1: RolledBack' }

test('after too many failures it says how many machines are still switching', () => {
  expect(tooMany(tally, 1)).toMatchObject({
    seen: '1 machine is still switching; 1 machine failed (0 allowed); m-1: RolledBack',
    unblock: 'those machines finish; the slice then fails',
  })
})

test('a step of one machine waits for no others', () => {
  expect(tooMany(tally, 0)).toMatchObject({
    seen: '1 machine failed (0 allowed); m-1: RolledBack',
    unblock: 'the slice fails',
  })
})
