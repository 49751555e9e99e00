import { expect, test } from 'vitest'
import { waitingSince } from './waiting.ts'

const NOW = Date.parse('2026-01-05T10:00:00Z')
const EARLIER = '2026-01-05T09:00:00Z'
const wait = { predicate: 'HoldPause', seen: 'hold x', unblock: 'it ends' }

test.each([
  ['nothing before', undefined, {}, '2026-01-05T10:00:00Z'],
  ['the same', { predicate: 'HoldPause', since: EARLIER }, {}, EARLIER],
  ['something else', { predicate: 'NoMachines', since: EARLIER }, {}, '2026-01-05T10:00:00Z'],
  [
    'the same under another name',
    { predicate: 'NoMachines', since: EARLIER },
    { sameAs: new Set(['NoMachines']) },
    EARLIER,
  ],
  [
    'the same, and progress was made',
    { predicate: 'HoldPause', since: EARLIER, seen: 'hold w' },
    { isProgress: true },
    '2026-01-05T10:00:00Z',
  ],
  [
    'the same, without progress',
    { predicate: 'HoldPause', since: EARLIER, seen: 'hold x' },
    { isProgress: true },
    EARLIER,
  ],
  [
    'F16 the same since a time that has not come',
    { predicate: 'HoldPause', since: '2026-01-05T11:00:00Z' },
    {},
    '2026-01-05T10:00:00Z',
  ],
  ['the same since a time that cannot be read', { predicate: 'HoldPause', since: 'noon' }, {}, '2026-01-05T10:00:00Z'],
])('it waited for %s', (_, before, more, since) => {
  expect(waitingSince(before, { ...wait, ...more }, NOW)).toEqual({ ...wait, since })
})

test('long sentences are cut', () => {
  const { seen, unblock } = waitingSince(undefined, { ...wait, seen: 'x'.repeat(300), unblock: 'y'.repeat(300) }, NOW)
  expect([seen.length, unblock.length, seen.at(-1)]).toEqual([200, 200, '…'])
})
