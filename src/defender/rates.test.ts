import fc from 'fast-check'
import { expect, test } from 'vitest'
import { RATE_WINDOWS } from '#api/kinds/defender-policy.ts'
import { type Bucket, RateCounter, type Series, WINDOW_MS, slotMs } from './rates.ts'

const series = (window: Series['window']): Series => ({
  policy: `p/${window}.cluster`,
  window,
  per: 'cluster',
  domain: '',
})

/** Grants like the Defender, one at a time, through ledgers that are written and read again. */
function admitted(window: Series['window'], max: number, moments: readonly number[]): readonly number[] {
  const s = series(window)
  let buckets: readonly Bucket[] = []
  const granted: number[] = []
  for (const now of moments) {
    const counter = new RateCounter(buckets, now)
    if (counter.count(s) + 1 <= max) {
      counter.add(s)
      granted.push(now)
    }
    buckets = JSON.parse(JSON.stringify(counter.buckets())) as readonly Bucket[]
  }
  return granted
}

const steps = fc.array(fc.integer({ min: 0, max: 40_000 }), { minLength: 1, maxLength: 120 })

test.each(RATE_WINDOWS)('in no window of %s more is admitted than the limit, whenever it begins', (window) => {
  fc.assert(
    fc.property(steps, fc.integer({ min: 1, max: 6 }), (gaps, max) => {
      const scale = WINDOW_MS[window] / 60_000
      let at = 1_767_571_200_000
      const moments = gaps.map((g) => (at += g * scale))
      const granted = admitted(window, max, moments)
      for (const end of granted) {
        const within = granted.filter((t) => t > end - WINDOW_MS[window] && t <= end).length
        expect(within).toBeLessThanOrEqual(max)
      }
    }),
    { numRuns: 100 },
  )
})

test.each(RATE_WINDOWS)('a full window of %s is free again at most two slots after its time', (window) => {
  const start = 1_767_571_200_000 + 7
  const free = start + WINDOW_MS[window] + 2 * slotMs(window)
  expect(admitted(window, 1, [start, start + WINDOW_MS[window] - 1, free])).toEqual([start, free])
})

test.each(RATE_WINDOWS)('a write that lands up to a slot after its decision makes no window of %s fuller', (window) => {
  const decided = 1_767_571_200_000 + slotMs(window) - 1
  const landed = decided + slotMs(window)
  const after = landed + WINDOW_MS[window]
  expect(admitted(window, 1, [decided, after, after + 1])).toEqual([decided, after + 1])
})

test('F16 a bucket that lies in the future counts', () => {
  const s = series('1h')
  const future: Bucket = { ...s, slot: Math.floor(1_900_000_000_000 / slotMs('1h')), count: 3 }
  expect(new RateCounter([future], 1_767_571_200_000).count(s)).toBe(3)
})

test('domains are counted apart', () => {
  const counter = new RateCounter([], 1_767_571_200_000)
  counter.add({ ...series('1h'), domain: 'a' })
  expect([counter.count({ ...series('1h'), domain: 'a' }), counter.count({ ...series('1h'), domain: 'b' })]).toEqual([
    1, 0,
  ])
})

test('what has left its window takes no place in the ledger', () => {
  const counter = new RateCounter([], 1_767_571_200_000)
  counter.add(series('1m'))
  expect(new RateCounter(counter.buckets(), 1_767_571_200_000 + 120_000).buckets()).toEqual([])
})
