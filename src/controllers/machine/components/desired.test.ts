import type { ComponentOrder, ComponentStatus } from '#api/kinds/machine.ts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ComponentVersion } from '#api/protocol/component-order.ts'
import { type Claim, type DesiredInput, type Mark, type Slice, desiredComponents } from './desired.ts'

const M = 'm-1'
const SINCE = '2026-01-05T00:00:00Z'
const LATER = '2026-01-05T01:00:00Z'

const want = (version: string, config?: string): ComponentVersion => ({
  name: 'beacon',
  version,
  ...(config && { config }),
})
const order = (version: string, attempt: number, extra: Partial<ComponentOrder> = {}): ComponentOrder => ({
  name: 'beacon',
  version,
  attempt,
  setRef: 'base',
  ...extra,
})
const PART = { part: 'set/base step 2 slice 1' }
/** An attempt that the slice of these tests wanted. */
const tried = (version: string, attempt: number, extra: Partial<ComponentOrder> = {}): ComponentOrder =>
  order(version, attempt, { ...PART, ...extra })
const report = (
  version: string,
  desired: string,
  attempt: number,
  state: ComponentStatus['state'],
): ComponentStatus => ({
  name: 'beacon',
  version,
  desired,
  attempt,
  state,
  since: SINCE,
})
const notInstalled = (state: ComponentStatus['state']): ComponentStatus => {
  const { version: _, ...rest } = report('1.0', '1.0', 1, state)
  return rest
}
const claim = (c: Partial<Claim>): Claim => ({
  set: 'base',
  priority: 0,
  isCurrent: true,
  components: [want('1.1')],
  slices: [],
  blocked: [],
  lastGood: [],
  ...c,
})
const slice = (w: Partial<Slice>): Slice => ({
  component: 'beacon',
  version: '1.1',
  step: 1,
  number: 0,
  phase: 'Switching',
  machines: [M],
  permit: 'p',
  ...w,
})
const mark = (m: Partial<Mark>): Mark => ({ canary: 'try', components: [want('2.0')], permits: ['c'], ...m })

const works = { current: [order('1.0', 1)], reports: [report('1.0', '1.0', 1, 'Healthy')] }

interface Case {
  readonly input: Partial<DesiredInput>
  readonly desired: readonly ComponentOrder[]
}

/** Has the declared version, but changed on the host. `told` is the earlier order. */
const changed = (told: Partial<ComponentOrder>, more: Partial<DesiredInput>): Partial<DesiredInput> => ({
  current: [order('1.1', 2, told)],
  reports: [{ ...report('1.1', '1.1', 2, 'Healthy'), drifted: 'its program was replaced' }],
  claims: [claim({ slices: [slice({ startedAt: LATER })] })],
  ...more,
})

