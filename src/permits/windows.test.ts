import { describe, expect, test } from 'vitest'
import { compileBlackout, compileWindow, openingOf } from './windows.ts'

const daily = (hhmm: string, duration: string, timeZone = 'Europe/Berlin') => {
  const [hour, minute] = hhmm.split(':').map(Number)
  return { cron: `${minute} ${hour} * * *`, duration, timeZone }
}
type Row = readonly [string, ReturnType<typeof daily>, string, string | undefined]

describe('F16 a window over a change of the clocks lasts as long as it says, and none is left out', () => {
  test.each<Row>([
    ['an ordinary day', daily('02:30', '1h'), '2026-03-28T01:45:00Z', '2026-03-28T02:30:00Z'],
    [
      'a beginning that the clocks skip is the next one that there is',
      daily('02:30', '1h'),
      '2026-03-29T01:00:00Z',
      '2026-03-29T02:00:00Z',
    ],
    ['not before it', daily('02:30', '1h'), '2026-03-29T00:59:59Z', undefined],
    ['and the day after as ever', daily('02:30', '1h'), '2026-03-30T00:45:00Z', '2026-03-30T01:30:00Z'],
    [
      'also where the clocks change elsewhere',
      daily('02:30', '1h', 'America/New_York'),
      '2026-03-08T07:15:00Z',
      '2026-03-08T08:00:00Z',
    ],
    [
      'a beginning that comes twice counts once, the first time',
      daily('02:30', '1h'),
      '2026-10-25T01:15:00Z',
      '2026-10-25T01:30:00Z',
    ],
    ['the second time begins nothing', daily('02:30', '1h'), '2026-10-25T01:45:00Z', undefined],
    [
      'four hours are four hours when one is skipped',
      daily('01:00', '4h'),
      '2026-03-29T03:59:59Z',
      '2026-03-29T04:00:00Z',
    ],
    ['and when one comes twice', daily('01:00', '4h'), '2026-10-25T03:00:00Z', undefined],
  ])('%s', (_, window, now, until) => {
    const expected = until === undefined ? undefined : Date.parse(until)
    expect(compileWindow(window)(Date.parse(now))).toBe(expected)
    expect(compileBlackout(window)(Date.parse(now))).toBe(expected)
  })
})

test.each<Row>([
  ['the last millisecond before it', daily('03:00', '1h', 'UTC'), '2026-05-01T02:59:59.999Z', undefined],
  ['its first one', daily('03:00', '1h', 'UTC'), '2026-05-01T03:00:00Z', '2026-05-01T04:00:00Z'],
  ['its last one', daily('03:00', '1h', 'UTC'), '2026-05-01T03:59:59.999Z', '2026-05-01T04:00:00Z'],
  ['the first one after it', daily('03:00', '1h', 'UTC'), '2026-05-01T04:00:00Z', undefined],
  ['over midnight', daily('23:00', '3h', 'UTC'), '2026-05-02T01:00:00Z', '2026-05-02T02:00:00Z'],
  [
    'one that is longer than its period never ends',
    daily('03:00', '48h', 'UTC'),
    '2026-05-04T02:00:00Z',
    '2026-05-04T03:00:00Z',
  ],
])('a window has an edge: %s', (_, window, now, until) => {
  expect(compileWindow(window)(Date.parse(now))).toBe(until === undefined ? undefined : Date.parse(until))
})

test('after its end a window is closed at once, and a blackout that has begun lasts its full time', () => {
  const window = { ...daily('03:00', '2h', 'UTC'), until: '2026-05-01T03:30:00Z' }
  const [before, after, nextDay] = ['2026-05-01T03:29:59Z', '2026-05-01T04:00:00Z', '2026-05-02T04:00:00Z'].map(
    Date.parse,
  )
  expect([before, after, nextDay].map((at = 0) => compileWindow(window)(at))).toEqual([
    Date.parse('2026-05-01T03:30:00Z'),
    undefined,
    undefined,
  ])
  expect([before, after, nextDay].map((at = 0) => compileBlackout(window)(at))).toEqual([
    Date.parse('2026-05-01T05:00:00Z'),
    Date.parse('2026-05-01T05:00:00Z'),
    undefined,
  ])
})

test('the next start is shown only while one comes before the end', () => {
  const window = { ...daily('03:00', '2h', 'UTC'), until: '2026-05-02T03:00:00Z' }
  expect(openingOf([window], Date.parse('2026-04-30T12:00:00Z'))).toEqual({
    isOpen: false,
    nextAt: Date.parse('2026-05-01T03:00:00Z'),
  })
  expect(openingOf([window], Date.parse('2026-05-01T12:00:00Z'))).toEqual({ isOpen: false })
})

test('F21 a blackout whose start, end or length cannot be read is refused, since it would forbid nothing', () => {
  const odd = [{ from: 'soon' }, { cron: '0 3 * * *', until: 'soon' }, { cron: '0 3 * * *', duration: 'long' }]
  for (const o of odd) expect(() => compileBlackout({ duration: '1h', timeZone: 'UTC', ...o })).toThrow()
})

test.each([
  { cron: 'soon', timeZone: 'UTC' },
  { cron: '0 3 * * *', timeZone: 'Mars/Olympus' },
])('what cannot be understood is refused: %o', (odd) =>
  expect(() => compileWindow({ ...odd, duration: '1h' })(Date.now())).toThrow(),
)
