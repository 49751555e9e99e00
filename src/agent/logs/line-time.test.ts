import { expect, test } from 'vitest'
import { lineTime, linesSince } from './line-time.ts'

const NOW = Date.parse('2026-03-01T12:00:00Z')

test.each([
  ['RFC 3339', '2026-03-01T11:59:00Z started', '2026-03-01T11:59:00.000Z'],
  ['with a zone', '2026-03-01T13:59:00.5+02:00 started', '2026-03-01T11:59:00.500Z'],
  ['in JSON', '{"level":"info","time":"2026-03-01T11:00:00.123456Z"}', '2026-03-01T11:00:00.123Z'],
  ['without a zone', '2026-03-01 11:00:00 started', '2026-03-01T11:00:00.000Z'],
  ['of klog', 'I0301 11:00:00.5 1 main.go:1] started', '2026-03-01T11:00:00.500Z'],
  ['of klog before the new year', 'W1224 11:00:00 1 main.go:1] started', '2025-12-24T11:00:00.000Z'],
])('reads a time %s', (_, line, time) => {
  expect(new Date(lineTime(line, NOW) ?? 0).toISOString()).toBe(time)
})

test.each([
  'started',
  '12:00 started',
  'I9901 started',
  '2026-99-01T11:00:00Z',
  `${'x'.repeat(300)}2026-03-01T11:00:00Z`,
])('reads no time from %s', (line) => expect(lineTime(line, NOW)).toBeUndefined())

test('lines without a time belong to the line before them', () => {
  const lines = ['2026-03-01T11:00:00Z a', '  at x', '2026-03-01T11:58:00Z b', '  at y']
  expect(linesSince(lines, NOW - 300_000, NOW)).toEqual({ lines: lines.slice(2), areTimed: true })
})

test('no line is left out of a log that carries no time, and that is said', () => {
  expect(linesSince(['a', 'b'], NOW - 1_000, NOW)).toEqual({ lines: ['a', 'b'], areTimed: false })
  expect(linesSince(['2026-03-01T11:00:00Z a'], NOW - 1_000, NOW)).toEqual({ lines: [], areTimed: true })
})
