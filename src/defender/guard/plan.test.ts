import { describe, expect, test } from 'vitest'
import type { LedgerSpec } from '#api/kinds/defender-ledger.ts'
import { aHold, START_MS } from '#test/support/defender-objects.ts'
import { GUARDED_KINDS, guardedKind, type GuardedKind } from './guarded-kinds.ts'
import { type DeletionSeen, type DeletionVerdict, planDeletion } from './plan.ts'

const kind = (name: GuardedKind['kind']): GuardedKind => {
  const found = GUARDED_KINDS.find((k) => k.kind === name)
  if (found === undefined) throw new Error(name)
  return found
}
const EMPTY: LedgerSpec = { sequence: 1 }
const ask = (wish: Partial<DeletionSeen> = {}): DeletionVerdict =>
  planDeletion({
    guarded: kind('Node'),
    name: 'n-1',
    isEnding: false,
    present: 0,
    holds: [],
    ledger: EMPTY,
    now: START_MS,
    wall: START_MS,
    leader: 'a',
    ...wish,
  })

/** How many pass, one every so often, and what is said to the next. */
function deleteMany(wish: Partial<DeletionSeen>, everyMs: number, most: number) {
  let ledger: LedgerSpec | undefined = EMPTY
  for (let i = 0; i < most; i++) {
    const verdict = ask({ ...wish, ledger, now: START_MS + i * everyMs })
    if (verdict.kind === 'Held') return { passed: i, ...verdict }
    ledger = verdict.ledger ?? ledger
  }
  return { passed: most, kind: 'Passes' as const }
}

describe('deletions by others', () => {
  test('of three Nodes of a small cluster pass, the fourth within a minute is held and told when to come back', () => {
    expect(deleteMany({ present: 10 }, 1_000, 10)).toMatchObject({
      passed: 3,
      why: '3 of kind Node were deleted in 1m, the limit is 3; wait until 00:01:00 UTC, or to lift the guard for ten minutes, run kubenode unprotect --reason TEXT',
    })
  })
  test('of a large cluster may be a share of it', () => {
    expect(deleteMany({ present: 10_000 }, 10, 500).passed).toBe(200)
  })
  test('slowly still meet the windows that are longer', () => {
    const held = deleteMany({ present: 100 }, 70_000, 100)
    expect(held).toMatchObject({ passed: 5 })
    expect(held.kind === 'Held' && held.why).toContain('5 of kind Node were deleted in 10m, the limit is 5')
  })
  test.each(GUARDED_KINDS.map((k) => [k.kind, k] as const))('of %s never exceed any window', (_, guarded) => {
    let ledger: LedgerSpec = EMPTY
    const times: number[] = []
    for (let t = 0; t < 26 * 3_600_000; t += 40_000) {
      const verdict = ask({ guarded, present: 60, ledger, now: START_MS + t })
      if (verdict.kind === 'Held') continue
      times.push(t)
      ledger = verdict.ledger ?? ledger
    }
    const windows = { '1m': 60_000, '10m': 600_000, '1h': 3_600_000, '24h': 86_400_000 }
    for (const { window, share, least } of guarded.limits)
      for (const t of times) {
        const inside = times.filter((x) => x > t - windows[window] && x <= t).length
        expect(inside).toBeLessThanOrEqual(Math.max(least, Math.floor(share * 60)))
      }
    expect(times.length).toBeGreaterThan(guarded.limits.at(-1)?.least ?? 0)
  })
  test('when nobody can tell how many there are, only so many as a person deletes by hand', () => {
    expect(deleteMany({ present: 0 }, 1, 100).passed).toBe(3)
  })
})

test.each([
  ['an object whose deletion began already', { isEnding: true, ledger: undefined }],
  ['an ordinary namespace', { guarded: kind('Namespace'), name: 'shop' }],
])('%s passes', (_, wish) => {
  expect(ask(wish).kind).toBe('Passes')
})

const ALL = { kind: 'Cluster', selector: {} } as const
test.each<[string, Partial<DeletionSeen>, string]>([
  [
    'a namespace that keeps the cluster alive',
    { guarded: kind('Namespace'), name: 'kube-system' },
    'keeps the cluster alive',
  ],
  [
    'a definition that would take all machines with it, none of which is asked about',
    { guarded: kind('CustomResourceDefinition'), name: 'machines.kubenode.io' },
    'keeps the cluster alive',
  ],
  [
    'anything while the cluster is frozen',
    { holds: [aHold('Freeze', ALL)] },
    'frozen until 2026-02-01T00:00:00Z by ada',
  ],
  ['anything before the Defender has decided', { ledger: undefined }, 'is still starting'],
])('%s is held', (_, wish, why) => {
  const verdict = ask(wish)
  expect(verdict.kind === 'Held' && verdict.why).toContain(why)
})

test('a hold lifts every limit but a freeze, and what passes under it is counted', () => {
  const lifted = { holds: [aHold('Unprotect', ALL)] }
  expect(deleteMany({ ...lifted, guarded: kind('Namespace'), name: 'kube-system' }, 1, 30).passed).toBe(30)
  expect(ask({ holds: [aHold('Unprotect', ALL), aHold('Freeze', ALL)] }).kind).toBe('Held')
  const verdict = ask(lifted)
  expect(verdict.kind === 'Passes' && verdict.ledger?.rates).toHaveLength(4)
  expect(
    ask({ holds: [aHold('Unprotect', ALL, '2026-01-04T00:00:00Z')], guarded: kind('Namespace'), name: 'kube-system' })
      .kind,
  ).toBe('Held')
})

test('kinds that nobody guards are not known here', () => {
  expect(guardedKind('', 'Pod')).toBeUndefined()
  expect(guardedKind('other.example', 'Machine')).toBeUndefined()
})
