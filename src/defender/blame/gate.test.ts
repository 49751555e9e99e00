import { expect, test } from 'vitest'
import type { LedgerSpec } from '#api/kinds/defender-ledger.ts'
import { aMachine, aPermit, aPolicy, aSnapshot, START_MS } from '#test/support/fleets/defender-objects.ts'
import { fleetView } from '../fleet.ts'
import { decide } from '../plan.ts'
import type { Snapshot } from '../snapshot.ts'
import { suspicions } from './suspicion.ts'

const machines = Array.from({ length: 100 }, (_, i) =>
  aMachine({ name: `m-${i}`, runs: { beacon: i < 16 ? '1.1.0' : '1.0.0', scribe: '1.0.0' } }),
)
const fleet = fleetView({ machines, nodes: [], clusters: [] })
/** Five of the sixteen machines with the new version fail. */
const failing = fleet.units.filter((u) => ['m-0', 'm-1', 'm-2', 'm-3', 'm-4'].includes(u.name))
const found = suspicions(fleet.cohorts, failing)
const open = [aPolicy({ budgets: [{ max: 100, of: 'concurrent', per: 'cluster' }] })]
const repairer = { manager: 'kubenode-remedyjob', kind: 'RemedyOperationJob', name: 'job' }
const roller = { manager: 'kubenode-componentset', kind: 'MachineComponentSet', name: 'base' }

const repair = (target: string) => aPermit({ name: `repair-${target}`, targets: [target], requester: repairer })
const roll = (version: string, recovery = false) =>
  aPermit({
    name: `roll-${version}`,
    targets: ['m-50'],
    operations: ['SwitchComponent'],
    component: { name: 'beacon', version },
    requester: roller,
    recovery,
  })

function verdict(permit: ReturnType<typeof aPermit>, wish: Partial<Snapshot> = {}, ledger?: LedgerSpec) {
  const { fleet: _fleet, ...rest } = wish
  const snapshot = aSnapshot({ machines, permits: [permit], policies: open, suspicions: found, ...rest })
  const decision = decide(snapshot, ledger, { now: START_MS, leader: 'a' })
  return { ...decision.permits[0]?.targets[0]?.verdict, ledger: decision.ledger }
}

test('a repair of a machine of the cohort waits, and says what was seen and what ends it', () => {
  expect(verdict(repair('m-0'))).toMatchObject({
    verdict: 'Waiting',
    gate: 'Blame',
    reason: 'CohortBlamed',
    seen: 'beacon 1.1.0: 5 of 16 fail, 0 of 84 elsewhere',
    limit: 'until a commit reverts beacon, or a hold permits a retry',
  })
})

test.each([
  ['a repair of another machine', repair('m-60')],
  ['another version of the component', roll('1.2.0')],
])('%s is granted', (_, permit) => {
  expect(verdict(permit).verdict).toBe('Granted')
})

test('the change goes no further', () => {
  expect(verdict(roll('1.1.0'))).toMatchObject({ verdict: 'Waiting', gate: 'Blame' })
})

test('going back to the last healthy revision is granted, blamed or not', () => {
  expect(verdict(roll('1.1.0', true), { isRecovery: () => true }).verdict).toBe('Granted')
})

test('what is blamed is in the ledger, so that a restart or another leader does not forget it', () => {
  const { ledger } = verdict(repair('m-0'))
  expect(ledger?.blames).toMatchObject([
    { kind: 'Component', component: 'beacon', value: '1.1.0', failing: 5, members: 16 },
  ])
  expect(verdict(roll('1.1.0'), { suspicions: [] }, ledger)).toMatchObject({ verdict: 'Waiting', gate: 'Blame' })
})

const ILL = [
  {
    cohort: { kind: 'Rack', value: 'r9' },
    failing: 4,
    members: 10,
    failingElsewhere: 0,
    elsewhere: 90,
    machines: ['m-60', 'm-61', 'm-62', 'm-63'],
  },
] as const
const inRack = Array.from({ length: 100 }, (_, i) =>
  aMachine({ name: `m-${i}`, runs: { beacon: '1.0.0' }, rack: i >= 60 && i < 70 ? 'r9' : 'r1' }),
)
const rollTo = (target: string) => ({
  ...roll('1.2.0'),
  spec: { ...roll('1.2.0').spec, targets: repair(target).spec.targets },
})
const inIllPlace = (permit: ReturnType<typeof aPermit>, wish: Partial<Snapshot> = {}) => {
  const snapshot = aSnapshot({ machines: inRack, permits: [permit], policies: open, suspicions: ILL, ...wish })
  return decide(snapshot, undefined, { now: START_MS, leader: 'a' }).permits[0]?.targets[0]?.verdict
}

test.each([
  ['a single repair', repair('m-60'), 'until failures in this rack stop'],
  ['a rollout', rollTo('m-65'), 'until failures in this rack stop, or a hold permits a retry'],
])('%s in a place that is ill waits, and names the place and its machines', (_, permit, limit) => {
  expect(inIllPlace(permit)).toMatchObject({
    verdict: 'Waiting',
    gate: 'Blame',
    seen: 'rack r9: 4 of 10 fail, 0 of 90 elsewhere (m-60, m-61, m-62, …)',
    limit,
  })
})

test('elsewhere work goes on, and in the place what goes back and what a user tries again', () => {
  expect(inIllPlace(rollTo('m-10'))?.verdict).toBe('Granted')
  expect(inIllPlace(repair('m-10'))?.verdict).toBe('Granted')
  expect(
    inIllPlace({ ...rollTo('m-65'), spec: { ...rollTo('m-65').spec, recovery: true } }, { isRecovery: () => true })
      ?.verdict,
  ).toBe('Granted')
  expect(inIllPlace(rollTo('m-65'), { retried: new Set(['beacon']) })?.verdict).toBe('Granted')
  const drain = { manager: 'kubenode-hostdoctor', kind: 'MaintenanceEvent', name: 'e' }
  expect(inIllPlace(aPermit({ name: 'e', targets: ['m-65'], requester: drain }))?.verdict).toBe('Granted')
  expect(inIllPlace(repair('m-60'), { retried: new Set(['beacon']) })?.verdict).toBe('Waiting')
})
