import { expect, test } from 'vitest'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { timestamp } from '#lib/clock.ts'
import { aPermit, START_MS, uidOf } from '#test/support/fleets/defender-objects.ts'
import { KEEP_AT_LEAST_MS, KEEP_ENDED_MS, MOST_ENDED, oldPermits } from './old-permits.ts'

const MINUTE = 60_000
const ended = (name: string, agoMs: number, phase: 'Released' | 'Denied' | 'Expired' = 'Released'): OperationPermit =>
  aPermit({ name, targets: ['m-0'], status: { phase, endedAt: timestamp(START_MS - agoMs) } })
const open = (name: string): OperationPermit => aPermit({ name, targets: ['m-0'], status: { phase: 'Granted' } })
const names = (permits: readonly OperationPermit[]): readonly (string | undefined)[] =>
  permits.map((p) => p.metadata.name)
const many = (count: number, agoMs: (i: number) => number) =>
  Array.from({ length: count }, (_, i) => ended(`p-${i}`, agoMs(i)))

test('all that ended a day ago are deleted, and none that may still be used', () => {
  const permits = [
    ended('old', KEEP_ENDED_MS),
    ended('new', KEEP_ENDED_MS - MINUTE),
    open('granted'),
    aPermit({ name: 'asked', targets: ['m-0'] }),
  ]
  expect(names(oldPermits(permits, [], START_MS))).toEqual(['old'])
})

test('of three hundred that ended within five hours the newest hundred stay, and those of the last hour', () => {
  const permits = many(300, (i) => i * MINUTE)
  const left = new Set(permits).difference(new Set(oldPermits(permits, [], START_MS)))
  expect(left.size).toBe(MOST_ENDED)
  expect(names([...left])).toEqual(Array.from({ length: MOST_ENDED }, (_, i) => `p-${i}`))
  expect(
    oldPermits(
      many(300, () => KEEP_AT_LEAST_MS - MINUTE),
      [],
      START_MS,
    ),
  ).toEqual([])
})

test('one whose slot is still taken stays, so that the slot names it', () => {
  const permits = [...many(MOST_ENDED, () => MINUTE), ended('orphan', 5 * KEEP_AT_LEAST_MS, 'Expired')]
  expect(names(oldPermits(permits, [], START_MS))).toEqual(['orphan'])
  expect(oldPermits(permits, [{ permitUid: uidOf('orphan') }], START_MS)).toEqual([])
})