const cases: Readonly<Record<string, Case>> = {
  'what was changed on the node stays as it is until a slice names the machine': {
    input: changed({ slice: SINCE }, { claims: [claim({})] }),
    desired: [order('1.1', 2, { slice: SINCE })],
  },
  'a slice brings a fresh copy of what was changed, as another attempt that is counted': {
    input: changed({ slice: SINCE, fresh: 1 }, { asked: new Set(['p']) }),
    desired: [tried('1.1', 3, { slice: LATER, fresh: 2 })],
  },
  'a fresh copy a day after the last one starts a new count': {
    input: changed({ slice: '2026-01-03T00:00:00Z', fresh: 3 }, {}),
    desired: [tried('1.1', 3, { slice: LATER, fresh: 1 })],
  },
  'a slice brings one fresh copy': {
    input: changed({ slice: LATER, fresh: 1 }, {}),
    desired: [order('1.1', 2, { slice: LATER, fresh: 1 })],
  },
  'a slice that asks for others of its machines brings no fresh copy': {
    input: changed({ slice: SINCE }, { asked: new Set(['another']) }),
    desired: [order('1.1', 2, { slice: SINCE })],
  },
  'another version ends the count of fresh copies': {
    input: {
      ...works,
      current: [order('1.0', 4, { fresh: 3, slice: SINCE })],
      claims: [claim({ slices: [slice({ startedAt: LATER })] })],
    },
    desired: [tried('1.1', 5, { slice: LATER })],
  },
  'a new machine gets what its set declares': {
    input: { isClosed: true, claims: [claim({})] },
    desired: [order('1.1', 1)],
  },
  'a new machine gets what was good when the declared revision is blocked': {
    input: { isClosed: true, claims: [claim({ blocked: ['beacon'], lastGood: [want('1.0', 'c0')] })] },
    desired: [order('1.0', 1, { config: 'c0' })],
  },
  'a new machine gets nothing when the declared revision is blocked and nothing was ever good': {
    input: { isClosed: true, claims: [claim({ blocked: ['beacon'] })] },
    desired: [],
  },
  'a machine that works keeps its version until a slice names it': {
    input: { ...works, claims: [claim({ slices: [slice({ machines: ['m-2'] })] })] },
    desired: [order('1.0', 1)],
  },
  'a slice that names the machine gives it the version, with a new attempt and without an order that is out of date': {
    input: {
      ...works,
      current: [order('1.0', 4, { switch: { attempt: 3, permit: 'old' } })],
      claims: [claim({ slices: [slice({})] })],
    },
    desired: [tried('1.1', 5)],
  },
  'what no set declares any more stays where it runs': {
    input: { ...works },
    desired: [{ name: 'beacon', version: '1.0', attempt: 1 }],
  },
  'what no set declares any more is not installed either': {
    input: { current: [order('1.0', 1)], reports: [notInstalled('Staged')] },
    desired: [],
  },
  'what no set declares any more is waited for while it is being installed': {
    input: { current: [order('1.0', 1)], reports: [notInstalled('Switching')] },
    desired: [{ name: 'beacon', version: '1.0', attempt: 1 }],
  },
  'what no set declares any more may be installed while the agent does not report': {
    input: { current: [order('1.0', 1)], reports: [] },
    desired: [{ name: 'beacon', version: '1.0', attempt: 1 }],
  },
  'what was ordered stays as it is until that is over: the agent may be about to begin': {
    input: {
      ...works,
      current: [order('1.0', 4, { switch: { attempt: 4, permit: 'old' } })],
      claims: [claim({ slices: [slice({})] })],
      marks: [{ canary: 'try', components: [want('1.1')], permits: [] }],
    },
    desired: [order('1.0', 4, { switch: { attempt: 4, permit: 'old' } })],
  },
  'a slice gives the configuration that is declared': {
    input: {
      ...works,
      claims: [claim({ components: [want('1.0', 'c1')], slices: [slice({ version: '1.0', config: 'c1' })] })],
    },
    desired: [tried('1.0', 2, { config: 'c1' })],
  },
  'a slice for another configuration than the declared one is not believed': {
    input: {
      ...works,
      claims: [claim({ components: [want('1.1', 'c2')], slices: [slice({ config: 'c1' })] })],
    },
    desired: [order('1.0', 1)],
  },
  'slices of a spec that changed since are not believed': {
    input: { ...works, claims: [claim({ isCurrent: false, slices: [slice({})] })] },
    desired: [order('1.0', 1)],
  },
  'a slice for an undeclared version is not believed': {
    input: { ...works, claims: [claim({ slices: [slice({ version: '9.9' })] })] },
    desired: [order('1.0', 1)],
  },
  'a slice that ended changes nothing any more': {
    input: { ...works, claims: [claim({ slices: [slice({ phase: 'Passed' })] })] },
    desired: [order('1.0', 1)],
  },
  'a component that the set gained later waits for a slice on a machine that works': {
    input: { ...works, claims: [claim({ components: [want('1.0'), { name: 'scribe', version: '1' }] })] },
    desired: [order('1.0', 1)],
  },
  'the slice brings a component that the set gained later': {
    input: {
      ...works,
      claims: [
        claim({
          components: [want('1.0'), { name: 'scribe', version: '1' }],
          slices: [slice({ component: 'scribe', version: '1' })],
        }),
      ],
    },
    desired: [order('1.0', 1), { name: 'scribe', version: '1', attempt: 1, setRef: 'base', ...PART }],
  },
  'of two sets the higher priority wins': {
    input: { isClosed: true, claims: [claim({}), claim({ set: 'gpu', priority: 5, components: [want('3.0')] })] },
    desired: [order('3.0', 1, { setRef: 'gpu' })],
  },
  'of two sets of equal priority the one that speaks already goes on': {
    input: { ...works, claims: [claim({ set: 'another', components: [want('3.0')] }), claim({})] },
    desired: [order('1.0', 1)],
  },
  'a set of higher priority takes a machine over by its own slice only': {
    input: { ...works, claims: [claim({}), claim({ set: 'gpu', priority: 5, components: [want('3.0')] })] },
    desired: [order('1.0', 1, { setRef: 'gpu' })],
  },
  'a canary gives its version to a machine that it marked': {
    input: { ...works, claims: [claim({})], marks: [mark({})] },
    desired: [order('2.0', 2, { canaryRef: 'try' })],
  },
  'a canary wins over a slice': {
    input: { ...works, claims: [claim({ slices: [slice({})] })], marks: [mark({})] },
    desired: [order('2.0', 2, { canaryRef: 'try' })],
  },
  'two sets and a canary on one machine: the canary decides, and the higher priority speaks behind it': {
    input: {
      ...works,
      claims: [claim({ slices: [slice({})] }), claim({ set: 'gpu', priority: 5, components: [want('3.0')] })],
      marks: [mark({})],
    },
    desired: [order('2.0', 2, { setRef: 'gpu', canaryRef: 'try' })],
  },
  'when the mark is gone the version stays until a slice of the set comes': {
    input: {
      current: [order('2.0', 2, { canaryRef: 'try' })],
      reports: [report('2.0', '2.0', 2, 'Healthy')],
      claims: [claim({})],
    },
    desired: [order('2.0', 2)],
  },
  'a canary that was promoted changes nothing on its machines': {
    input: {
      current: [order('2.0', 2, { canaryRef: 'try' })],
      reports: [report('2.0', '2.0', 2, 'Healthy')],
      claims: [claim({ components: [want('2.0')] })],
    },
    desired: [order('2.0', 2)],
  },
  'a set deleted leaves what runs, and speaks for it no more': {
    input: { ...works, claims: [] },
    desired: [{ name: 'beacon', version: '1.0', attempt: 1 }],
  },
  'a selector that moved away leaves what runs, and the set that is left takes it over': {
    input: { ...works, claims: [claim({ set: 'other', components: [want('1.0')] })] },
    desired: [order('1.0', 1, { setRef: 'other' })],
  },
  'a revert while a version is only staged goes back at once': {
    input: {
      current: [order('1.1', 2)],
      reports: [report('1.0', '1.1', 2, 'Staged')],
      claims: [claim({ components: [want('1.0')] })],
    },
    desired: [order('1.0', 3)],
  },
  'a revert does not touch a machine that switches': {
    input: {
      current: [order('1.1', 2, { switch: { attempt: 2, permit: 'p' } })],
      reports: [report('1.0', '1.1', 2, 'Staged')],
      claims: [claim({ components: [want('1.0')] })],
    },
    desired: [order('1.1', 2, { switch: { attempt: 2, permit: 'p' } })],
  },
  'a revert reaches a machine that has the new version through a slice': {
    input: {
      current: [order('1.1', 2)],
      reports: [report('1.1', '1.1', 2, 'Healthy')],
      claims: [claim({ components: [want('1.0')], slices: [slice({ version: '1.0' })] })],
    },
    desired: [tried('1.0', 3)],
  },
  'a revert during a canary waits for the canary': {
    input: {
      current: [order('2.0', 2, { canaryRef: 'try' })],
      reports: [report('2.0', '2.0', 2, 'Healthy')],
      claims: [claim({ components: [want('1.0')], slices: [slice({ version: '1.0' })] })],
      marks: [mark({})],
    },
    desired: [order('2.0', 2, { canaryRef: 'try' })],
  },
  'a machine that rolled back by itself is ordered what it runs once the revision is blocked': {
    input: {
      current: [order('1.1', 2)],
      reports: [report('1.0', '1.1', 2, 'RolledBack')],
      claims: [claim({ blocked: ['beacon'], lastGood: [want('1.0', 'c0')] })],
    },
    desired: [order('1.0', 3, { config: 'c0' })],
  },
  'a machine that went back by itself keeps its order while the revision is still tried': {
    input: {
      current: [order('1.1', 2)],
      reports: [report('1.0', '1.1', 2, 'RolledBack')],
      claims: [claim({ slices: [slice({})] })],
    },
    desired: [order('1.1', 2)],
  },
  'another slice than the one that it failed in is a new try': {
    input: {
      current: [order('1.1', 2, { slice: SINCE })],
      reports: [report('1.0', '1.1', 2, 'RolledBack')],
      claims: [claim({ slices: [slice({ startedAt: LATER })] })],
    },
    desired: [tried('1.1', 3, { slice: LATER })],
  },
  'F16 the slice that it failed in does not try it again, whatever the clocks say': {
    input: {
      current: [order('1.1', 3, { slice: LATER })],
      reports: [report('1.0', '1.1', 3, 'RolledBack')],
      claims: [claim({ slices: [slice({ startedAt: LATER })] })],
    },
    desired: [order('1.1', 3, { slice: LATER })],
  },
  'a way back through a slice takes the configuration of then': {
    input: {
      current: [order('1.1', 2)],
      reports: [report('1.1', '1.1', 2, 'Healthy')],
      claims: [
        claim({
          lastGood: [want('1.0', 'c0')],
          slices: [slice({ version: '1.0', config: 'c0', recovery: 'Rollback' })],
        }),
      ],
    },
    desired: [tried('1.0', 3, { config: 'c0' })],
  },
  'a way back to a declared configuration is not diverted to the one that was last good with that version': {
    input: {
      current: [order('1.1', 2)],
      reports: [report('1.1', '1.1', 2, 'Healthy')],
      claims: [
        claim({
          components: [want('1.0', 'c1')],
          lastGood: [want('1.0', 'c0')],
          slices: [slice({ version: '1.0', config: 'c1', recovery: 'Rollback' })],
        }),
      ],
    },
    desired: [tried('1.0', 3, { config: 'c1' })],
  },
  'once a version runs on a node that is being set up, another one needs a slice': {
    input: { ...works, isClosed: true, claims: [claim({})] },
    desired: [order('1.0', 1)],
  },
}

