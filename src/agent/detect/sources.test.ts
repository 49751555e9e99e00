import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Finding, type Problems, withFinding } from './problems.ts'
import { combine, type Combined, type Findings } from './sources.ts'

type Status = Finding['status']
const at = (ms: number) => ({ wall: ms, mono: ms })

/** What each source found for one condition, in this time order. */
function findingsOf(reported: readonly (readonly [source: string, status: Status, ms: number])[]): Findings {
  const findings = new Map<string, Problems>()
  for (const [source, status, ms] of reported) {
    const finding = { status, reason: `${source}${status}`, message: '', isKept: true }
    findings.set(source, withFinding(findings.get(source) ?? new Map(), 'DiskSpaceLow', finding, at(ms)))
  }
  return findings
}

const shown = (combined: ReadonlyMap<string, Combined>) => {
  const c = combined.get('DiskSpaceLow')
  return c && `${c.isTrue ? 'True' : c.isUnknown === true ? 'Unknown' : 'False'} ${c.reason} since ${c.since}`
}

test.each([
  ['nothing is found', [], undefined],
  ['one source alone', [['a', 'True', 1]], 'True aTrue since 1'],
  [
    'a source that finds nothing hides no other',
    [
      ['log', 'True', 1],
      ['disk', 'False', 2],
    ],
    'True logTrue since 1',
  ],
  [
    'the first reason stays',
    [
      ['b', 'True', 1],
      ['a', 'True', 2],
    ],
    'True bTrue since 1',
  ],
  [
    'true is more than unknown',
    [
      ['a', 'Unknown', 1],
      ['b', 'True', 2],
    ],
    'True bTrue since 2',
  ],
  [
    'unknown is more than false',
    [
      ['a', 'Unknown', 1],
      ['b', 'False', 2],
    ],
    'Unknown aUnknown since 1',
  ],
  [
    'the one that ended last tells how it ended',
    [
      ['a', 'False', 5],
      ['b', 'False', 3],
    ],
    'False aFalse since 5',
  ],
] as const)('%s', (_, reported, wanted) => {
  expect(shown(combine(new Map(), findingsOf(reported), at(9)))).toBe(wanted)
})

test('a problem that one source found says which other source cannot tell, until it can', () => {
  const message = (b: Status) => {
    const found = findingsOf([
      ['a', 'True', 1],
      ['b', b, 2],
      ['c', 'Unknown', 3],
    ])
    return combine(new Map(), found, at(9)).get('DiskSpaceLow')?.message
  }
  expect(message('False')).toBe(' (unknown to c)')
  expect(message('Unknown')).toBe(' (unknown to b, c)')
})

test('a condition that another source takes over stays true since it became true, with the other reason', () => {
  const both = combine(
    new Map(),
    findingsOf([
      ['a', 'True', 1],
      ['b', 'True', 4],
    ]),
    at(4),
  )
  const left = combine(
    both,
    findingsOf([
      ['a', 'True', 1],
      ['b', 'True', 4],
      ['a', 'False', 6],
    ]),
    at(6),
  )
  expect(shown(left)).toBe('True bTrue since 1')
  expect(shown(combine(left, findingsOf([['c', 'False', 2]]), at(8)))).toBe('False cFalse since 8')
  expect(combine(left, new Map(), at(8)).size).toBe(0)
})

test('it is true exactly while one source says so, whatever the order in which they are read', () => {
  const status = fc.constantFrom<Status>('True', 'False', 'Unknown')
  const reported = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), status, fc.nat(20)), { maxLength: 8 })
  fc.assert(
    fc.property(reported, (list) => {
      const findings = findingsOf(list)
      const last = [...findings.values()].map((p) => p.get('DiskSpaceLow'))
      const combined = combine(new Map(), findings, at(30)).get('DiskSpaceLow')
      expect(combined?.isTrue).toBe(last.length === 0 ? undefined : last.some((p) => p?.isTrue))
      if (combined?.isTrue === false) expect(combined.isUnknown === true).toBe(last.some((p) => p?.isUnknown === true))
      expect(combine(new Map(), new Map([...findings].reverse()), at(30))).toEqual(combine(new Map(), findings, at(30)))
    }),
  )
})
