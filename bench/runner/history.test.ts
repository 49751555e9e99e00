import { describe, expect, test } from 'vitest'
import type { Figures } from '../result.ts'
import { type HistoryLine, historyLines, isWorse, movedFigures, movedTable } from './history.ts'

const line = (figures: Figures, more: Partial<HistoryLine> = {}): HistoryLine => ({
  at: '2026-01-01T00:00:00Z',
  commit: 'c',
  machine: { processor: 'p', cores: 2, memory_gb: 8 },
  yardstick: { compute_ms: 40, fsync_ms: 10 },
  bench: 'heal',
  server: 'embedded',
  numbers: {},
  isTimeless: false,
  ratio: {},
  ...more,
  figures,
})
/** A machine that takes twice as long for everything. */
const slow = { yardstick: { compute_ms: 80, fsync_ms: 20 } }
const moved = (...lines: readonly HistoryLine[]) =>
  movedFigures(lines).map(({ figure, before, times }) => [figure, before, Number(times.toFixed(2))])

describe('what moved', () => {
  test.each<[string, readonly HistoryLine[], readonly unknown[]]>([
    ['nothing with one line', [line({ a_ms: 1 })], []],
    ['nothing within 15%', [line({ a_ms: 100 }), line({ a_ms: 114 })], []],
    [
      'twenty milliseconds in the loop of the Defender',
      [line({ job_p50_ms: 13 }), line({ job_p50_ms: 33 })],
      [['job_p50_ms', 13, 2.54]],
    ],
    [
      'what became better, too, and what moved most comes first',
      [line({ a: 100, b: 100 }), line({ a: 120, b: 50 })],
      [
        ['b', 100, 0.5],
        ['a', 100, 1.2],
      ],
    ],
    [
      'against the middle of the lines before, whatever one of them says',
      [line({ a: 10 }), line({ a: 900 }), line({ a: 10 }), line({ a: 20 })],
      [['a', 10, 2]],
    ],
    [
      'against ten lines at most',
      [line({ a: 1 }), line({ a: 1 }), ...Array.from({ length: 11 }, () => line({ a: 5 }))],
      [],
    ],
    [
      'a ratio to a peer',
      [line({}, { ratio: { npd: 0.5 } }), line({}, { ratio: { npd: 1 } })],
      [['ratio npd', 0.5, 2]],
    ],
    ['what was nought', [line({ lost: 0 }), line({ lost: 1 })], [['lost', 0, Infinity]]],
    ['not what stays nought', [line({ lost: 0 }), line({ lost: 0 })], []],
    ['not what is new', [line({ a: 1 }), line({ a: 1, b: 2 })], []],
    ['not a run of other sizes', [line({ a: 1 }, { numbers: { nodes: 10 } }), line({ a: 9 })], []],
    ['not a run on another server', [line({ a: 1 }, { server: 'real' }), line({ a: 9 })], []],
    ['not another benchmark', [line({ a: 1 }, { bench: 'sync' }), line({ a: 9 })], []],
  ])('is %s', (_, lines, expected) => {
    expect(moved(...lines)).toEqual(expected)
  })

  test('on a machine that takes twice as long, times double, rates halve, and all else stays', () => {
    const before = { a_ms: 10, create_100_s: 4, ops_per_s: 90, rss_mb: 50, idle_bytes_per_s: 85, writes: 3 }
    const after = { ...before, a_ms: 20, create_100_s: 8, ops_per_s: 45 }
    expect(moved(line(before), line(after, slow))).toEqual([])
    // Waits are as long on every machine.
    expect(moved(line(before), line(before, slow))).toEqual([])
    expect(moved(line(before, slow), line({ ...before, a_ms: 14 }))).toEqual([['a_ms', 10, 1.4]])
  })

  test('times of a clock that jumps are the same on every machine', () => {
    expect(moved(line({ ready_s: 10 }), line({ ready_s: 10 }, { ...slow, isTimeless: true }))).toEqual([])
  })
})

test('is printed with what the machine of the newest line would have measured before', () => {
  const lines = [line({ a_ms: 10, b: 1 }), line({ a_ms: 60, b: 1 }, slow)]
  expect(movedTable(movedFigures(lines))).toEqual([
    'bench  figure  now  before            times',
    'heal   a_ms    60   20 (middle of 1)  3x     worse',
  ])
  expect(movedTable([])).toEqual(['nothing moved by more than 15%'])
})

describe('what moved is worse', () => {
  test.each<[string, HistoryLine, HistoryLine, boolean]>([
    ['when it takes longer', line({ job_p99_ms: 20 }), line({ job_p99_ms: 40 }), true],
    ['not when it takes less', line({ job_p99_ms: 40 }), line({ job_p99_ms: 20 }), false],
    ['when something is lost', line({ lost: 0 }), line({ lost: 1 }), true],
    ['when more memory is held', line({ rss_mb: 400 }), line({ rss_mb: 500 }), true],
    ['when less is done a second', line({ ops_per_s: 90 }), line({ ops_per_s: 60 }), true],
    ['not when more is done a second', line({ ops_per_s: 60 }), line({ ops_per_s: 90 }), false],
    ['when more bytes go over the wire', line({ idle_bytes_per_s: 60 }), line({ idle_bytes_per_s: 90 }), true],
    ['when a peer catches up', line({}, { ratio: { kubectl: 4 } }), line({}, { ratio: { kubectl: 3 } }), true],
    ['when we take more beside a peer', line({}, { ratio: { npd: 0.5 } }), line({}, { ratio: { npd: 0.9 } }), true],
    ['when a bound no longer holds', line({ within: 1 }), line({ within: 0 }), true],
    ['not when the machine is busier', line({ load: 1 }), line({ load: 9 }), false],
  ])('%s', (_, before, after, expected) => {
    const all = movedFigures([before, after])
    expect([all.length, all.some(isWorse)]).toEqual([1, expected])
  })
})

test('a history is read line by line, and a broken line is named', () => {
  const text = JSON.stringify(line({ a: 1 }))
  expect(historyLines(`${text}\n${text}\n`)).toHaveLength(2)
  expect(historyLines('')).toEqual([])
  expect(() => historyLines(`${text}\n{"figures":{}}\n`)).toThrow(/^KN9008: cannot read line 2 of/)
})
