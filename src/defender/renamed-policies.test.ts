// A policy is declared again under another name: what it has permitted still counts.
import { describe, expect, test } from 'vitest'
import type { LedgerSpec } from '#api/kinds/defender-ledger.ts'
import { START_MS, aPermit, aPolicy, aSnapshot, machines } from '#test/support/fleets/defender-objects.ts'
import { BUILTIN_POLICY_NAME } from './builtin-policy.ts'
import { newBreaker } from './breaker.ts'
import type { CompiledPolicy } from './compile-policy.ts'
import { decide } from './plan.ts'

const SPEC = {
  rates: [{ window: '1h', max: 1, per: 'cluster' }],
  breaker: { failures: 1, of: 5, window: '1h', halfOpenAfter: '1h', widen: 3 },
} as const satisfies Parameters<typeof aPolicy>[0]

const ask = (target: string, policies: readonly CompiledPolicy[], before?: LedgerSpec) => {
  const permits = [aPermit({ name: target, targets: [target] })]
  const { permits: decided, ledger } = decide(aSnapshot({ machines: machines(20), permits, policies }), before, {
    now: START_MS,
    leader: 'd',
  })
  const verdict = decided[0]?.targets[0]?.verdict
  return { says: verdict?.verdict === 'Granted' ? 'Granted' : verdict?.reason, ledger: ledger ?? before }
}

const p = aPolicy(SPEC, 'p')
const q = aPolicy(SPEC, 'q')
const used = ask('m-0', [p])

describe('a policy that has permitted what it may', () => {
  test('permits no more under another name', () => {
    expect(used.says).toBe('Granted')
    expect(ask('m-1', [p], used.ledger).says).toBe('RateExceeded')
    expect(ask('m-1', [q], used.ledger).says).toBe('RateExceeded')
  })

  test('permits no more where both exist for a moment', () => {
    const both = ask('m-1', [p, q], used.ledger)
    expect([both.says, ask('m-2', [q], both.ledger).says]).toEqual(['RateExceeded', 'RateExceeded'])
  })

  test('permits no more after nothing was decided between its deletion and its new name', () => {
    const idle = decide(aSnapshot({ machines: machines(20), policies: [] }), used.ledger, {
      now: START_MS,
      leader: 'd',
    })
    expect(ask('m-1', [q], idle.ledger ?? used.ledger).says).toBe('RateExceeded')
  })

  test('says nothing about another one that selects other machines', () => {
    const other = aPolicy({ ...SPEC, selector: { matchLabels: { pool: 'other' } } }, 'other')
    const { ledger } = ask('m-1', [p, other], used.ledger)
    expect(ledger?.rates?.map((r) => r.policy)).toEqual(['p/1h.cluster'])
  })

  test('is forgotten when its grants have left their window', () => {
    const rates = used.ledger?.rates?.map((r) => ({ ...r, slot: r.slot - 40 })) ?? []
    expect(ask('m-1', [q], { ...used.ledger, sequence: 1, rates }).says).toBe('Granted')
  })
})

test('a new policy does not count what other clients deleted under the guard', () => {
  const deleted = used.ledger?.rates?.map((r) => ({ ...r, policy: 'guard/Node/1h.cluster', count: 300 })) ?? []
  expect(deleted).toHaveLength(1)
  const before: LedgerSpec = { sequence: 1, rates: deleted }
  expect(ask('m-1', [q], before).says).toBe('Granted')
  expect(ask('m-1', [], before).says).toBe('Granted')
})

test('a policy under another name leaves room in the ledger', () => {
  const racks = Array.from({ length: 20 }, (_, n) => `r-${n}`)
  const slots = Array.from({ length: 20 }, (_, n) => Math.floor(START_MS / 72 / 60_000) - n)
  const spec = { rates: [{ window: '24h', max: 100, per: 'rack' }] } as const
  const rates = racks.flatMap((domain) =>
    slots.map((slot) => ({
      policy: 'p/24h.rack',
      domain,
      window: '24h' as const,
      per: 'rack' as const,
      slot,
      count: 1,
    })),
  )
  const before: LedgerSpec = { sequence: 1, rates }
  expect(ask('m-1', [aPolicy(spec, 'p')], before).says).toBe('Granted')
  const renamed = ask('m-1', [aPolicy(spec, 'q')], before)
  expect(renamed.says).toBe('Granted')
  expect(renamed.ledger?.rates?.filter((r) => r.policy === 'q/24h.rack')).toHaveLength(rates.length + 1)
})

test('a breaker of a deleted policy is not copied beyond what the ledger holds', () => {
  const policies = Array.from({ length: 80 }, (_, n) =>
    aPolicy({ breaker: SPEC.breaker, selector: { matchLabels: { pool: `p-${n}` } } }, `q-${n}`),
  )
  const before: LedgerSpec = { sequence: 1, breakers: [{ ...newBreaker('p', START_MS), state: 'Open' }] }
  const { ledger } = decide(aSnapshot({ machines: machines(2), policies }), before, { now: START_MS, leader: 'd' })
  expect((ledger ?? before).breakers?.length).toBeLessThanOrEqual(64)
})

describe('a breaker that is open', () => {
  const open = { ...newBreaker('p', START_MS), state: 'Open' as const, failures: 1 }
  const before: LedgerSpec = { sequence: 1, breakers: [open] }

  test('stays open under another name, also where both exist for a moment', () => {
    expect(ask('m-0', [q], before).says).toBe('BreakerOpen')
    const both = ask('m-0', [p, q], before)
    expect(ask('m-0', [q], both.ledger).says).toBe('BreakerOpen')
  })

  test('stays open where no policy is left', () => {
    const left = ask('m-0', [], before)
    expect([left.says, left.ledger?.breakers?.map((b) => [b.policy, b.state])]).toEqual([
      'BreakerOpen',
      [[BUILTIN_POLICY_NAME, 'Open']],
    ])
  })

  test('of another name that has its own results is not changed', () => {
    const own: LedgerSpec = { sequence: 1, breakers: [open, newBreaker('q', START_MS)] }
    expect(ask('m-0', [q], own).says).toBe('Granted')
  })
})