const input = (i: Partial<DesiredInput>): DesiredInput => ({
  machine: M,
  isClosed: false,
  current: [],
  reports: [],
  claims: [],
  marks: [],
  ...i,
})

describe('the components of one machine', () => {
  test.each(Object.entries(cases))('%s', (_, c) => {
    expect(desiredComponents(input(c.input))).toEqual(c.desired)
  })
})

const version = fc.constantFrom('1.0', '1.1', '2.0')
const config = fc.constantFrom(undefined, 'c0', 'c1')
const wanted = fc.record({ version, config }).map((w) => want(w.version, w.config))
const slices = fc.array(
  fc
    .record({
      version,
      config,
      phase: fc.constantFrom('Planned', 'AwaitingPermit', 'Switching', 'Soaking', 'Passed', 'Failed', 'Aborted'),
      machines: fc.constantFrom([M], ['m-2'], [M, 'm-2']),
      released: fc.constantFrom(undefined, [M]),
      startedAt: fc.constantFrom(undefined, SINCE, LATER),
      recovery: fc.constantFrom(undefined, 'Rollback'),
    })
    .map((w) => slice(JSON.parse(JSON.stringify(w)))),
  { maxLength: 2 },
)
const claims = fc.uniqueArray(
  fc
    .record({
      set: fc.constantFrom('a', 'b', 'base'),
      priority: fc.integer({ min: 0, max: 2 }),
      isCurrent: fc.boolean(),
      components: fc.array(wanted, { maxLength: 1 }),
      slices,
      blocked: fc.constantFrom([], ['beacon']),
      lastGood: fc.array(wanted, { maxLength: 1 }),
    })
    .map(claim),
  { maxLength: 3, selector: (c) => c.set },
)
const marks = fc.uniqueArray(
  fc.record({ canary: fc.constantFrom('x', 'y'), components: fc.array(wanted, { maxLength: 1 }) }).map(mark),
  { maxLength: 2, selector: (m) => m.canary },
)
const current = fc.array(
  fc
    .record({
      version,
      attempt: fc.integer({ min: 1, max: 3 }),
      isOrdered: fc.boolean(),
      setRef: fc.constantFrom(undefined, 'a', 'base'),
    })
    .map(({ version: v, attempt, isOrdered, setRef }) => {
      const { setRef: _, ...entry } = order(v, attempt)
      return { ...entry, ...(setRef && { setRef }), ...(isOrdered && { switch: { attempt, permit: 'p' } }) }
    }),
  { maxLength: 1 },
)
const reports = fc.array(
  fc
    .record({
      version,
      desired: version,
      attempt: fc.integer({ min: 1, max: 3 }),
      state: fc.constantFrom<ComponentStatus['state'][]>(
        'Fetching',
        'Staged',
        'Switching',
        'Probing',
        'Healthy',
        'Degraded',
        'RolledBack',
        'Failed',
      ),
    })
    .map((r) => report(r.version, r.desired, r.attempt, r.state)),
  { maxLength: 1 },
)
const inputs = fc.record({ isClosed: fc.boolean(), current, reports, claims, marks }).map((i) => input(i))

