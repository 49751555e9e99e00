import { describe, expect, test } from 'vitest'
import { MAX_RESERVED, type LedgerSpec } from '#api/kinds/defender-ledger.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { aHold, START_MS } from '#test/support/fleets/defender-objects.ts'
import { GUARDED_KINDS, guardedKind, type GuardedKind } from './guarded-kinds.ts'
import { FOLLOWS_WITHIN_MS, type Presence } from './reserved.ts'
import { type DeletionSeen, type DeletionVerdict, planDeletion } from './plan.ts'
import { defined } from '#lib/defined.ts'

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
    namespace: '',
    uid: '',
    grantedAs: [],
    follows: false,
    costsNothing: false,
    presenceOf: () => 'Unknown',
    isEnding: false,
    present: 0,
    holds: [],
    ledger: EMPTY,
    now: START_MS,
    wall: START_MS,
    leader: 'a',
    ...wish,
  })

/** How many pass at this interval, and the answer to the next one. */
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
  test('of three Nodes of a small cluster pass, the fourth within a minute is held with the time to try again', () => {
    expect(deleteMany({ present: 10 }, 1_000, 10)).toMatchObject({
      passed: 3,
      why: '3 of kind Node were deleted in 1m, the limit is 3; wait until 00:01:03 UTC, or to lift the guard for ten minutes, run kubenode unprotect --reason WHY',
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
  test.each(GUARDED_KINDS.filter((k) => k.needsHold === undefined).map((k) => [k.kind, k] as const))(
    'of %s never exceed any window',
    (_, guarded) => {
      let ledger: LedgerSpec = EMPTY
      const times: number[] = []
      for (let t = 0; t < 28 * 3_600_000; t += 40_000) {
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
    },
  )
  test('when the count is unknown, only as many as a person deletes by hand', () => {
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

const UNPROTECT = (target: OperationalHold['spec']['target']) => ({ holds: [aHold('Unprotect', target)] })
describe('what git declares', () => {
  const prod: Partial<DeletionSeen> = { guarded: kind('Cluster'), name: 'prod', namespace: 'fleet', ledger: undefined }
  test.each<[string, Partial<DeletionSeen>, RegExp]>([
    ['a Cluster', prod, /^git declares Cluster prod; .* kubenode unprotect cluster\/prod --reason WHY$/],
    ['a Cluster beside a hold on all', { ...prod, ...UNPROTECT(ALL) }, /unprotect cluster\/prod/],
    ['a Cluster beside a hold on another', { ...prod, ...UNPROTECT({ kind: 'Cluster', name: 'pre' }) }, /git declares/],
    [
      'a Cluster beside a hold on one of the name in another namespace',
      { ...prod, ...UNPROTECT({ kind: 'Cluster', name: 'prod', namespace: 'other' }) },
      /git declares/,
    ],
    [
      'a Cluster beside a hold that ended',
      { ...prod, holds: [aHold('Unprotect', { kind: 'Cluster', name: 'prod' }, '2026-01-04T00:00:00Z')] },
      /git declares/,
    ],
    [
      'anything while the cluster is frozen',
      { ...prod, holds: [aHold('Freeze', ALL), aHold('Unprotect', { kind: 'Cluster', name: 'prod' })] },
      /frozen/,
    ],
    ['a FleetSource', { guarded: kind('FleetSource'), name: 'fleet' }, /no commit reaches .* unprotect source\/fleet/],
    ['a set', { guarded: kind('MachineComponentSet'), name: 'base' }, /unprotect set\/base/],
    ['a pipeline', { guarded: kind('ReleasePipeline'), name: 'x' }, /run kubenode unprotect --reason WHY$/],
  ])('%s is held', (_, wish, why) => {
    const verdict = ask(wish)
    expect(verdict.kind === 'Held' && verdict.why).toMatch(why)
  })

  test.each<[string, Partial<DeletionSeen>]>([
    ['a Cluster under a hold on it', { ...prod, ...UNPROTECT({ kind: 'Cluster', name: 'prod' }) }],
    ['a set under a hold on it', { guarded: kind('MachineSet'), ...UNPROTECT({ kind: 'MachineSet', name: 'n-1' }) }],
    ['a set under a hold on all', { guarded: kind('MachineSet'), ...UNPROTECT(ALL) }],
    ['what is being deleted already', { ...prod, isEnding: true }],
  ])('%s passes, and is not counted', (_, wish) => {
    expect(ask(wish)).toEqual({ kind: 'Passes', ledger: undefined })
  })
})

test('unguarded kinds are not known here', () => {
  expect(guardedKind('', 'Pod')).toBeUndefined()
  expect(guardedKind('other.example', 'Machine')).toBeUndefined()
})

describe('S25 deletions by our own programs', () => {
  const grant = (operations: readonly string[], state?: 'Orphaned'): LedgerSpec =>
    ({
      sequence: 1,
      grants: [
        {
          permit: 'p',
          permitUid: 'p-uid',
          target: 'm-uid',
          kind: 'Machine',
          name: 'm-1',
          operations,
          grantedAt: '2026-01-05T00:00:00Z',
          ...defined({ state }),
        },
      ],
    }) as LedgerSpec
  const machine = { guarded: kind('Machine'), name: 'm-1', uid: 'm-uid', grantedAs: ['m-uid'] }
  const full = (ledger: LedgerSpec): LedgerSpec => {
    let full = ledger
    for (let i = 0; i < 3; i++) {
      const verdict = ask({ guarded: kind('Machine'), name: `x-${i}`, uid: `x-${i}`, ledger: full })
      if (verdict.kind === 'Passes') full = verdict.ledger ?? full
    }
    return full
  }

  test.each(['ScaleIn', 'Replace', 'MassPrune'])(
    'pass under a grant for %s, and are not counted again',
    (operation) => {
      expect(ask({ ...machine, ledger: full(grant([operation])) })).toEqual({ kind: 'Passes', ledger: undefined })
    },
  )

  test.each([
    ['a permit for something else', { ...machine, ledger: full(grant(['SwitchComponent', 'Drain'])) }],
    ['a permit whose lease has ended', { ...machine, ledger: full(grant(['ScaleIn'], 'Orphaned')) }],
    ['a permit for another machine', { ...machine, grantedAs: ['y'], ledger: full(grant(['ScaleIn'])) }],
    ['no permit', { ...machine, ledger: full(EMPTY) }],
  ])('with %s they are held to the limits', (_, wish) => {
    expect(ask(wish)).toMatchObject({
      kind: 'Held',
      why: expect.stringContaining('3 of kind Machine were deleted in 1m'),
    })
  })

  test('the Node of a Machine that is being deleted follows it, and what does not serve costs nothing', () => {
    const ledger = full(EMPTY)
    expect(ask({ ...machine, ledger, follows: true }).kind).toBe('Passes')
    expect(ask({ ...machine, ledger, costsNothing: true }).kind).toBe('Passes')
    const frozen = [aHold('Freeze', ALL)]
    expect(ask({ ...machine, ledger, costsNothing: true, holds: frozen }).kind).toBe('Held')
  })

  test('a namespace that keeps the cluster alive stays, permit or not', () => {
    const namespace = { guarded: kind('Namespace'), name: 'kubenode-system', uid: 'u', grantedAs: ['u'] }
    expect(ask(namespace).kind).toBe('Held')
  })
})

describe('S30 a deletion that is admitted and does not follow', () => {
  const admitted = (ledger: LedgerSpec, uid: string, now = START_MS): LedgerSpec => {
    const verdict = ask({ name: uid, uid, ledger, now })
    if (verdict.kind !== 'Passes' || verdict.ledger === undefined) throw new Error(JSON.stringify(verdict))
    return verdict.ledger
  }
  const three = ['a', 'b', 'c'].reduce((ledger, uid) => admitted(ledger, uid), EMPTY)
  const next = (presence: Presence, afterMs: number) =>
    ask({ name: 'd', uid: 'd', ledger: three, now: START_MS + afterMs, presenceOf: () => presence })

  test.each([
    ['counts at once', 'There', 0, 'Held'],
    ['counts for half a minute', 'There', FOLLOWS_WITHIN_MS - 1, 'Held'],
    ['is no longer counted after that', 'There', FOLLOWS_WITHIN_MS, 'Passes'],
    ['stays counted when it followed', 'Deleted', FOLLOWS_WITHIN_MS, 'Held'],
    ['stays counted when it cannot be told', 'Unknown', FOLLOWS_WITHIN_MS, 'Held'],
  ] as const)('%s', (_, presence, afterMs, verdict) => {
    expect(next(presence, afterMs).kind).toBe(verdict)
  })

  test('gives back exactly what it took, in every window', () => {
    const verdict = next('There', FOLLOWS_WITHIN_MS)
    const ledger = verdict.kind === 'Passes' ? verdict.ledger : undefined
    expect(ledger?.rates?.map((r) => r.count)).toEqual([1, 1, 1, 1])
    expect(ledger?.reserved?.map((r) => r.uid)).toEqual(['d'])
  })

  test('the same object asked about twice is counted once', () => {
    expect(ask({ name: 'c', uid: 'c', ledger: three })).toEqual({ kind: 'Passes', ledger: undefined })
  })

  test('a ledger full of reservations is kept small: what has no room stays counted', () => {
    const lifted = [aHold('Unprotect', ALL)]
    let ledger: LedgerSpec = EMPTY
    for (let i = 0; i < MAX_RESERVED + 20; i++) {
      const verdict = ask({ name: `n-${i}`, uid: `n-${i}`, ledger, holds: lifted })
      if (verdict.kind === 'Passes') ledger = verdict.ledger ?? ledger
    }
    expect(ledger.reserved).toHaveLength(MAX_RESERVED)
    expect(ledger.rates?.every((r) => r.count === MAX_RESERVED + 20)).toBe(true)
  })
})
