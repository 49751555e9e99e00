import { expect, test } from 'vitest'
import type { Machine } from '#api/kinds/machine.ts'
import { maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { announced, maintenanceProvider, noAnnouncements } from '#test/doubles/providers/maintenance-double.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { Polls } from './polls.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const machine = { metadata: { name: 'm-1' }, spec: { providerID: 'cloud://m-1' } } as Machine

function asked(isListing = true) {
  const clock = new VirtualClock()
  const fake = new FakeKube({ clock, random: seededRandom(1), kinds: [{ type: maintenanceEvent, status: true }] })
  const vendor = noAnnouncements()
  const cloud = maintenanceProvider({ clock, name: 'cloud' }, vendor)
  const maintenance = cloud.maintenance?.bind(cloud)
  const setListing = (is: boolean) => {
    if (is && maintenance !== undefined) cloud.maintenance = maintenance
    else delete cloud.maintenance
  }
  setListing(isListing)
  let isFresh = true
  const polls = new Polls({
    client: fake.client({ actor: 'doctor' }),
    clock,
    random: seededRandom(2),
    log: silentLogger,
    events: () => {
      if (!isFresh) throw new Error('the cache is stale')
      return fake.all(maintenanceEvent) as never
    },
    machineOf: () => machine,
    wake: () => undefined,
  })
  for (const part of polls.parts([cloud])) void part.start(new AbortController().signal)
  return {
    clock,
    vendor,
    setListing,
    polls,
    fake,
    events: () => fake.all(maintenanceEvent).length,
    setFresh: (is: boolean) => void (isFresh = is),
  }
}

const event = announced({ eventId: 'sudden', providerID: 'cloud://m-1', state: 'Executing', isUnplanned: true })

test('after an hour of stale caches a provider is asked within a minute, as if nothing had been', async () => {
  const { clock, vendor, events, setFresh } = asked()
  setFresh(false)
  await clock.advance(HOUR)
  setFresh(true)
  vendor.events.push(event)
  await clock.advance(MINUTE)
  expect(events()).toBe(1)
})

const MADE = 'reboot-1'
function written(fake: FakeKube, state: 'Scheduled' | 'Cancelled') {
  const { eventId, kind, notBefore = '' } = announced({ eventId: 'known', providerID: 'cloud://m-1' })
  const spec = {
    machine: 'm-1',
    host: { id: 'cloud://m-1' },
    source: 'cloud',
    eventId,
    kind,
    state,
    unplanned: false,
    dataLoss: false,
    notBefore,
    initialNotBefore: notBefore,
  }
  fake.plant(maintenanceEvent, {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'MaintenanceEvent',
    metadata: { name: MADE },
    spec,
  })
}

test('what was written before is confirmed by a list that has it, once the object says what the list says', async () => {
  const { clock, vendor, fake, polls } = asked()
  written(fake, 'Scheduled')
  vendor.events.push(announced({ eventId: 'known', providerID: 'cloud://m-1', state: 'Cancelled' }))
  vendor.failures = 1
  expect(polls.isConfirmed(MADE, 'cloud')).toBe(false)
  await clock.advance(1_000)
  expect(polls.isConfirmed(MADE, 'cloud')).toBe(false)
  await clock.advance(3 * MINUTE)
  expect([polls.isConfirmed(MADE, 'cloud'), fake.peek(maintenanceEvent, { name: MADE })?.spec]).toMatchObject([
    true,
    { state: 'Cancelled' },
  ])
})

test('of a source that does not answer the last word stands after three tries', async () => {
  const { clock, vendor, fake, polls } = asked()
  written(fake, 'Scheduled')
  vendor.failures = 100
  await clock.advance(MINUTE)
  expect(polls.isConfirmed(MADE, 'cloud')).toBe(false)
  await clock.advance(20 * MINUTE)
  expect(polls.isConfirmed(MADE, 'cloud')).toBe(true)
})

test('people, agents and providers that list nothing are not waited for', async () => {
  const { clock, fake, polls } = asked(false)
  written(fake, 'Scheduled')
  await clock.advance(1_000)
  expect(['people', 'metadata', 'cloud'].map((source) => polls.isConfirmed(MADE, source))).toEqual([true, true, true])
})

test('a provider that learns to list maintenance after the controllers began is asked from then on', async () => {
  const { clock, vendor, events, setListing } = asked(false)
  vendor.events.push(event)
  await clock.advance(10 * MINUTE)
  expect(events()).toBe(0)
  setListing(true)
  await clock.advance(2 * MINUTE)
  expect(events()).toBe(1)
})

test('a provider that refuses is asked less and less often', async () => {
  const { clock, vendor, events } = asked()
  vendor.failures = 6
  vendor.events.push(event)
  await clock.advance(20 * MINUTE)
  expect(events()).toBe(0)
  await clock.advance(40 * MINUTE)
  expect(events()).toBe(1)
})

test('lists count again at once after the clock was set back by an hour', async () => {
  const { clock, vendor, events } = asked()
  await clock.advance(10 * MINUTE)
  clock.jumpWall(-HOUR)
  vendor.events.push(event)
  await clock.advance(MINUTE)
  expect(events()).toBe(1)
})
