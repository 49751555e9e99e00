import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hasColors, paintOf, toneOf } from './paint.ts'
import { alignedRows, laterRows } from './rows.ts'

const ROWS = [
  ['NAME', 'READY', 'MESSAGE'],
  ['n-1', 'True', 'all components are healthy and serve'],
  ['a-long-name-of-a-node', 'False', 'x'],
]

test('columns are as wide as their widest cell, and no line ends in blanks', () => {
  expect(
    alignedRows([
      ['A', 'B'],
      ['long', ''],
      ['x', 'y'],
    ]),
  ).toBe('A      B\nlong\nx      y')
})

test('on a terminal the widest column is shortened with a mark; the name is not', () => {
  expect(alignedRows(ROWS, 50).split('\n')).toEqual([
    'NAME                    READY   MESSAGE',
    'n-1                     True    all components ar…',
    'a-long-name-of-a-node   False   x',
  ])
})

test('figures are never shortened: where a row does not fit, each is a block', () => {
  const sums = [
    ['WHAT', 'BASE', 'CHANGE'],
    ['most of a zone out', 'none', '2 of 7 in zone-a (28.6%)'],
  ]
  expect(alignedRows(sums, 60, { isWhole: true })).toContain('2 of 7 in zone-a (28.6%)')
  expect(alignedRows(sums, 60, { isWhole: true }).split('\n')).toHaveLength(2)
  expect(alignedRows(sums, 40).split('\n')[1]).toContain('…')
  const narrow = alignedRows(sums, 40, { isWhole: true })
  expect(narrow).toContain('2 of 7 in zone-a (28.6%)')
  expect(narrow).not.toContain('…')
})

test('columns that may go below a row do, as few of them as let the others fit whole, and say nothing where they have nothing', () => {
  const rows = [
    ['STARTED', 'COMMIT', 'RESULT', 'APPROVED-BY'],
    ['02:03', '894b54656507 "three nodes" by Ada', 'Succeeded', '-'],
    ['02:01', '7e2b3da01e10 "two nodes" by Eve', 'Failed', 'ada'],
  ]
  const style = { below: ['COMMIT', 'APPROVED-BY', 'RESULT'] }
  expect(alignedRows(rows, 40, style).split('\n')).toEqual([
    'STARTED   RESULT      APPROVED-BY',
    '02:03     Succeeded   -',
    '  COMMIT  894b54656507 "three nodes" by',
    '            Ada',
    '02:01     Failed      ada',
    '  COMMIT  7e2b3da01e10 "two nodes" by',
    '            Eve',
  ])
  expect(alignedRows(rows, 26, style).split('\n').slice(0, 3)).toEqual([
    'STARTED   RESULT',
    '02:03     Succeeded',
    '  COMMIT       894b54656507',
  ])
  expect(alignedRows(rows, 26, style)).toContain('  APPROVED-BY  ada')
  for (const most of [200, undefined]) expect(alignedRows(rows, most, style)).toBe(alignedRows(rows, most))
})

test('a time and a state are never shortened, and neither is the name behind a namespace', () => {
  const holds = [
    ['NAME', 'AUTHOR', 'UNTIL', 'AGE'],
    ['freeze-all', 'ada@example.org', '2026-11-22T15:02:49Z', '4s'],
  ]
  expect(alignedRows(holds, 52).split('\n')).toEqual([
    'NAME         AUTHOR       UNTIL                  AGE',
    'freeze-all   ada@examp…   2026-11-22T15:02:49Z   4s',
  ])
  const releases = [
    ['NAMESPACE', 'NAME', 'COMMIT', 'PHASE'],
    ['kubenode-system', 'fleet-7e2b3da01e10', '7e2b3da01e10', 'Progressing'],
  ]
  expect(alignedRows(releases, 60).split('\n')[1]).toBe('kubenode-system   fleet-7e2b3da01e10   7e2b3d…   Progressing')
})

