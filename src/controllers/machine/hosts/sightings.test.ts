// How much a single answer of a provider proves.
import { expect, test } from 'vitest'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { ANY_HOST, HostSightings } from './sightings.ts'

const provider = (visibleWithinMs: number) => ({
  capabilities: { isHostKept: false, visibleWithinMs, markets: ['OnDemand'] as const },
})
const ID = 'cloud://i-1'
const host = (state: 'Running' | 'Deleting') => ({ state, machineUid: 'u', providerID: ID })

function world(visibleWithinMs = 0) {
  const clock = new VirtualClock()
  const sightings = new HostSightings(clock)
  const unsureMs = (missing?: string) => sightings.untilSureMs(provider(visibleWithinMs), 'u', missing)
  return { clock, sightings, unsureMs }
}

test('a host that is missing once is not gone; missing ten seconds later it is', () => {
  const { clock, unsureMs } = world()
  expect(unsureMs(ID)).toBe(10_000)
  clock.skip(4_000)
  expect(unsureMs(ID)).toBe(6_000)
  clock.skip(6_000)
  expect(unsureMs(ID)).toBe(0)
})

test('a host that comes and goes is never gone', () => {
  const { clock, sightings, unsureMs } = world()
  for (let i = 0; i < 100; i++) {
    expect(unsureMs(ID)).toBe(10_000)
    clock.skip(9_000)
    expect(unsureMs(ID)).toBe(1_000)
    sightings.seen(host('Running'))
    clock.skip(9_000)
  }
})

test('the absence of one host says nothing about another one', () => {
  const { clock, unsureMs } = world()
  unsureMs('cloud://i-0')
  clock.skip(60_000)
  expect(unsureMs(ID)).toBe(10_000)
  expect(unsureMs(ANY_HOST)).toBe(10_000)
})

test('a host that was seen while it was deleted, or was ended by us, is gone at once', () => {
  const { sightings, unsureMs } = world()
  sightings.seen(host('Deleting'))
  expect(unsureMs(ID)).toBe(0)
  const other = world()
  other.sightings.ended('u', ID)
  expect(other.unsureMs(ID)).toBe(0)
})

test('a host that runs after it was shown as deleted needs two looks again', () => {
  const { sightings, unsureMs } = world()
  sightings.seen(host('Deleting'))
  sightings.seen(host('Running'))
  expect(unsureMs(ID)).toBe(10_000)
})

test('a new host may be missing for as long as its provider says, however often it was looked for', () => {
  const { clock, sightings, unsureMs } = world(120_000)
  sightings.asked('u')
  unsureMs(ID)
  clock.skip(60_000)
  expect(unsureMs(ID)).toBe(60_000)
  expect(unsureMs()).toBe(60_000)
  clock.skip(60_000)
  expect(unsureMs(ID)).toBe(0)
})

test('a machine that never had a host needs no second look', () => {
  expect(world().unsureMs()).toBe(0)
})
