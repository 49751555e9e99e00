import { expect, test } from 'vitest'
import { timexFamilies, timexReader } from './timex.ts'

const values = (families: ReturnType<typeof timexFamilies>) =>
  Object.fromEntries(families.map(({ name, samples }) => [name.replace('node_timex_', ''), samples[0]?.value]))
const timex = {
  state: 0,
  offset: 1_500,
  frequency: 65_536,
  maxErrorUs: 250_000,
  estimatedErrorUs: 500,
  status: 1,
  taiOffset: 37,
}

test('what the kernel says of its clock has the units of node_exporter', () => {
  expect(values(timexFamilies(timex))).toEqual({
    sync_status: 1,
    offset_seconds: 0.0015,
    maxerror_seconds: 0.25,
    estimated_error_seconds: 0.0005,
    frequency_adjustment_ratio: 1.000001,
    status: 1,
    tai_offset_seconds: 37,
  })
  expect(values(timexFamilies({ ...timex, status: 0x2001 }))).toMatchObject({ offset_seconds: 0.0000015 })
  expect(values(timexFamilies({ ...timex, state: 5, status: 0x40 }))).toMatchObject({ sync_status: 0 })
})

test('a host that cannot tell has no series', () => {
  expect(timexFamilies(undefined)).toEqual([])
})

test('this host answers what the kernel answers, or nothing', (context) => {
  const found = timexReader()()
  if (found === undefined) context.skip('this Node.js has no node:ffi, or the host has another C library')
  expect(found?.state).toBeLessThanOrEqual(5)
  expect(found?.maxErrorUs).toBeGreaterThanOrEqual(0)
})
