import { describe, expect, it } from 'vitest'
import { ApiError, ConnectionError, failure } from '../errors.ts'
import { kubeErrors } from '../kube-errors.ts'
import { parseRetryAfter, retryAfterMs } from './retry.ts'

const api = (code: number, retryAfter?: number) =>
  new ApiError(failure(code, 'x'), { action: 'a', target: 't', retryAfterMs: retryAfter })
const lost = new ConnectionError(kubeErrors.KN2001({ action: 'get', why: 'x' }), 'unknown')

describe('what the HTTP client tries again', () => {
  const cases: readonly (readonly [string, unknown, boolean, boolean, number | undefined])[] = [
    ['a read after a lost connection', lost, true, false, 200],
    ['a write after a lost connection is left to the caller', lost, false, false, undefined],
    ['a read after 500', api(500), true, false, 200],
    ['a read after 503', api(503), true, false, 200],
    ['a write after 503 may have been applied', api(503), false, false, undefined],
    ['a read after 404', api(404), true, false, undefined],
    ['a read after 410 needs another question', api(410), true, false, undefined],
    ['a write after 429 was not looked at', api(429, 1_000), false, false, 1_200],
    ['an eviction after 429 met a budget', api(429, 1_000), false, true, undefined],
    ['a read that should wait for minutes is left to the caller', api(429, 120_000), true, false, undefined],
    ['a bug', new TypeError('x'), true, false, undefined],
  ]
  it.each(cases)('%s', (_name, error, isRead, isEviction, want) => {
    expect(retryAfterMs({ error, attempt: 1, isRead, isEviction }, 0.5)).toBe(want)
  })

  it('gives up after four tries', () => {
    expect(
      [1, 2, 3, 4].map((attempt) => retryAfterMs({ error: lost, attempt, isRead: true, isEviction: false }, 0.5)),
    ).toEqual([200, 400, 800, undefined])
  })

  it('reads Retry-After as seconds and as a date', () => {
    const now = Date.UTC(2026, 0, 5)
    expect(parseRetryAfter('7', now)).toBe(7_000)
    expect(parseRetryAfter('Mon, 05 Jan 2026 00:00:09 GMT', now)).toBe(9_000)
    expect(parseRetryAfter('soon', now)).toBeUndefined()
    expect(parseRetryAfter(undefined, now)).toBeUndefined()
  })
})
