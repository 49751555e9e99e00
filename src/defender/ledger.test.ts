import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { MAX_GRANTS, MAX_LEDGER_BYTES, type LedgerSpec } from '#api/kinds/defender-ledger.ts'
import { START_MS } from '#test/support/fleets/defender-objects.ts'
import { type Grant, WorkingLedger, grantsOf, storedLedger } from './ledger.ts'

const grant = (n: number, more: Partial<Grant> = {}): Grant => ({
  permit: `kernel-deadlock-0123456789abcdef-${n % 3}`,
  permitUid: randomUUID(),
  target: randomUUID(),
  kind: 'Node',
  name: `node-${String(n).padStart(5, '0')}`,
  operations: ['Cordon'],
  state: 'Held',
  grantedAt: '2026-01-05T00:00:00Z',
  ...more,
})
const bytesOf = (spec: LedgerSpec): number => Buffer.byteLength(JSON.stringify(spec))

/** Takes as many as fit. */
function filled(before: LedgerSpec | undefined, make: (n: number) => Grant): LedgerSpec {
  const ledger = new WorkingLedger(before, START_MS)
  for (let n = 0; n < MAX_GRANTS + 5; n++) {
    const one = make(n)
    if (ledger.isFull(one, []) === undefined) ledger.take(one, [])
  }
  return ledger.next('a') as LedgerSpec
}

describe('a ledger', () => {
  test('has room for a thousand single nodes, and for no more', () => {
    const stored = storedLedger(filled(undefined, grant))
    expect(stored.grants).toHaveLength(MAX_GRANTS)
    expect(bytesOf(stored)).toBeLessThanOrEqual(MAX_LEDGER_BYTES)
  })

  test.each([
    ['long names', {}, { name: 'n'.repeat(200) }],
    ['orphans', {}, { state: 'Orphaned', rack: 'r'.repeat(63) }],
    [
      'breakers that remember much',
      {
        breakers: Array.from({ length: 40 }, (_, n) => ({
          policy: `p${n}`,
          state: 'Closed',
          since: '2026-01-05T00:00:00Z',
          failures: 0,
          results: 's'.repeat(1_000),
          trial: 0,
        })),
      },
      { rack: 'r12' },
    ],
  ] as const)('keeps within its bytes with %s', (_, more, of) => {
    const before = { sequence: 1, ...more } as unknown as LedgerSpec
    const stored = storedLedger(filled(before, (n) => grant(n, of)))
    expect(stored.grants?.length).toBeGreaterThan(400)
    expect(bytesOf(stored)).toBeLessThanOrEqual(MAX_LEDGER_BYTES)
  })

  test('is read as it was before it was stored, whatever goes without saying', () => {
    const spec = filled(undefined, (n) => grant(n, n % 2 === 0 ? {} : { state: 'Orphaned' }))
    const stored = storedLedger(spec)
    expect(grantsOf(stored)).toEqual(spec.grants)
    expect(new WorkingLedger(stored, START_MS).next('a')).toBeUndefined()
  })

  test('has the room of a slot again once that is free', () => {
    const full = filled(undefined, (n) => grant(n, { name: 'n'.repeat(150) }))
    const ledger = new WorkingLedger(full, START_MS)
    const next = grant(1, { name: 'n'.repeat(150) })
    expect(ledger.isFull(next, [])).toMatch(/bytes/)
    const [first] = ledger.grants()
    if (first !== undefined) ledger.replace({ ...first, state: 'Orphaned' })
    if (first !== undefined) ledger.free(first)
    expect(ledger.isFull(next, [])).toBeUndefined()
  })
})
