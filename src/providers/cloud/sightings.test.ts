// When a host that a complete answer did not have certainly no longer exists.
import { expect, test } from 'vitest'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { Sightings } from './sightings.ts'

const WITHIN_MS = 120_000

const started = (visibleWithinMs = WITHIN_MS) => {
  const clock = new VirtualClock()
  return { clock, sightings: new Sightings(clock, visibleWithinMs) }
}

test('a missing host is gone after the time within which every host is visible, and not before', () => {
  const { clock, sightings } = started()
  expect(sightings.isGone('i-1')).toBe(false)
  clock.skip(WITHIN_MS - 1)
  expect(sightings.isGone('i-1')).toBe(false)
  clock.skip(1)
  expect(sightings.isGone('i-1')).toBe(true)
})

test('a host that is seen between two absences takes the whole time again', () => {
  const { clock, sightings } = started()
  sightings.isGone('i-1')
  clock.skip(WITHIN_MS)
  sightings.seen('i-1', false)
  expect(sightings.isGone('i-1')).toBe(false)
})

test('a host whose deletion was seen is gone as soon as it is missing', () => {
  const { sightings } = started()
  sightings.seen('i-1', true)
  expect(sightings.isLeaving('i-1')).toBe(true)
  expect(sightings.isGone('i-1')).toBe(true)
})

test('a deletion whose reply was lost counts for a host that was seen before, and for no other', () => {
  const { sightings } = started()
  sightings.seen('i-1', false)
  sightings.unwanted('i-1')
  sightings.unwanted('i-2')
  expect(sightings.isGone('i-1')).toBe(true)
  expect(sightings.isGone('i-2')).toBe(false)
})

test('where hosts are visible at once, an absence is one', () => {
  expect(started(0).sightings.isGone('i-1')).toBe(true)
})

test('what is remembered is bounded; a forgotten host takes the whole time again', () => {
  const { clock, sightings } = started()
  sightings.isGone('i-0')
  for (let i = 1; i <= 50_000; i++) sightings.isGone(`i-${i}`)
  clock.skip(WITHIN_MS)
  expect(sightings.isGone('i-0')).toBe(false)
  expect(sightings.isGone('i-50000')).toBe(true)
})