test('where columns would say nothing each row is a block, with whole words', () => {
  expect(alignedRows(ROWS, 26).split('\n')).toEqual([
    'n-1',
    '  READY    True',
    '  MESSAGE  all components',
    '             are healthy',
    '             and serve',
    'a-long-name-of-a-node',
    '  READY    False',
    '  MESSAGE  x',
  ])
  expect(alignedRows(ROWS.slice(2), 26, { hasHead: false })).toBe('a-long-name-of-a-node\n  False\n  x')
})

test('later rows keep the columns of the first ones, and a window that narrows meanwhile tears none', () => {
  let width: number | undefined = 60
  const textOf = laterRows(ROWS, { width: () => width })
  const row = ['n-1', 'Unknown', 'the agent sent no heartbeat since 02:03']
  expect(textOf(row)).toBe('n-1                     Unkn…   the agent sent no heartbeat…')
  width = 50
  expect(textOf(row, '   (deleted)').split('\n')).toEqual(['n-1                     Unkn…   the a…   (deleted)'])
  width = 26
  expect(textOf(row).split('\n')).toEqual([
    'n-1',
    '  READY    Unknown',
    '  MESSAGE  the agent sent',
    '             no heartbeat',
    '             since 02:03',
  ])
  width = undefined
  expect(textOf(row)).toBe('n-1                     Unknown   the agent sent no heartbeat since 02:03')
})

test('no later row is wider than its window', () => {
  const cell = fc.string({ unit: fc.constantFrom('a', 'b', ' '), maxLength: 60 }).map((s) => s.trim())
  const row = fc.tuple(fc.constant('n'), cell, cell, cell)
  const widths = fc.array(fc.integer({ min: 40, max: 200 }), { minLength: 1, maxLength: 4 })
  fc.assert(
    fc.property(fc.array(row, { minLength: 1, maxLength: 4 }), row, widths, (first, later, windows) => {
      let width = 0
      const textOf = laterRows(first, { width: () => width })
      for (width of windows) {
        for (const line of textOf(later, '   (deleted)').split('\n')) expect(line.length).toBeLessThanOrEqual(width)
      }
    }),
  )
})

test('what is cut fits, says so, and a pipe gets everything', () => {
  const cell = fc.string({ unit: fc.constantFrom('a', 'b', ' '), maxLength: 60 }).map((s) => s.trim())
  const rows = fc.array(fc.tuple(fc.constant('n'), cell, cell, cell), { minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(rows, fc.integer({ min: 40, max: 200 }), (all, width) => {
      const lines = alignedRows(all, width).split('\n')
      for (const [i, line] of lines.entries()) {
        expect(line.length).toBeLessThanOrEqual(width)
        const isWhole = (all[i] ?? []).every((c) => line.includes(c))
        expect(isWhole || line.includes('…')).toBe(true)
      }
      expect(alignedRows(all)).not.toContain('…')
    }),
  )
})

test('colors change no text and no width', () => {
  const paint = paintOf(true)
  const painted = alignedRows(ROWS, 50, { paint: (i, text) => paint(toneOf(ROWS[0]?.[i] ?? '', text), text) })
  expect(painted).toContain('\u001b[31mFalse\u001b[39m')
  // oxlint-disable-next-line no-control-regex
  expect(painted.replaceAll(/\u001b\[\d+m/g, '')).toBe(alignedRows(ROWS, 50))
})

test.each([
  ['a terminal', { isTerminal: true, env: {} }, true],
  ['a pipe', { isTerminal: false, env: {} }, false],
  ['NO_COLOR', { isTerminal: true, env: { NO_COLOR: '1' } }, false],
  ['an empty NO_COLOR', { isTerminal: true, env: { NO_COLOR: '' } }, true],
  ['a dumb terminal', { isTerminal: true, env: { TERM: 'dumb' } }, false],
  ['--color=always in a pipe', { color: 'always', isTerminal: false, env: { NO_COLOR: '1' } }, true],
  ['--color=never on a terminal', { color: 'never', isTerminal: true, env: {} }, false],
] as const)('%s', (_, io, want) => expect(hasColors(io)).toBe(want))