describe('whatever sets, slices and canaries say', () => {
  test('asking again after the answer was written changes nothing', () => {
    fc.assert(
      fc.property(inputs, (i) => {
        const once = desiredComponents(i)
        expect(desiredComponents({ ...i, current: once })).toEqual(once)
      }),
      { numRuns: 500 },
    )
  })

  test('the order in which sets and canaries are listed does not matter', () => {
    fc.assert(
      fc.property(inputs, (i) => {
        const turned = { ...i, claims: [...i.claims].reverse(), marks: [...i.marks].reverse() }
        expect(desiredComponents(turned)).toEqual(desiredComponents(i))
      }),
      { numRuns: 500 },
    )
  })

  test('a new target never comes with an order, and attempts never shrink', () => {
    fc.assert(
      fc.property(inputs, (i) => {
        const [before] = i.current
        const [after] = desiredComponents(i)
        if (before === undefined || after === undefined) return
        expect(after.attempt).toBeGreaterThanOrEqual(before.attempt)
        const isSame = after.version === before.version && after.config === before.config
        if (!isSame) expect(after).toMatchObject({ attempt: before.attempt + 1 })
        if (!isSame || after.attempt !== before.attempt) expect(after.switch).toBeUndefined()
      }),
      { numRuns: 500 },
    )
  })

  test('an attempt for a slice is for exactly what that slice decided, and names it', () => {
    let forSlices = 0
    fc.assert(
      fc.property(inputs, ({ claims: some, ...rest }) => {
        const toDeclared = ({ version: v, config: c }: ComponentVersion) =>
          slice({ version: v, ...(c && { config: c }), startedAt: LATER, step: 3 })
        const i = {
          ...rest,
          claims: some.map((c) => ({ ...c, slices: [...c.slices, ...c.components.map(toDeclared)] })),
        }
        const [before] = i.current
        const [after] = desiredComponents(i)
        if (after?.part === undefined || after.attempt === before?.attempt) return
        const isIts = (w: Slice) =>
          w.version === after.version &&
          w.config === after.config &&
          w.machines.includes(M) &&
          w.released?.includes(M) !== true &&
          after.part === `set/${after.setRef} step ${w.step + 1} slice ${w.number + 1}`
        expect(i.claims.find((c) => c.set === after.setRef)?.slices.some(isIts)).toBe(true)
        forSlices++
      }),
      { numRuns: 1_000 },
    )
    expect(forSlices).toBeGreaterThan(50)
  })

  test('what runs and works changes only when a believed slice or a mark names the machine', () => {
    fc.assert(
      fc.property(inputs, (i) => {
        const [before] = i.current
        const [seen] = i.reports
        const isRunning =
          before !== undefined &&
          seen?.state === 'Healthy' &&
          seen.desired === before.version &&
          seen.attempt === before.attempt
        const isNamed =
          i.marks.some((m) => m.components.length > 0) ||
          i.claims.some((c) => c.isCurrent && c.slices.some((w) => w.machines.includes(M)))
        if (!isRunning || isNamed) return
        expect(desiredComponents(i)[0]).toMatchObject({ version: before.version, attempt: before.attempt })
      }),
      { numRuns: 1_000 },
    )
  })
})
