// The notice watch against a metadata service over HTTP, with a test clock.
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { loggerTo } from '#lib/log.ts'
import { seededRandom } from '#lib/random.ts'
import type { NoticeCloud } from '#providers/cloud/metadata.ts'
import { type FakeMetadata, serveMetadata } from '#test/doubles/clouds/fake-metadata.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { NoticeWatch } from './notice-watch.ts'

const SPOT = 'latest/meta-data/spot/instance-action'
const REBALANCE = 'latest/meta-data/events/recommendations/rebalance'
const SCHEDULED = 'latest/meta-data/events/maintenance/scheduled'

let fake: FakeMetadata
let watch: NoticeWatch
let clock: VirtualClock
let changes: number

async function begin(cloud: NoticeCloud, deadlineMs = 60_000): Promise<void> {
  fake = await serveMetadata(cloud)
  clock = new VirtualClock()
  changes = 0
  watch = new NoticeWatch({
    clock,
    random: seededRandom(1),
    log: loggerTo(() => undefined),
    origins: { [cloud]: fake.url },
    onChange: () => changes++,
    deadlineMs,
  })
}

/** A busy machine may not answer within the short deadline that the silence test needs, so only that test uses it. */
async function restart(deadlineMs: number): Promise<void> {
  await watch.close()
  await fake.close()
  await begin('AWS', deadlineMs)
}

/** Waits until the watch sleeps again: real requests take real time, during which the test clock does not move. */
const quiet = () => vi.waitFor(() => expect(clock.nextTimerAt()).toBeDefined(), { timeout: 120_000, interval: 5 })

/** Waits with the test clock running ahead of the real one. */
async function eventually(isSo: () => boolean): Promise<void> {
  await vi.waitFor(
    async () => {
      await clock.advance(6_000)
      expect(isSo()).toBe(true)
    },
    { timeout: 120_000, interval: 50 },
  )
}

async function reads(n: number): Promise<void> {
  for (let i = 0; i < n; i++) {
    await clock.advance(6_000)
    await quiet()
  }
}

afterEach(async () => {
  await watch.close()
  await fake.close()
})

