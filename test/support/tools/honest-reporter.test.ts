import { expect, test } from 'vitest'
import { judge } from './honest-reporter.ts'

const t = (name: string, state: string, note?: string) => ({ name, state, note })

test('a run of passed tests has nothing to complain about', () => {
  expect(judge([t('a', 'passed'), t('b', 'passed')], [])).toEqual({
    totals: { passed: 2, failed: 0, skipped: 0 },
    complaints: [],
  })
})

test('a test skipped with a reason is counted as skipped, not as failed', () => {
  expect(judge([t('a', 'skipped', 'needs root')], []).totals).toEqual({ passed: 0, failed: 0, skipped: 1 })
})

test('a test skipped without a reason fails the run', () => {
  const { totals, complaints } = judge([t('a', 'skipped', ' ')], [])
  expect(totals).toEqual({ passed: 0, failed: 1, skipped: 0 })
  expect(complaints).toEqual(["skipped without a reason: a; call context.skip('why')"])
})

test('an empty test file fails the run', () => {
  expect(judge([], ['x.test.ts']).complaints).toEqual(['no test in x.test.ts'])
})

test('a test that never ran fails the run', () => {
  expect(judge([t('a', 'pending')], []).totals.failed).toBe(1)
})
