// When a requester asks again after a refusal, with a Defender whose clock is wrong, and after a restart.
import { describe, expect, test } from 'vitest'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { timestamp } from '#lib/clock.ts'
import { EndedPermits, askAgainInMs, isRefused } from './ended-for.ts'
import { defined } from '#lib/defined.ts'

const NOW = Date.parse('2026-01-05T10:00:00Z')
const HOUR_MS = 3_600_000
const MINUTE_MS = 60_000

const denied = (uid: string, decidedAt: number, retryAfter?: number): OperationPermit =>
  ({
    metadata: { name: uid, uid },
    spec: { targets: [] },
    status: {
      phase: 'Denied',
      decidedAt: timestamp(decidedAt),
      verdicts: [{ target: 't', gate: 'Rate', verdict: 'Denied', ...defined({ retryAfter }) }],
    },
  }) as unknown as OperationPermit

/** A process that reads the permits of one requester. */
class Process {
  #ms = 0
  readonly #book = new EndedPermits({ now: () => NOW + this.#ms, monotonic: () => this.#ms })

  after(ms: number): this {
    this.#ms += ms
    return this
  }

  left(permit: OperationPermit, ...others: readonly OperationPermit[]): number {
    return askAgainInMs(permit, this.#book.observe('set', [...others, permit].filter(isRefused)))
  }
}

describe.each([
  ['right', 0],
  ['an hour behind', -HOUR_MS],
  ['an hour ahead', HOUR_MS],
])('F16 a refusal by a Defender whose clock is %s', (_, byMs) => {
  test.each([
    ['a minute', undefined, MINUTE_MS],
    ['as long as it says', 600, 600_000],
  ] as const)('is not asked about again for %s', (_, retryAfter, waitMs) => {
    const process = new Process()
    expect(process.left(denied('before', NOW))).toBe(MINUTE_MS)
    const refused = denied('p', NOW + byMs, retryAfter)
    expect(process.left(refused)).toBe(waitMs)
    expect(process.after(waitMs - 1).left(refused)).toBe(1)
    expect(process.after(1).left(refused)).toBe(0)
    expect(process.left(denied('next', NOW + waitMs + byMs, retryAfter))).toBe(waitMs)
  })
})

test('a refusal from before the process started counts from the time in it, and a wrong clock costs one wait at most', () => {
  expect(new Process().left(denied('p', NOW - 45_000))).toBe(15_000)
  expect(new Process().left(denied('p', NOW + HOUR_MS))).toBe(MINUTE_MS)
  const asking = new Process()
  const old = denied('p', NOW - HOUR_MS)
  expect(asking.left(old)).toBe(0)
  expect(asking.left(denied('q', NOW - HOUR_MS), old)).toBe(MINUTE_MS)
})

test('a permit that is not refused is asked for at once', () => {
  const { status, ...rest } = denied('p', NOW)
  expect(askAgainInMs(undefined, new Map())).toBe(0)
  expect(new Process().left({ ...rest, status: { ...status, phase: 'Granted' } })).toBe(0)
})

test('of very many refusals the oldest are forgotten', () => {
  const process = new Process()
  expect(process.left(denied('first', NOW))).toBe(MINUTE_MS)
  const many = Array.from({ length: 10_000 }, (_, i) => denied(`p-${i}`, NOW))
  process.after(1_000).left(denied('last', NOW), ...many)
  expect(process.left(denied('first', NOW))).toBe(MINUTE_MS)
})
