import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { inventory, MAX_FAILURES, type Baseline, type KnownFailure } from '#api/kinds/inventory.ts'
import { createValidator } from '#api/validate.ts'
import {
  spokenObject,
  contentDigest,
  judgeFailures,
  nextBaseline,
  type BaselineInput,
  type Content,
  type Judgement,
  type Named,
} from './baseline.ts'

const SET = 'MachineComponentSet.kubenode.io/base'
const RULE = 'NodeRemedier.kubenode.io/disk'
const NOTE = 'ConfigMap/default/note'
const CANARY = 'ComponentCanary.kubenode.io/try'

const content = (versions: Readonly<Record<string, string>>): Content =>
  new Map(Object.entries(versions).map(([name, v]) => [name, v.padEnd(16, '0')]))
const V1 = { [SET]: 'a1', [RULE]: 'b1', [CANARY]: 'c1' }

const failed = (object: string, digest: string, reason = 'Blocked'): KnownFailure => ({
  object,
  uid: `uid-${object}`,
  state: 'Failed',
  reason,
  digest: digest.padEnd(16, '0'),
})
const node = (name: string): KnownFailure => ({
  object: RULE,
  uid: `uid-${RULE}`,
  part: `node/${name}`,
  state: 'Failed',
  reason: 'LadderExhausted',
  digest: 'b1'.padEnd(16, '0'),
})
const lacking = (count: number, digest = 'd1'): KnownFailure => ({
  object: 'MachineSet.kubenode.io/workers',
  uid: 'uid-workers',
  state: 'InProgress',
  reason: 'Progressing',
  digest: digest.padEnd(16, '0'),
  count,
})
const machineFailure = (name: string, reason: 'NotReady' | 'Inconsistent', state: 'Failed' | 'InProgress' = 'Failed') =>
  ({ object: `Machine.kubenode.io/${name}`, uid: `u-${name}`, part: `machine/${name}`, state, reason }) as const

const named = (all: readonly KnownFailure[]): readonly Named[] => all.map((f) => ({ ...f, message: 'm' }))

const base: BaselineInput = {
  release: 'r2',
  now: Date.parse('2026-01-31T12:00:00Z'),
  known: undefined,
  failing: [],
  before: content(V1),
  after: content({ ...V1, [NOTE]: 'e1' }),
  hasPassed: true,
  isFirst: false,
  isReturn: false,
  hasBegun: false,
}
const next = (more: Partial<BaselineInput>): Baseline => nextBaseline({ ...base, ...more })
const state = (failing: readonly KnownFailure[], baseline: Baseline | undefined, allowed = 0) =>
  judgeFailures(named(failing), baseline, allowed).state

/** The baseline of a release r1 that changed `V1` to `after` and never passed. */
const stopped = (failing: readonly KnownFailure[], after: Readonly<Record<string, string>>): Baseline =>
  next({ release: 'r1', failing, after: content(after) })

describe('F46 what failed before a release stops nothing', () => {
  const old = [failed(CANARY, 'c1'), node('n-1'), lacking(1)]
  const baseline = next({ failing: old })

  test('an object that failed, a node beyond repair and a machine that is lacking are old', () => {
    expect(judgeFailures(named(old), baseline, 0)).toMatchObject({ state: 'Current', before: 3, fresh: 0 })
  })
  test('a node that was faulty and is beyond repair now is old, whichever rule says so', () => {
    const faulty = next({ failing: [{ ...node('n-1'), state: 'Faulty', reason: 'Faulty' }] })
    expect(state([{ ...node('n-1'), object: 'NodeRemedier.kubenode.io/other' }], faulty)).toBe('Current')
  })
  test.each<[string, KnownFailure, string]>([
    ['another object', failed(SET, 'a1'), 'Failed'],
    ['the same object for another reason', failed(CANARY, 'c1', 'InvalidSpec'), 'Failed'],
    ['the same object after the release declared it again', failed(CANARY, 'c2'), 'Failed'],
    ['an object of the same name', { ...failed(CANARY, 'c1'), uid: 'other' }, 'Failed'],
    ['another node', node('n-2'), 'Failed'],
    ['one more machine', lacking(2), 'InProgress'],
    ['one more machine of a set that was changed', lacking(2, 'd2'), 'InProgress'],
  ])('%s is new', (_, failure, wanted) => {
    expect(state([...old, failure], baseline)).toBe(wanted)
  })
  test('a set that was changed lacks no more machines than before', () => {
    expect(state([lacking(1, 'd2')], baseline)).toBe('Current')
  })
})

