// What is left of budgets, rates and health floors, as the page shows it.
import { expect, test } from 'vitest'
import type { DefenderLedger } from '#api/kinds/defender-ledger.ts'
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import { BUILTIN_POLICY_NAME } from '#defender/builtin-policy.ts'
import type { Unit } from '#defender/unit.ts'
import { decidingPolicies, limitsOf } from './limits.ts'

const NOW = Date.parse('2026-01-31T12:00:00Z')
const HOUR = 3_600_000

const unit = (n: number, more: Partial<Unit> = {}): Unit => ({
  id: `uid-${n}`,
  space: 'machines',
  name: `n-${n}`,
  labels: {},
  zone: n % 2 === 0 ? 'zone-a' : 'zone-b',
  rack: '',
  pool: '',
  stage: '',
  region: '',
  health: 'Healthy',
  why: '',
  isSilent: false,
  isCutOff: false,
  badComponents: new Set(),
  source: { apiVersion: '', kind: 'Machine', metadata: {} },
  ...more,
})

const TEN = Array.from({ length: 10 }, (_, n) => unit(n))

const policy = (spec: Partial<DefenderPolicy['spec']>, name = 'production') =>
  ({ metadata: { name }, spec: { mode: 'Enforce', ...spec } }) as unknown as DefenderPolicy

const ledger = (spec: Partial<DefenderLedger['spec']>) =>
  ({ metadata: { name: 'cluster' }, spec: { sequence: 1, ...spec } }) as unknown as DefenderLedger

const grant = (n: number) => ({
  permit: `p-${n}`,
  permitUid: `permit-${n}`,
  target: `uid-${n}`,
  kind: 'Machine',
  name: `n-${n}`,
  operations: ['SwitchComponent'],
  grantedAt: '2026-01-31T11:59:00Z',
})

const limits = (spec: Partial<DefenderPolicy['spec']>, of: Partial<DefenderLedger['spec']> = {}, units = TEN) =>
  limitsOf({
    policies: [policy(spec)],
    ledger: ledger(of),
    units,
    find: ({ uid }) => {
      const unit = units.find((u) => u.id === uid)
      return unit === undefined ? { kind: 'Absent' } : { kind: 'Found', unit }
    },
    now: NOW,
  })

test('without an enforced policy the built-in one decides too', () => {
  const names = (policies: readonly DefenderPolicy[]) => decidingPolicies(policies).map((p) => p.name)
  expect(names([])).toEqual([BUILTIN_POLICY_NAME])
  expect(names([policy({ mode: 'Audit' }, 'trial')])).toEqual([BUILTIN_POLICY_NAME, 'trial'])
  expect(names([policy({}), policy({ mode: 'Audit' }, 'trial')])).toEqual(['production', 'trial'])
  expect(names([policy({ operations: ['Drain'] })])).toEqual([BUILTIN_POLICY_NAME, 'production'])
  expect(names([policy({ selector: { matchLabels: { pool: 'a' } } })])).toEqual([BUILTIN_POLICY_NAME, 'production'])
})

test('a budget of the cluster counts the grants in flight, and a share is of all machines', () =>
  expect(
    limits({ budgets: [{ max: '30%', of: 'concurrent', per: 'cluster' }] }, { grants: [grant(0), grant(1)] as never }),
  ).toEqual([
    {
      what: 'Budget',
      policy: 'production',
      mode: 'Enforce',
      per: 'cluster',
      domain: '',
      of: 'concurrent',
      limit: 3,
      used: 2,
      declared: '30%',
    },
  ]))

test('a budget per zone has one line for each zone, with what that zone uses', () =>
  expect(
    limits({ budgets: [{ max: 2, of: 'concurrent', per: 'zone' }] }, { grants: [grant(0), grant(2)] as never }).map(
      ({ domain, limit, used }) => [domain, limit, used],
    ),
  ).toEqual([
    ['zone-a', 2, 2],
    ['zone-b', 2, 0],
  ]))

test('machines that do not work count as unavailable without any grant', () => {
  const units = [unit(0, { health: 'Unavailable' }), ...TEN.slice(1)]
  const [budget] = limits({ budgets: [{ max: 2, of: 'unavailable', per: 'cluster' }] }, {}, units)
  expect([budget?.limit, budget?.used]).toEqual([2, 1])
})

test('a full rate says when one more fits; one with room does not', () => {
  const rates = [{ window: '1h' as const, max: 2, per: 'cluster' as const }]
  const slot = Math.floor(NOW / (HOUR / 20))
  const bucket = { policy: 'production/1h.cluster', domain: '', slot, window: '1h', per: 'cluster' }
  const asOf = '2026-01-31T12:00:00.000000Z'
  const [full] = limits({ rates }, { asOf, rates: [{ ...bucket, count: 2 }] as never })
  expect([full?.used, full?.limit]).toEqual([2, 2])
  // A slot counts until its last moment has left the window, and one slot longer.
  expect(full?.freesInMs).toBe((slot + 2) * (HOUR / 20) + HOUR - NOW)
  const [free] = limits({ rates }, { asOf, rates: [{ ...bucket, count: 1 }] as never })
  expect(free).not.toHaveProperty('freesInMs')
})

test('a rate that allows nothing never frees', () =>
  expect(limits({ rates: [{ window: '1m', max: 0, per: 'cluster' }] as never })[0]).not.toHaveProperty('freesInMs'))

test('of a health floor, what may still be lost is the limit', () => {
  const units = [unit(0, { health: 'Unavailable' }), ...TEN.slice(1)]
  expect(limits({ healthFloor: '80%' }, {}, units)[0]).toMatchObject({ what: 'HealthFloor', limit: 2, used: 1 })
})