describe('AWS', () => {
  beforeEach(() => begin('AWS'))

  test('a spot notice, a recommendation and planned maintenance are reported in our words', async () => {
    fake.pages.set(SPOT, '{"action": "terminate", "time": "2026-03-03T08:22:00Z"}')
    fake.pages.set(REBALANCE, '{"noticeTime": "2026-03-03T08:16:00Z"}')
    fake.pages.set(
      SCHEDULED,
      JSON.stringify([
        {
          NotBefore: '21 Mar 2026 09:00:43 GMT',
          NotAfter: '21 Mar 2026 09:17:23 GMT',
          Code: 'system-reboot',
          Description: 'scheduled reboot',
          EventId: 'instance-event-0d59937288b749b32',
          State: 'active',
        },
      ]),
    )
    watch.obey('AWS')
    await quiet()
    expect(watch.report).toEqual({
      from: 'AWS',
      items: [
        {
          id: 'instance-event-0d59937288b749b32',
          kind: 'Reboot',
          state: 'Scheduled',
          notBefore: '2026-03-21T09:00:43Z',
          notAfter: '2026-03-21T09:17:23Z',
          description: 'system-reboot: scheduled reboot',
        },
        {
          id: 'rebalance-2026-03-03T08:16:00Z',
          kind: 'Notice',
          state: 'Scheduled',
          description: 'the spot host is at a higher risk of interruption',
        },
        {
          id: 'spot-2026-03-03T08:22:00Z',
          kind: 'Reclaim',
          state: 'Scheduled',
          dataLoss: true,
          notBefore: '2026-03-03T08:22:00Z',
          description: 'the spot host is interrupted: terminate',
        },
      ],
    })
    expect([changes, fake.sessions()]).toEqual([1, 1])
  })

  test('without notices the report is empty, and the spot page is read every five seconds in one session', async () => {
    watch.obey('AWS')
    await quiet()
    expect(watch.report).toEqual({ from: 'AWS', items: [] })
    await reads(5)
    const of = (page: string) => fake.asked.filter((p) => p === `/${page}`).length
    expect(of(SPOT)).toBe(6)
    expect(of(SCHEDULED)).toBe(1)
    expect(fake.sessions()).toBe(1)
  })

  test('a notice that one read lacks stays, and one that two reads lack goes', async () => {
    fake.pages.set(SPOT, '{"action": "stop", "time": "2026-03-03T08:22:00Z"}')
    watch.obey('AWS')
    await quiet()
    fake.pages.delete(SPOT)
    await reads(1)
    expect(watch.report?.items).toHaveLength(1)
    await reads(1)
    expect(watch.report?.items).toEqual([])
  })

  test.each(['Hang', 'Huge', 'Redirect', 'Nonsense', 'Error'] as const)(
    'answers that are no notices (%s) leave what was read before, and are reported',
    async (fault) => {
      if (fault === 'Hang') await restart(500)
      fake.pages.set(SPOT, '{"action": "terminate", "time": "2026-03-03T08:22:00Z"}')
      watch.obey('AWS')
      await eventually(() => watch.report !== undefined)
      const before = watch.report
      fake.fault = fault
      await eventually(() => watch.report?.problem !== undefined)
      expect(watch.report).toEqual({ ...before, problem: watch.report?.problem })
      fake.fault = 'None'
      await eventually(() => watch.report?.problem === undefined)
      expect(watch.report).toEqual(before)
    },
    180_000,
  )

  test('a service that never answered well reports nothing: unknown is not "no notices"', async () => {
    fake.fault = 'Error'
    watch.obey('AWS')
    await quiet()
    expect(watch.report).toBeUndefined()
  })

  test('a session that the service forgot is asked for again', async () => {
    watch.obey('AWS')
    await quiet()
    fake.forget()
    await eventually(() => fake.sessions() === 2)
    await quiet()
    expect(watch.report).toEqual({ from: 'AWS', items: [] })
  })

  test('a Machine that no longer says so ends the questions and the report', async () => {
    watch.obey('AWS')
    await quiet()
    watch.obey(undefined)
    const asked = fake.asked.length
    await clock.advance(600_000)
    expect([fake.asked.length, watch.report]).toEqual([asked, undefined])
  })
})

describe('Alibaba Cloud', () => {
  beforeEach(() => begin('Alicloud'))

  test('the end of a spot host is a text, and events of its hardware are a list', async () => {
    fake.pages.set('latest/meta-data/instance/spot/termination-time', '2026-03-03T08:22:00Z\n')
    fake.pages.set(
      'latest/maintenance/active-system-events',
      JSON.stringify([
        {
          EventId: 'e-1',
          EventType: 'SystemMaintenance.Redeploy',
          EventCycleStatus: 'Scheduled',
          NotBefore: '2026-03-05T00:00:00Z',
        },
        { EventId: 'e-2', EventType: { Name: 'SystemFailure.Reboot' }, EventCycleStatus: { Name: 'Executing' } },
        { EventId: 'e-3', EventType: 'InstanceExpiration.Stop', EventCycleStatus: 'Scheduled' },
      ]),
    )
    watch.obey('Alicloud')
    await quiet()
    expect(watch.report?.items).toMatchObject([
      { id: 'e-1', kind: 'Redeploy', state: 'Scheduled', dataLoss: true, notBefore: '2026-03-05T00:00:00Z' },
      { id: 'e-2', kind: 'Reboot', state: 'Executing', unplanned: true },
      { id: 'e-3', kind: 'Stop', state: 'Scheduled', bill: true },
      { id: 'spot-2026-03-03T08:22:00Z', kind: 'Reclaim', notBefore: '2026-03-03T08:22:00Z' },
    ])
  })
})
