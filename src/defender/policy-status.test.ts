import { expect, test } from 'vitest'
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { START_MS, machines } from '#test/support/fleets/defender-objects.ts'
import { compilePolicy } from './compile-policy.ts'
import { fleetView } from './fleet.ts'
import { policyStatus } from './policy-status.ts'
import { defined } from '#lib/defined.ts'

const policy = (spec: Partial<DefenderPolicy['spec']>, status?: DefenderPolicy['status']): DefenderPolicy => ({
  apiVersion: API_GROUP_VERSION,
  kind: 'DefenderPolicy',
  metadata: { name: 'p', generation: 2 },
  spec: { mode: 'Enforce', ...spec },
  ...defined({ status }),
})
const fleet = fleetView({ machines: machines(3), nodes: [], clusters: [] })
const NONE = { granted: 0, waiting: 0, denied: 0 }
const statusOf = (p: DefenderPolicy, decisions = NONE, sinceMs = 1_000) =>
  policyStatus({ policy: p, compiled: compilePolicy(p), ledger: undefined, fleet, now: START_MS, decisions, sinceMs })
const said = (p: DefenderPolicy) => statusOf(p)?.conditions?.map((c) => `${c.type} ${c.status}`)

const BROKEN = { selector: { matchExpressions: [{ key: '!', operator: 'In', values: ['x'] }] } } as const

test.each([
  [
    'a policy that is understood is enforced',
    {},
    ['Ready True', 'Stalled False', 'Enforced True', 'BreakerOpen False'],
  ],
  [
    'one in audit mode is not',
    { mode: 'Audit' },
    ['Ready True', 'Stalled False', 'Enforced False', 'BreakerOpen False'],
  ],
  [
    'one that is not understood is stalled',
    BROKEN,
    ['Ready False', 'Stalled True', 'Enforced False', 'BreakerOpen False'],
  ],
] as const)('%s', (_, spec, conditions) => {
  expect(said(policy(spec))).toEqual(conditions)
})

test('it is written once, and not again when the fleet grows', () => {
  const status = statusOf(policy({}))
  expect(status?.targets).toBe(3)
  expect(statusOf(policy({}, status))).toBeUndefined()
})

test('counts of decisions are written now and then, and never for themselves', () => {
  const status = statusOf(policy({}))
  const counts = { granted: 3, waiting: 1, denied: 0 }
  expect(statusOf(policy({}, status), counts)).toBeUndefined()
  expect(statusOf(policy({}, status), counts, 60_000)?.decisions).toEqual(counts)
  expect(statusOf(policy({}, status), NONE, 1e9)).toBeUndefined()
  const counted = policy({}, { ...status, decisions: counts })
  expect(statusOf(counted, NONE, 60_000)).toBeUndefined()
  expect(statusOf(counted, NONE, 3_600_000)?.decisions).toEqual(NONE)
})