describe('a set that is held or waits for a rate limit', () => {
  const failing = (object: string, more: Partial<Named> = {}): Named => ({
    object,
    state: 'InProgress',
    reason: 'x',
    message: object,
    ...more,
  })
  const held = failing('held', { outside: 'HoldPause' })
  const limited = failing('limited', { outside: 'RateExceeded' })
  const machines = failing('machines', { setWait: 'Machines', count: 2 })
  const needy = failing('needy', { setWait: 'Requirement' })
  const web = failing('web')
  const broken = failing('broken', { state: 'Failed' })
  test.each<[string, readonly Named[], Judgement['outside'], string]>([
    ['alone is no delay of the release', [held], 'HoldPause', 'held: held'],
    ['waits for whichever is first', [limited, held], 'RateExceeded', 'limited: limited (and 1 more)'],
    ['excuses machines that are not Ready', [machines, held], 'HoldPause', 'held: held (and 1 more)'],
    ['excuses a set that requires it', [needy, held], 'HoldPause', 'held: held (and 1 more)'],
    ['excuses what lacks machines to run on', [web, machines, held], 'HoldPause', 'held: held (and 2 more)'],
    ['does not excuse another object', [held, web], undefined, 'web: web (and 1 more)'],
    ['does not excuse one beside a set that requires it', [held, needy, web], undefined, 'web: web (and 2 more)'],
    ['does not excuse what has failed', [held, machines, broken], undefined, 'broken: broken'],
    ['is needed as an excuse', [machines, web], undefined, 'web: web (and 1 more)'],
  ])('%s', (_, all, outside, message) => {
    const judged = judgeFailures(all, next({}), 0)
    expect(judged.outside).toBe(outside)
    expect(judged.message).toBe(message)
  })
  test.each(['WaitingForWindow', 'OutsideWindow', 'BlackoutActive', 'RateExceeded', 'HoldPause'] as const)(
    'that waits for %s accuses no earlier release, whose change it still carries',
    (outside) => {
      const { object, state, reason, message } = limited
      const baseline = { ...next({}), blamed: [{ object, state, reason, release: 'fleet-00c0ffee' }] }
      expect(judgeFailures([{ ...limited, outside }], baseline, 0)).toMatchObject({
        message: `${spokenObject(object)}: ${message}`,
      })
      const broken = judgeFailures([{ object, state: 'Failed', reason, message }], baseline, 0)
      expect(broken.message).toContain('release fleet-00c0ffee broke it')
    },
  )
  test('that was held before the release hides nothing', () => {
    const known = { object: 'held', state: 'InProgress', reason: 'x', digest: 'h1' } as const
    const baseline = next({ failing: [known] })
    expect(judgeFailures([{ ...held, digest: 'h1' }, web], baseline, 0)).toMatchObject({
      before: 1,
      message: 'web: web',
    })
  })
})

describe('thresholds', () => {
  test('machines and nodes count beyond the limit only; the same machine counts once', () => {
    const baseline = next({})
    expect(state([node('n-1'), lacking(1)], baseline, 1)).toBe('Current')
    expect(state([node('n-1'), node('n-2'), lacking(1)], baseline, 1)).toBe('Failed')
    expect(state([lacking(2)], baseline, 1)).toBe('InProgress')
  })
  test('an object that fails as a whole is above every limit', () => {
    expect(state([failed(SET, 'a1')], next({}), 10_000)).toBe('Failed')
  })
})

