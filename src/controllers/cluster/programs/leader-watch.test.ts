import { describe, expect, test } from 'vitest'
import { microTimestamp } from '#lib/clock.ts'
import type { Lease } from '#runtime/lease.ts'
import { LeaderWatch } from './leader-watch.ts'

const NOW = Date.UTC(2030, 0, 1)
const HOUR = 3_600_000

/** A holder with a lease of 15 s, whose clock is `skew` off; `renewals` count its writes. */
const leaseOf = (renewals: number, at: number, skew: number, holder = 'a'): Lease => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: 'kubenode-approver', uid: 'l', resourceVersion: String(renewals) },
  spec: { holderIdentity: holder, leaseDurationSeconds: 15, renewTime: microTimestamp(NOW + at + skew) },
})

function watched() {
  let ms = 0
  const watch = new LeaderWatch({ now: () => NOW + ms, monotonic: () => ms })
  return (at: number, lease: Lease | undefined) => {
    ms = at
    return watch.judge('u/approver', lease)
  }
}

describe.each([
  ['behind', -HOUR],
  ['right', 0],
  ['ahead', HOUR],
])('a clock that is %s', (_, skew) => {
  test('of a program that renews: it leads in every pass', () => {
    const judge = watched()
    judge(0, leaseOf(1, 0, skew))
    for (let n = 1; n < 50; n++) expect(judge(n * 30_000, leaseOf(n + 1, n * 30_000, skew))).toBe('Leads')
  })

  test('and in passes between two renewals', () => {
    const judge = watched()
    judge(0, leaseOf(0, 0, skew))
    for (let at = 5_000; at < 60_000; at += 2_000) {
      const renewal = Math.floor(at / 5_000)
      expect(judge(at, leaseOf(renewal, renewal * 5_000, skew))).toBe('Leads')
    }
  })

  test('of a program that ended: it is missing after its lease', () => {
    const judge = watched()
    judge(0, leaseOf(1, 0, skew))
    judge(5_000, leaseOf(2, 5_000, skew))
    expect(judge(30_000, leaseOf(2, 5_000, skew))).toBe('Leads')
    expect(judge(31_000, leaseOf(2, 5_000, skew))).toBe('Missing')
  })
})

test('a Lease that looks old when it is first observed is unknown until it is renewed, or was watched for its life', () => {
  const old = leaseOf(1, 0, -HOUR)
  const judge = watched()
  expect([judge(0, old), judge(20_000, old), judge(26_000, old)]).toEqual(['Unknown', 'Unknown', 'Missing'])
  expect(judge(30_000, leaseOf(2, 30_000, -HOUR))).toBe('Leads')
})

test('a released Lease is free for a moment, then the program is missing; without a Lease it is missing', () => {
  const judge = watched()
  judge(0, leaseOf(1, 0, 0))
  expect(judge(1_000, leaseOf(2, 1_000, 0, ''))).toBe('Leads')
  expect(judge(7_000, leaseOf(2, 1_000, 0, ''))).toBe('Missing')
  expect(judge(8_000, undefined)).toBe('Missing')
})
