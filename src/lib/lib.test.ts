import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { microTimestamp, sleepOn, timestamp } from './clock.ts'
import { systemClock } from './system-clock.ts'
import { durationMs, formatDuration, parseDuration } from './duration.ts'
import { KubeNodeError, isKubeNodeError, messageOf, numbered } from './errors.ts'
import { errorTable } from './error-table.ts'
import { canonicalJson, cloneJson, isDeeperJson, isDeeperThan, jsonEqual, setOwn } from './json.ts'
import { seededRandom } from './random.ts'

describe('durations', () => {
  test.each([
    ['90s', 90_000],
    ['1h30m', 5_400_000],
    ['1.5h', 5_400_000],
    ['250ms', 250],
    ['2d', 172_800_000],
    ['0', 0],
  ])('%s is read as %d ms', (text, ms) => expect(durationMs(text)).toBe(ms))

  test.each(['', '90', 's', '-5s', '5 m', '5m ', '1h30', 'NaNs', '5M', '1e3s'])('%j is no duration', (text) => {
    expect(durationMs(text)).toBeUndefined()
    expect(() => parseDuration(text)).toThrow(/^KN1002: not a duration/)
  })

  test.each([
    [0, '0ms'],
    [350, '350ms'],
    [1_999, '1s'],
    [252_000, '4m12s'],
    [7_500_000, '2h5m'],
    [3_600_000, '1h'],
    [90_061_000, '1d1h'],
    [-90_000, '-1m30s'],
  ])('%d ms is shown as %s', (ms, text) => expect(formatDuration(ms)).toBe(text))

  test('what is shown is read back within the smallest unit shown', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1_000, max: 1e10 }), (ms) => {
        const back = parseDuration(formatDuration(ms))
        expect(back).toBeLessThanOrEqual(ms)
        expect(ms - back).toBeLessThan(3_600_000)
      }),
    )
  })
})

describe('JSON', () => {
  test('equality and canonical form agree', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 3 }), fc.jsonValue({ maxDepth: 3 }), (a, b) => {
        expect(jsonEqual(a, b)).toBe(canonicalJson(a) === canonicalJson(b))
        expect(jsonEqual(a, cloneJson(a))).toBe(true)
      }),
    )
  })

  test('the canonical form does not depend on the order of keys', () => {
    expect(canonicalJson({ b: 1, a: [true, null, { d: 'é', c: 2 }] })).toBe('{"a":[true,null,{"c":2,"d":"é"}],"b":1}')
  })

  test('an absent key equals an undefined one, not a null one', () => {
    expect(jsonEqual({ a: undefined }, {})).toBe(true)
    expect(jsonEqual({}, { a: undefined })).toBe(true)
    expect(jsonEqual({ a: null }, {})).toBe(false)
  })

  test('__proto__ is copied and compared as plain data (S10)', () => {
    const evil: unknown = JSON.parse('{"__proto__":{"polluted":true}}')
    const copy = cloneJson(evil) as object
    expect(Object.keys(copy)).toEqual(['__proto__'])
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype)
    expect(jsonEqual(evil, {})).toBe(false)
    const target = {}
    setOwn(target, '__proto__', 1)
    expect(Object.keys(target)).toEqual(['__proto__'])
    const frozen = Object.create(Object.freeze({ toString: 1 })) as object
    setOwn(frozen, 'toString', 2)
    expect(Object.entries(frozen)).toEqual([['toString', 2]])
  })

  test('depth is measured without recursion', () => {
    let deep: unknown = 1
    for (let i = 0; i < 100_000; i++) deep = [deep]
    expect(isDeeperThan(deep)).toBe(true)
    expect(isDeeperThan([[1]], 1)).toBe(true)
    expect(isDeeperThan([[1]], 2)).toBe(false)
    for (const value of [[[1]], { a: ['[[[[', '\\\\', '\\"[[['] }, [{ a: 1 }, { a: [2] }]])
      for (const limit of [1, 2, 3]) {
        const text = Buffer.from(JSON.stringify(value))
        expect(isDeeperJson(text, limit)).toBe(isDeeperThan(value, limit))
      }
  })
})

describe('clock and randomness', () => {
  test('times are written as Kubernetes writes them', () => {
    expect(timestamp(1_700_000_000_999)).toBe('2023-11-14T22:13:20Z')
    expect(microTimestamp(1_700_000_000_123)).toBe('2023-11-14T22:13:20.123000Z')
  })

  test('a sleep ends at once when its signal aborts', async () => {
    const stop = new AbortController()
    const sleeping = systemClock.sleep(3_600_000, stop.signal)
    stop.abort(new Error('stopped'))
    await expect(sleeping).rejects.toThrow('stopped')
    await expect(sleepOn(systemClock, 1, stop.signal)).rejects.toThrow('stopped')
  })

  test('the same seed draws the same numbers, all of them in range', () => {
    const a = seededRandom(7)
    const b = seededRandom(7)
    for (let i = 0; i < 1000; i++) {
      const x = a.below(10)
      expect(x).toBe(b.below(10))
      expect(x >= 0 && x < 10).toBe(true)
    }
    const jittered = a.jitter(100, 0.2)
    expect(jittered).toBeGreaterThanOrEqual(80)
    expect(jittered).toBeLessThanOrEqual(120)
  })
})

test('an error carries its number, its data and whether to try again', () => {
  const errors = errorTable({
    KN1042: { text: 'cannot start stage {stage}: {healthy} of 3 healthy', next: 'run kubenode why {stage}' },
    KN1043: { text: 'cannot start', next: 'try again' },
  })
  expect(numbered(errors.KN1043())).toBe('KN1043: cannot start; try again')
  expect(errors.KN1042.code).toBe('KN1042')
  const e = new KubeNodeError(errors.KN1042({ stage: 'pre{healthy}', healthy: 2 }), {
    retry: 'later',
    data: { stage: 'pre' },
    cause: 'x',
  })
  expect(e.message).toBe('KN1042: cannot start stage pre{healthy}: 2 of 3 healthy; run kubenode why pre{healthy}')
  expect(isKubeNodeError(e) && e.retry).toBe('later')
  expect(messageOf('plain')).toBe('plain')
})