describe('what a stopped release broke', () => {
  const bad = { ...V1, [SET]: 'a2' }
  const known = stopped([node('n-0')], bad)
  const damage = [node('n-0'), failed(SET, 'a2'), node('n-1')]
  const after = (versions: Readonly<Record<string, string>>, more: Partial<BaselineInput> = {}) =>
    next({ known, failing: damage, before: content(bad), after: content(versions), hasPassed: false, ...more })

  test('counts against the next commit that still has the content, and says who broke it', () => {
    const carried = after({ ...bad, [NOTE]: 'e1' })
    expect(carried.blamed.map((b) => [b.part ?? b.object, b.release])).toEqual([
      [SET, 'r1'],
      ['node/n-1', 'r1'],
    ])
    const judged = judgeFailures(named(damage), carried, 0)
    expect(judged).toMatchObject({ state: 'Failed', before: 1, fresh: 2 })
    expect(judged.message).toBe(`set/base: m (and 1 more); release r1 broke it, and its change is still declared`)
  })

  test('and against the one after that, also when an unrelated commit lies between', () => {
    const between = after({ ...bad, [NOTE]: 'e1' })
    const third = next({
      release: 'r3',
      known: between,
      failing: damage,
      before: content({ ...bad, [NOTE]: 'e1' }),
      after: content({ ...bad, [NOTE]: 'e2' }),
      hasPassed: false,
    })
    expect(state(damage, third)).toBe('Failed')
    expect(third.changes.map((c) => c.release)).toEqual(['r1', 'r3'])
  })

  test.each<[string, Readonly<Record<string, string>>]>([
    ['a revert', V1],
    ['a revert beside another change', { ...V1, [NOTE]: 'e2' }],
    ['another version', { ...V1, [SET]: 'a3' }],
  ])('no longer counts after %s', (_, versions) => {
    const lifted = after(versions)
    expect(state([node('n-0'), node('n-1')], lifted)).toBe('Current')
  })

  test('a revert after an unrelated commit lifts it too', () => {
    const between = after({ ...bad, [NOTE]: 'e1' })
    const lifted = next({
      release: 'r3',
      known: between,
      failing: [node('n-0'), node('n-1')],
      before: content({ ...bad, [NOTE]: 'e1' }),
      after: content({ ...V1, [NOTE]: 'e1' }),
      hasPassed: false,
    })
    expect([lifted.blamed, state([node('n-1')], lifted)]).toEqual([[], 'Current'])
  })

  test('another version that fails as well is new', () => {
    expect(state([failed(SET, 'a3')], after({ ...V1, [SET]: 'a3' }))).toBe('Failed')
  })

  test('an object that was removed is carried for as long as it is not declared again', () => {
    const { [CANARY]: _, ...without } = V1
    const removed = stopped([], without)
    const of = (versions: Readonly<Record<string, string>>) =>
      next({
        known: removed,
        failing: [node('n-1')],
        before: content(without),
        after: content(versions),
        hasPassed: false,
      })
    expect(state([node('n-1')], of({ ...without, [NOTE]: 'e1' }))).toBe('Failed')
    expect(state([node('n-1')], of({ ...V1, [NOTE]: 'e1' }))).toBe('Current')
  })

  test('of the machines that a set lacks only those of before are old', () => {
    const short = stopped([lacking(1)], bad)
    const carried = next({
      known: short,
      failing: [lacking(3)],
      before: content(bad),
      after: content({ ...bad, [NOTE]: 'e1' }),
      hasPassed: false,
    })
    expect([state([lacking(3)], carried, 1), state([lacking(3)], carried, 2)]).toEqual(['InProgress', 'Current'])
  })

  test('a failure that another one hid is still old once the change is withdrawn', () => {
    const worse = failed('MachineSet.kubenode.io/workers', 'd2')
    const hidden = { ...worse, uid: 'uid-workers' }
    const before = { ...V1, 'MachineSet.kubenode.io/workers': 'd2' }
    const carried = next({
      known: stopped([lacking(1)], before),
      failing: [hidden],
      before: content(before),
      after: content({ ...before, [NOTE]: 'e1' }),
      hasPassed: false,
    })
    const back = next({
      release: 'r3',
      known: carried,
      failing: [hidden],
      before: content({ ...before, [NOTE]: 'e1' }),
      after: content({ ...V1, 'MachineSet.kubenode.io/workers': 'd1', [NOTE]: 'e1' }),
      hasPassed: false,
    })
    expect([state([hidden], carried), state([lacking(1)], back), state([lacking(2)], back)]).toEqual([
      'Failed',
      'Current',
      'InProgress',
    ])
  })

  test('a machine that was being switched when the change was withdrawn is neither well nor broken', () => {
    const lifted = after({ ...V1, [NOTE]: 'e1' }, { failing: [machineFailure('m-1', 'NotReady', 'InProgress')] })
    expect([lifted.failing, lifted.blamed]).toEqual([[], []])
  })
})

