import { expect, test } from 'vitest'
import { instantMs } from './instant.ts'

test.each([
  ['2028-02-29T00:00:00Z', '2028-02-29T00:00:00.000Z'],
  ['2026-12-31T23:59:59.5+08:00', '2026-12-31T15:59:59.500Z'],
  ['2026-01-01T00:00:00-05:00', '2026-01-01T05:00:00.000Z'],
])('%s is a time', (text, at) => {
  expect(new Date(instantMs(text) ?? Number.NaN).toISOString()).toBe(at)
})

test.each([
  '',
  'tomorrow',
  '2026',
  '2026-02-01',
  '2026-02-01 02:00',
  '2026-02-30T00:00:00Z',
  '2027-02-29T00:00:00Z',
  '2026-11-31T20:00:00+08:00',
  '2026-13-01T00:00:00Z',
  '2026-02-01T25:00:00Z',
  '2026-02-01Tnoon',
])('%j is none', (text) => {
  expect(instantMs(text)).toBeUndefined()
})
