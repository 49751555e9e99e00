import { describe, expect, test } from 'vitest'
import type { MaintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { type MaintenancePhase, maintenanceTable } from '#api/protocol/maintenance.ts'
import { bookedFrom, isOver, isOverrun, maintenanceText, standsOff } from './maintenance.ts'
import { defined } from '#lib/defined.ts'

const NOT_BEFORE = '2026-03-02T12:00:00Z'
const HOUR = 3_600_000

const event = (spec: object = {}, status?: object): MaintenanceEvent =>
  ({
    metadata: { name: 'reboot-1' },
    spec: { machine: 'm-1', source: 'cloud', kind: 'Reboot', unplanned: false, notBefore: NOT_BEFORE, ...spec },
    ...defined({ status }),
  }) as unknown as MaintenanceEvent

describe('repairs of the machine', () => {
  const phases = (Object.keys(maintenanceTable.states) as MaintenancePhase[]).filter((phase) =>
    standsOff(event({}, { phase })),
  )

  test('stand off from the preparation to the end of the verification', () => {
    expect(phases).toEqual(['Preparing', 'Prepared', 'Missed', 'InProgress', 'Verifying'])
  })

  test.each([
    ['is only announced', {}, undefined, false],
    ['is only announced, and has a status', {}, { phase: 'Announced' }, false],
    ['happened without an announcement', { unplanned: true }, undefined, true],
    ['is a notice for people, also an unplanned one', { unplanned: true, kind: 'Notice' }, undefined, false],
    ['happened without an announcement, and is over', { unplanned: true }, { phase: 'Failed' }, false],
  ] as const)('of an event that %s', (_, spec, status, expected) => {
    expect(standsOff(event(spec, status))).toBe(expected)
  })
})

describe('work is overrun', () => {
  const DAY = 24 * HOUR
  const people = { source: 'People', notBefore: undefined }
  const since = (phase: string) => ({ phase, phaseSince: NOT_BEFORE })
  test.each([
    ['at the end that people planned', { ...people, notAfter: '2026-03-02T14:00:00Z' }, since('InProgress'), 2 * HOUR],
    ['before it begins, too', { ...people, notAfter: '2026-03-02T14:00:00Z' }, since('Preparing'), 2 * HOUR],
    [
      'after a month, whatever end people wrote',
      { ...people, notAfter: '9999-01-01T00:00:00Z' },
      since('InProgress'),
      31 * DAY,
    ],
    ['after a day, when people wrote no end', people, since('InProgress'), DAY],
    ['a day after a provider began', {}, since('InProgress'), DAY],
    ['a day after a provider should have begun', {}, { ...since('Prepared'), phaseSince: '2026-03-02T10:00:00Z' }, DAY],
    ['a day after its latest start', { notAfter: '2026-03-02T16:00:00Z' }, since('Prepared'), DAY + 4 * HOUR],
    ['a day after the node was drained, when it names no time', { notBefore: undefined }, since('Prepared'), DAY],
  ] as const)('%s', (_, spec, status, afterMs) => {
    const at = (ms: number) => isOverrun(event(spec, status), Date.parse(NOT_BEFORE) + ms)
    expect([at(afterMs), at(afterMs + 1_000)]).toEqual([false, true])
  })

  test.each(['Verifying', 'Done', 'Announced'])('never while a provider says Scheduled and it is %s', (phase) => {
    expect(isOverrun(event({}, since(phase)), Date.parse(NOT_BEFORE) + 400 * DAY)).toBe(false)
  })
})

describe('the budgets count the machine as away', () => {
  test.each([
    ['from the least lead before its time', event(), Date.parse(NOT_BEFORE) - 2 * HOUR],
    ['from its own lead before its time', event({}, { lead: '5h' }), Date.parse(NOT_BEFORE) - 5 * HOUR],
    ['never before two hours, however short the lead', event({}, { lead: '1m' }), Date.parse(NOT_BEFORE) - 2 * HOUR],
    ['at once when it happened without an announcement', event({ unplanned: true }), 0],
    ['at once when it is under way', event({}, { phase: 'InProgress' }), 0],
    ['not at all when its source names no time', event({ notBefore: undefined }), undefined],
    ['not at all for a notice', event({ kind: 'Notice' }), undefined],
    ['not at all when it is over', event({}, { phase: 'Done' }), undefined],
  ] as const)('%s', (_, of, from) => {
    expect(bookedFrom(of)).toBe(from)
  })
})

test('an event without a status is announced, and not over', () => {
  expect(isOver(event())).toBe(false)
  expect(maintenanceText(event())).toBe('maintenanceevent/reboot-1 (Reboot by cloud) is Announced')
})