describe('a change that is withdrawn and declared again', () => {
  const V2 = { ...V1, [SET]: 'a2' }
  /** As a set that is held, or still switches. */
  const switching = (digest: string): KnownFailure => ({ ...failed(SET, digest, 'HoldPause'), state: 'InProgress' })
  const withdrawn = (failing: readonly KnownFailure[], before: readonly KnownFailure[] = []): Baseline =>
    next({
      release: 'r2',
      known: stopped(before, V2),
      failing,
      before: content(V2),
      after: content(V1),
      isReturn: true,
      hasPassed: false,
    })
  const again = (known: Baseline, failing: readonly KnownFailure[]): Baseline =>
    next({ release: 'r3', known, failing, before: content(V1), after: content(V2), hasPassed: false })

  test.each<[string, KnownFailure, KnownFailure]>([
    ['the set switches still, and was not told yet', switching('a2'), switching('a2')],
    ['the set switches back', switching('a2'), switching('a1')],
    ['the set failed', failed(SET, 'a2'), failed(SET, 'a2')],
  ])('is not excused by what it did before: %s', (_, first, second) => {
    expect(state([first], again(withdrawn([first]), [second]))).toBe(first.state)
  })

  test('what failed before it is old in both', () => {
    const old = [failed(CANARY, 'c1'), node('n-1'), lacking(1)]
    const back = withdrawn(old, old)
    expect([state(old, back), state(old, again(back, old))]).toEqual(['Current', 'Current'])
  })

  test('the object that was changed back must be well again', () => {
    expect(state([switching('a1')], withdrawn([switching('a2')]))).toBe('InProgress')
  })
})

describe('a baseline that was lost', () => {
  test('after the release began makes every failure count', () => {
    const lost = next({ failing: [node('n-1')], hasBegun: true })
    expect(lost).toMatchObject({ incomplete: true, failing: [] })
    expect(judgeFailures(named([node('n-1')]), lost, 0).message).toContain('the state before the release is unknown')
  })
  test('of a release that never passed makes every failure count, until what passed last is declared again', () => {
    const lost = next({ failing: [node('n-1')], hasPassed: false })
    expect(state([node('n-1')], lost)).toBe('Failed')
    const later = next({ release: 'r3', known: lost, failing: [node('n-1')], hasPassed: false })
    expect(state([node('n-1')], later)).toBe('Failed')
    const back = next({ release: 'r4', known: later, failing: [node('n-1')], hasPassed: false, isReturn: true })
    expect(state([node('n-1')], back)).toBe('Current')
  })
  test('does not matter in a cluster where nothing of ours was', () => {
    const empty = { failing: [node('n-1')], before: content({}), hasPassed: false }
    expect(state([node('n-1')], next({ ...empty, isFirst: true }))).toBe('Current')
    // The hub knows more: the inventory was deleted together with its baseline.
    expect(state([node('n-1')], next(empty))).toBe('Failed')
  })
})

test('a baseline is valid as part of an Inventory, and keeps its bounds', () => {
  const many = Array.from({ length: 2 * MAX_FAILURES }, (_, i) => node(`n-${i}`))
  const objects = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`ConfigMap/default/c-${i}`, 'a1']))
  const known = next({ release: 'r1', failing: [], after: content(objects) })
  const full = next({
    known,
    failing: many,
    before: content(objects),
    after: content({ ...objects, [NOTE]: 'e1' }),
    hasPassed: false,
  })
  expect([full.failing.length, full.blamed.length, full.changes[0]?.more]).toEqual([0, MAX_FAILURES, true])
  const spec = { source: 'n/s', track: 't', shard: 0, shards: 1, refs: [], baseline: full }
  const object = { apiVersion: 'kubenode.io/v1alpha1', kind: 'Inventory', metadata: { name: 'n.s.t.0' }, spec }
  expect(createValidator().problems(inventory, object)).toEqual([])
})

