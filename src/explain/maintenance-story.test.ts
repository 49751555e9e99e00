import { expect, test } from 'vitest'
import { type MaintenanceEvent, maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { maintenanceStory, shownMaintenance } from './maintenance-story.ts'
import { whyLines } from './why.ts'
import { defined } from '#lib/defined.ts'

const NOW = Date.parse('2026-02-01T03:00:00Z')
const MACHINE = 'm-1'

const event = (name: string, spec: object = {}, status?: object): MaintenanceEvent =>
  ({
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'MaintenanceEvent',
    metadata: { name },
    spec: {
      ...maintenanceEvent.example.spec,
      machine: MACHINE,
      source: 'People',
      kind: 'Stop',
      state: 'Scheduled',
      description: 'a new disk',
      ...spec,
    },
    ...defined({ status }),
  }) as unknown as MaintenanceEvent

const wait = (predicate: string, seen: string, unblock: string) => ({
  waitingFor: { predicate, seen, unblock, since: '2026-02-01T02:58:00Z' },
})

const machine = { kind: 'Machine', metadata: { name: MACHINE }, status: { phase: 'Ready' } } as unknown as KubeObject
const why = (...events: readonly MaintenanceEvent[]) =>
  whyLines(machine, NOW, {
    related: shownMaintenance(events, MACHINE, NOW).map((object) => ({ label: 'Work on its host:', object })),
  }).slice(2)

test('work that people planned says its reason, its times, what it waits for, and how to call it off', () => {
  const planned = event(
    'people-1',
    {},
    {
      phase: 'Announced',
      ...wait('MaintenancePlanned', 'the preparation starts at 2026-02-01T03:10:00Z', 'that time comes'),
    },
  )
  expect(why(planned)).toEqual([
    'Work on its host: maintenanceevent/people-1 (Announced)',
    '  Stop by People, from Sun 1 Feb 02:00 UTC until Sun 1 Feb 04:00 UTC: a new disk',
    '  to call it off: kubenode maintenance cancel people-1',
    '  Waiting for 2m: MaintenancePlanned',
    '    observed: the preparation starts on Sun 1 Feb at 03:10 UTC',
    '    unblocks when: that time comes',
  ])
})

test('work under way says that repairs stand off and the command that ends it, and no longer how to call it off', () => {
  const underWay = event(
    'people-1',
    {},
    {
      phase: 'InProgress',
      drainedAt: '2026-02-01T01:30:00Z',
      message: 'the host is being worked on; repairs stand off',
      ...wait(
        'MaintenanceUnderWay',
        'ada works on the host',
        'the work is over; then run kubenode maintenance done people-1',
      ),
    },
  )
  expect(why(underWay).slice(2)).toEqual([
    '  the node was drained on Sun 1 Feb at 01:30 UTC',
    '  repairs of the node stand off until it is over',
    '  Waiting for 2m: MaintenanceUnderWay',
    '    observed: ada works on the host',
    '    unblocks when: the work is over; then run kubenode maintenance done people-1',
  ])
})

test.each([
  ['its latest start', {}, 'to begin between 2026-02-01T02:00:00Z and 2026-02-01T04:00:00Z'],
  ['no latest start', { notAfter: undefined }, 'not before 2026-02-01T02:00:00Z'],
  ['no time', { notBefore: undefined, notAfter: undefined }, 'at a time that its source does not name'],
])('an event of a provider with %s is for its provider to end', (_, times, said) => {
  const ofCloud = event('reboot-1', { source: 'metal', kind: 'Reboot', ...times }, { phase: 'Preparing' })
  expect(maintenanceStory(ofCloud)).toEqual([
    `Reboot by metal, ${said}: a new disk`,
    'repairs of the node stand off until it is over',
  ])
})

test('who planned, approved and called it off are named', () => {
  const approved = event(
    'people-1',
    { plannedBy: 'ada@example.org', endedBy: 'bob@example.org', state: 'Cancelled' },
    { phase: 'Prepared', approvedBy: ['cyd', 'dan'] },
  )
  const story = maintenanceStory(approved)
  expect(story[0]).toMatch(/^Stop by ada@example\.org, from /)
  expect(story).toContain('approved by cyd, dan')
  expect(story).toContain('called off by bob@example.org')
  expect(maintenanceStory({ ...approved, spec: { ...approved.spec, state: 'Executed' } })).toContain(
    'ended by bob@example.org',
  )
})

test('a loss of data, a missed drain, a bill and a notice for people are named', () => {
  const missed = event(
    'm',
    { source: 'metal', dataLoss: true },
    { phase: 'InProgress', missedAt: '2026-02-01T02:00:00Z' },
  )
  expect(maintenanceStory(missed).slice(1, 3)).toEqual([
    "it destroys the data on the host's own disks",
    'it began before the node was drained, at 2026-02-01T02:00:00Z',
  ])
  const bill = event('b', { source: 'metal', bill: true })
  expect(maintenanceStory(bill)[1]).toBe(
    'what was paid for ends: pay the bill at the provider, or renew the host; nothing is done before 2026-01-31T02:00:00Z',
  )
  const notice = event('n', { source: 'metal', kind: 'Notice' })
  expect(maintenanceStory(notice).slice(1)).toEqual(['a notice for people: nothing is done'])
})

test('open work is shown in the order of its times, with what failed within a day; other machines and what is over are left out', () => {
  const failed = (name: string, endedAt: string) => event(name, {}, { phase: 'Failed', endedAt, message: 'not well' })
  const events = [
    event('later', { notBefore: '2026-02-01T03:30:00Z' }),
    event('sooner'),
    event('other', { machine: 'm-2' }),
    event('done', {}, { phase: 'Done', endedAt: '2026-02-01T02:00:00Z' }),
    failed('lately', '2026-01-31T12:00:00Z'),
    failed('long-ago', '2026-01-30T12:00:00Z'),
  ]
  expect(shownMaintenance(events, MACHINE, NOW).map((e) => e.metadata.name)).toEqual(['sooner', 'lately', 'later'])
  expect(why(...events)).toContain('  not well')
})
