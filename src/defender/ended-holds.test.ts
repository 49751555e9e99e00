import { expect, test } from 'vitest'
import { operationalHold, type OperationalHold } from '#api/kinds/operational-hold.ts'
import type { NewEvent } from '#kube/events.ts'
import { timestamp } from '#lib/clock.ts'
import { silentLogger } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import { createInformers } from '#runtime/informers.ts'
import { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { aHold, START_MS } from '#test/support/fleets/defender-objects.ts'
import { EndedHolds, EVERY_MS, KEEP_ENDED_MS, stepFor } from './ended-holds.ts'

const HOUR = 3_600_000
const hold = (until: string, more: Partial<OperationalHold> = {}) => ({
  ...aHold('Freeze', { kind: 'Machine', name: 'm-0' }, until),
  ...more,
})
const ended = (ms: number, more: Partial<OperationalHold> = {}) => hold(timestamp(START_MS - ms), more)
const REPORTED = { status: { active: 'Ended' as const } }
const going = { metadata: { name: 'h', deletionTimestamp: timestamp(START_MS) } }

test.each<[string, OperationalHold, { wall?: number; server?: number }, ReturnType<typeof stepFor>]>([
  ['that is in force', ended(-1_000), {}, undefined],
  ['that just ended', ended(0), {}, 'Report'],
  ['that ended long ago and was never reported', ended(KEEP_ENDED_MS), {}, 'Report'],
  ['that was reported', ended(HOUR, REPORTED), {}, undefined],
  ['that ended a day ago', ended(KEEP_ENDED_MS, REPORTED), {}, 'Delete'],
  ['whose end was moved', ended(-HOUR, REPORTED), {}, 'Renew'],
  ['whose end cannot be read', hold('tomorrow', REPORTED), {}, undefined],
  ['that is being deleted', ended(KEEP_ENDED_MS, { ...REPORTED, ...going }), {}, undefined],
  [
    'that only our clock calls old',
    ended(-HOUR, REPORTED),
    { wall: START_MS + 2 * KEEP_ENDED_MS, server: START_MS },
    undefined,
  ],
])('a hold %s', (_, of, { wall = START_MS, server }, step) => expect(stepFor(of, { wall, server })).toBe(step))

test('a hold that expires says so in its status and an event, and is deleted a day later; others stay', async () => {
  const clock = new VirtualClock()
  const random = seededRandom(7)
  const kube = new FakeKube({ clock, random, kinds: [{ type: operationalHold, status: true }] })
  const until = (ms: number): string => timestamp(clock.now() + ms)
  const plant = (name: string, end: string): void =>
    void kube.plant(operationalHold, { ...hold(end), metadata: { name } })
  plant('short', until(HOUR))
  plant('long', until(30 * 24 * HOUR))
  plant('broken', 'tomorrow')
  const client = kube.client({ actor: 'defender' })
  const informers = createInformers({ client, clock, random, log: silentLogger, startSpreadMs: 0 })
  const caches = { holds: informers.of(operationalHold) }
  const told: Pick<NewEvent, 'reason' | 'note'>[] = []
  const events = {
    record: (_: unknown, { reason, note }: NewEvent) => void told.push({ reason, note }),
    flush: () => Promise.resolve(),
  }
  const part = new EndedHolds({ client, caches, clock, log: silentLogger, events })
  informers.start()
  await clock.advance(1_000)
  part.start()
  const end = kube.peek(operationalHold, { name: 'short' })?.['spec'] as OperationalHold['spec']
  await clock.advance(HOUR - 10 * EVERY_MS)
  expect(told).toEqual([])
  await clock.advance(20 * EVERY_MS)
  expect(kube.peek(operationalHold, { name: 'short' })?.['status']).toMatchObject({ active: 'Ended' })
  await clock.advance(KEEP_ENDED_MS)
  expect(told).toEqual([
    { reason: 'HoldExpired', note: `Freeze on Machine m-0 by ada (a test) expired at ${end.until}` },
    {
      reason: 'HoldDeleted',
      note: `Freeze on Machine m-0 by ada (a test) expired at ${end.until}; the Defender deleted it a day later`,
    },
  ])
  expect(kube.all(operationalHold).map((h) => h.metadata.name)).toEqual(['broken', 'long'])
  const left = kube.all(operationalHold).map((h) => h['status'])
  expect(left).toEqual([undefined, undefined])
  await part.stop()
})
