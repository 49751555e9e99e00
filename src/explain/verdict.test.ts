// What a gate of the Defender said, in one line.
import { expect, test } from 'vitest'
import { verdictNote } from './verdict.ts'

test.each([
  [{ seen: '20 in 10m', limit: '20', policy: 'prod' }, '20 in 10m, limit 20 (policy prod)'],
  [
    { seen: 'no maintenance window of policy prod is open', limit: 'none opens again', policy: 'prod' },
    'no maintenance window of policy prod is open; none opens again',
  ],
  [
    { seen: 'a blackout of policy prod-eu (owner: sre) is in force', policy: 'prod' },
    'a blackout of policy prod-eu (owner: sre) is in force (policy prod)',
  ],
  [{ limit: 'until noon' }, 'waiting; until noon'],
])('%j', (verdict, note) => {
  expect(verdictNote(verdict)).toBe(note)
})
