import { describe, expect, test } from 'vitest'
import type { MaintenanceEvent } from '#api/kinds/maintenance-event.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { timestamp } from '#lib/clock.ts'
import { type MachineWish, START_MS, aMachine, aPermit, uidOf } from '#test/support/fleets/defender-objects.ts'
import { fleetView } from '../fleet.ts'
import type { Grant } from '../ledger.ts'
import { type TroublesSeen, troublesOf } from './troubles.ts'

const found = (wish: Partial<MachineWish>, more: Partial<TroublesSeen> = {}) =>
  troublesOf({
    permits: () => [],
    grants: [],
    fleet: fleetView({ machines: [aMachine({ name: 'm-0', ...wish })], nodes: [], clusters: [] }),
    wall: START_MS,
    maintenance: [],
    ...more,
  }).map((t) => `${t.unit.name} ${t.family}`)

const SILENT = { reachable: 'Unknown' } as const
const DOWN = { ready: 'False' } as const

const rollout = (endedAgoMs: number): OperationPermit =>
  aPermit({
    name: 'roll',
    targets: ['m-0'],
    requester: { manager: 'kubenode-componentset', kind: 'MachineComponentSet', name: 'base' },
    status: { phase: 'Released', endedAt: timestamp(START_MS - endedAgoMs) },
  })
const repair = aPermit({
  name: 'repair',
  targets: ['m-0'],
  requester: { manager: 'kubenode-remedyjob', kind: 'RemedyOperationJob', name: 'job' },
})
const event = (unplanned: boolean, phase?: string): MaintenanceEvent =>
  ({
    metadata: { name: 'e' },
    spec: { machine: 'm-0', source: 'cloud', kind: 'Reboot', state: 'Executing', unplanned },
    ...(phase && { status: { phase } }),
  }) as unknown as MaintenanceEvent

describe('what may be the doing of a place', () => {
  test.each<[string, readonly string[], readonly string[]]>([
    ['nothing of a machine that is well', found({}), []],
    ['silence', found(SILENT), ['m-0 Silent']],
    ['a machine that is down', found(DOWN), ['m-0 Down']],
    ['a repair that is asked for', found({}, { permits: () => [repair] }), ['m-0 Repair']],
    ['a host that failed without notice', found({}, { maintenance: [event(true)] }), ['m-0 HostEvent']],
  ])('is %s', (_, seen, expected) => {
    expect(seen).toEqual(expected)
  })
})

describe('what has a cause of its own and is left out', () => {
  test.each<[string, readonly string[]]>([
    ['work under a grant', found(DOWN, { grants: [{ target: uidOf('m-0'), permitUid: 'p' } as unknown as Grant] })],
    [
      'silence under a grant',
      found(SILENT, { grants: [{ target: uidOf('m-0'), permitUid: 'p' } as unknown as Grant] }),
    ],
    ['a version that was switched to ten minutes ago', found(DOWN, { permits: () => [rollout(600_000)] })],
    ['work on the host that was announced', found(SILENT, { maintenance: [event(false, 'InProgress')] })],
    ['a machine that is being deleted', found({ ...DOWN, deletionTimestamp: timestamp(START_MS) })],
    ['a host event that is over', found({}, { maintenance: [event(true, 'Done')] })],
  ])('%s', (_, seen) => {
    expect(seen).toEqual([])
  })

  test('but not a switch of an hour ago, or work that is weeks away', () => {
    expect(found(DOWN, { permits: () => [rollout(3_600_000)] })).toEqual(['m-0 Down'])
    expect(found(SILENT, { maintenance: [event(false)] })).toEqual(['m-0 Silent'])
  })
})
