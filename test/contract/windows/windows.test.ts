// Every reader of maintenance windows answers every case alike: sets of components, policies of the Defender, stages of a release.
import { expect, test } from 'vitest'
import { openingOf } from '#controllers/componentset/windows.ts'
import { compileWindow } from '#defender/windows.ts'
import { isAnyOpen } from '#sync/release/windows.ts'

interface Window {
  readonly cron: string
  readonly duration: string
  readonly timeZone: string
  readonly until?: string
}

const DAILY: Window = { cron: '0 10 * * *', duration: '2h', timeZone: 'UTC' }
const AT_11 = '2026-01-05T11:00:00Z'

/** By set, policy and stage: `open`, `closed`, or `throws`. */
const CASES: readonly (readonly [string, readonly Partial<Window>[], string, string])[] = [
  ['no window', [], AT_11, 'open open open'],
  ['before the start', [{}], '2026-01-05T09:59:59Z', 'closed closed closed'],
  ['at the start', [{}], '2026-01-05T10:00:00Z', 'open open open'],
  ['at its last millisecond', [{}], '2026-01-05T11:59:59.999Z', 'open open open'],
  ['at the end', [{}], '2026-01-05T12:00:00Z', 'closed closed closed'],
  ['the second of two', [{ cron: '0 3 * * *' }, {}], AT_11, 'open open open'],
  ['until later', [{ until: '2026-01-05T11:30:00Z' }], AT_11, 'open open open'],
  ['until this moment, and it has begun', [{ until: AT_11 }], AT_11, 'open open closed'],
  ['until earlier, and it had begun', [{ until: '2026-01-05T10:30:00Z' }], AT_11, 'open open closed'],
  ['until before the start', [{ until: '2026-01-05T09:00:00Z' }], AT_11, 'closed closed closed'],
  ['until no time', [{ until: 'soon' }], AT_11, 'open closed open'],
  ['an unreadable cron', [{ cron: 'banana' }], AT_11, 'closed throws closed'],
  ['an unreadable time zone', [{ timeZone: 'Mars/Phobos' }], AT_11, 'closed throws closed'],
  ['an unreadable duration', [{ duration: 'long' }], AT_11, 'throws throws throws'],
  ['an unreadable one beside an open one', [{ cron: 'banana' }, {}], AT_11, 'closed throws open'],
  [
    'a zone whose clocks skip the start',
    [{ cron: '30 2 * * *', timeZone: 'Europe/Berlin' }],
    '2026-03-29T01:30:00Z',
    'open open open',
  ],
  [
    'a zone whose clocks come to the start twice',
    [{ cron: '30 2 * * *', duration: '1h', timeZone: 'Europe/Berlin' }],
    '2026-10-25T01:45:00Z',
    'closed closed closed',
  ],
]

const attempt = (isOpen: () => boolean): string => {
  try {
    return isOpen() ? 'open' : 'closed'
  } catch {
    return 'throws'
  }
}

test.each(CASES)('%s', (_, wishes, at, answers) => {
  const windows = wishes.map((w): Window => ({ ...DAILY, ...w }))
  const now = Date.parse(at)
  const set = attempt(() => openingOf(windows, now).isOpen)
  const policy = attempt(() => {
    const compiled = windows.map(compileWindow)
    return windows.length === 0 || compiled.some((w) => w(now) !== undefined)
  })
  const stage = attempt(() => isAnyOpen(windows, now))
  expect(`${set} ${policy} ${stage}`).toBe(answers)
})
