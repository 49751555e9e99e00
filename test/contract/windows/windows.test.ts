// Windows of sets and release stages, and windows of the Defender's policies, answer every case alike: unreadable ones are closed.
import { expect, test } from 'vitest'
import { aPolicy } from '#test/support/fleets/defender-objects.ts'
import { openingOf } from '#permits/windows.ts'

interface Window {
  readonly cron: string
  readonly duration: string
  readonly timeZone: string
  readonly until?: string
}

const DAILY: Window = { cron: '0 10 * * *', duration: '2h', timeZone: 'UTC' }
const AT_11 = '2026-01-05T11:00:00Z'

/** Each with its moment and the answer. */
const CASES: readonly (readonly [string, readonly Partial<Window>[], string, string])[] = [
  ['no window', [], AT_11, 'open'],
  ['before the start', [{}], '2026-01-05T09:59:59Z', 'closed'],
  ['at the start', [{}], '2026-01-05T10:00:00Z', 'open'],
  ['at its last millisecond', [{}], '2026-01-05T11:59:59.999Z', 'open'],
  ['at the end', [{}], '2026-01-05T12:00:00Z', 'closed'],
  ['the second of two', [{ cron: '0 3 * * *' }, {}], AT_11, 'open'],
  ['until later', [{ until: '2026-01-05T11:30:00Z' }], AT_11, 'open'],
  ['until this moment, and it has begun', [{ until: AT_11 }], AT_11, 'closed'],
  ['until earlier, and it had begun', [{ until: '2026-01-05T10:30:00Z' }], AT_11, 'closed'],
  ['until before the start', [{ until: '2026-01-05T09:00:00Z' }], AT_11, 'closed'],
  ['until no time', [{ until: 'soon' }], AT_11, 'closed'],
  ['an unreadable cron', [{ cron: 'banana' }], AT_11, 'closed'],
  ['an unreadable time zone', [{ timeZone: 'Mars/Phobos' }], AT_11, 'closed'],
  ['an unreadable duration', [{ duration: 'long' }], AT_11, 'closed'],
  ['an unreadable one beside an open one', [{ cron: 'banana' }, {}], AT_11, 'closed'],
  [
    'a zone whose clocks skip the start',
    [{ cron: '30 2 * * *', timeZone: 'Europe/Berlin' }],
    '2026-03-29T01:30:00Z',
    'open',
  ],
  [
    'a zone whose clocks come to the start twice',
    [{ cron: '30 2 * * *', duration: '1h', timeZone: 'Europe/Berlin' }],
    '2026-10-25T01:45:00Z',
    'closed',
  ],
]

test.each(CASES)('%s', (_, wishes, at, answer) => {
  const windows = wishes.map((w): Window => ({ ...DAILY, ...w }))
  const now = Date.parse(at)
  const isOpen = answer === 'open'
  expect(openingOf(windows, now).isOpen).toBe(isOpen)
  const policy = aPolicy({ windows })
  expect(
    policy.broken === undefined && (windows.length === 0 || policy.windows.some((w) => w(now) !== undefined)),
  ).toBe(isOpen)
})
