import { describe, expect, test } from 'vitest'
import type { MaintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { type MaintenancePhase, maintenanceTable } from '#api/protocol/maintenance.ts'
import { bookedFrom, isOver, maintenanceText, standsOff } from './maintenance.ts'

const NOT_BEFORE = '2026-03-02T12:00:00Z'
const HOUR = 3_600_000

const event = (spec: object = {}, status?: object): MaintenanceEvent =>
  ({
    metadata: { name: 'reboot-1' },
    spec: { machine: 'm-1', source: 'cloud', kind: 'Reboot', unplanned: false, notBefore: NOT_BEFORE, ...spec },
    ...(status && { status }),
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