describe('whatever fails, and whatever is changed by users', () => {
  const names = [SET, RULE, NOTE, CANARY]
  const versions = fc.dictionary(fc.constantFrom(...names), fc.constantFrom('a1', 'a2', 'a3'))
  const failure = fc.oneof(
    fc.record({ i: fc.nat(4) }).map(({ i }) => node(`n-${i}`)),
    fc.constantFrom(failed(SET, 'a1'), failed(SET, 'a2'), failed(CANARY, 'a1')),
    fc.nat(3).map((i) => lacking(i + 1)),
  )
  const unique = (all: readonly KnownFailure[]) => [...new Map(all.map((f) => [f.part ?? f.object, f])).values()]
  const failing = fc.array(failure, { maxLength: 8 }).map(unique)

  test('a failure that existed before a release of unrelated content never stops it', () => {
    fc.assert(
      fc.property(failing, versions, (old, before) => {
        const digests = content(before)
        const own = old.map((f): KnownFailure => {
          const { object, state: how, reason, uid, part, count } = f
          const digest = digests.get(object)
          return {
            object,
            state: how,
            reason,
            ...(uid && { uid }),
            ...(part && { part }),
            ...(count && { count }),
            ...(digest && { digest }),
          }
        })
        const seen = own.filter((f) => f.digest !== undefined || f.part !== undefined || f.count !== undefined)
        const baseline = next({ failing: seen, before: content(before), after: content({ ...before, [NOTE]: 'zz' }) })
        expect(
          state(
            seen.filter((f) => f.object !== NOTE),
            baseline,
          ),
        ).toBe('Current')
      }),
    )
  })

  test('damage of stopped releases counts as long as their content is declared, over any number of commits', () => {
    fc.assert(
      fc.property(
        failing,
        fc.array(fc.constantFrom('e1', 'e2', 'e3'), { minLength: 1, maxLength: 20 }),
        (damage, notes) => {
          const bad: Record<string, string> = { ...V1, [SET]: 'zz' }
          let baseline = stopped([], bad)
          let before: Readonly<Record<string, string>> = bad
          for (const [i, note] of notes.entries()) {
            const after = { ...bad, [NOTE]: `${note}${i.toString(16)}` }
            baseline = next({
              release: `r${i + 2}`,
              known: baseline,
              failing: damage,
              before: content(before),
              after: content(after),
              hasPassed: false,
            })
            before = after
            expect(judgeFailures(named(damage), baseline, 0).fresh).toBe(damage.length)
          }
          const back = next({
            release: 'back',
            known: baseline,
            failing: damage,
            before: content(before),
            after: content(V1),
            hasPassed: false,
          })
          expect(back.blamed).toEqual([])
        },
      ),
    )
  })

  test('taking it again changes nothing, and equal contents have equal digests in any order', () => {
    fc.assert(
      fc.property(failing, versions, (f, v) => {
        const once = next({ failing: f, after: content(v) })
        expect(next({ known: once, failing: [], hasBegun: true })).toBe(once)
        const reversed = new Map([...content(v)].toReversed())
        expect(contentDigest(reversed)).toBe(contentDigest(content(v)))
      }),
    )
  })
})

test.each([
  ['MachineComponentSet.kubenode.io/base', 'set/base'],
  ['Machine.kubenode.io/n-1', 'machine/n-1'],
  ['DaemonSet.apps/kube-system/cilium', 'DaemonSet kube-system/cilium'],
  ['Namespace/shop', 'Namespace shop'],
  ['something else', 'something else'],
])('a sentence calls %s %s', (key, word) => expect(spokenObject(key)).toBe(word))
