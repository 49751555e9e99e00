import { expect, test } from 'vitest'
import type { LedgerSpec } from '#api/kinds/defender-ledger.ts'
import { aMachine, aPermit, aPolicy, aSnapshot, START_MS } from '#test/support/fleets/defender-objects.ts'
import { decide } from '../plan.ts'
import type { Snapshot } from '../snapshot.ts'
import { suspicions } from './suspicion.ts'

const machines = Array.from({ length: 100 }, (_, i) =>
  aMachine({ name: `m-${i}`, runs: { beacon: i < 16 ? '1.1.0' : '1.0.0', scribe: '1.0.0' } }),
)
const { fleet } = aSnapshot({ machines })
/** Five of the sixteen with the new version fail. */
const found = suspicions(fleet.units, (u) => ['m-0', 'm-1', 'm-2', 'm-3', 'm-4'].includes(u.name))
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
