import { expect, test } from 'vitest'
import { withReadableTimes } from './readable-times.ts'

test.each([
  ['the next window opens at 2026-01-31T22:00:00Z', 'the next window opens on Sat 31 Jan at 22:00 UTC'],
  ['Paused until 2026-02-01T08:30:05Z by Ada', 'Paused until Sun 1 Feb 08:30:05 UTC by Ada'],
  [
    'open since 2026-01-31T22:00:00.000Z, until 2026-01-31T23:00:00Z',
    'open since Sat 31 Jan 22:00 UTC, until Sat 31 Jan 23:00 UTC',
  ],
  ['evidence at /var/log/2026-01-31T22:00:00Z.txt', 'evidence at /var/log/2026-01-31T22:00:00Z.txt'],
  ['2026-01-31T22:00:00Z error: no room', '2026-01-31T22:00:00Z error: no room'],
  ['until 2026-99-99T22:00:00Z', 'until 2026-99-99T22:00:00Z'],
])('%s', (text, shown) => {
  expect(withReadableTimes(text)).toBe(shown)
})
