// Every branch of the decision about one object, by name, and invariants for all of them.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type DesiredObject, desiredOf, shortDigest } from './desired.ts'
import { type Claims, type ClusterConfig, diff, type Live, type LiveObject, type Sides } from './diff.ts'
import { type InventoryRef, refText } from './object-ref.ts'
import { isWrite, type Operation } from './operation.ts'
import { NO_OTHER_TARGET } from './targets.ts'

const COMMIT = 'c'.repeat(40)
const EARLIER = 'e'.repeat(40)
const SOURCE = 'fleet/own'
const OTHER = 'fleet/other'

const configMap = (value: string): DesiredObject =>
  desiredOf({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'shop' }, data: { value } })
const ours = (kind: string, name: string, spec: object = {}): DesiredObject =>
  desiredOf({ apiVersion: 'kubenode.io/v1alpha1', kind, metadata: { name }, spec })

const a = configMap('1')
const set = ours('MachineSet', 'workers', { replicas: 3 })
const secret = (name: string): DesiredObject =>
  desiredOf({ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: 'shop' } })

const entry = (d: DesiredObject): InventoryRef => ({ ...d.ref, uid: 'u-1', digest: shortDigest(d.digest) })
const live = (more: Partial<LiveObject> = {}): LiveObject => ({
  uid: 'u-1',
  resourceVersion: '7',
  commit: EARLIER,
  source: SOURCE,
  matches: true,
  isDeleting: false,
  ...more,
})
const without = (field: 'source' | 'commit'): LiveObject => {
  const { [field]: _, ...rest } = live()
  return field === 'commit' ? { ...rest, commit: undefined } : (rest as LiveObject)
}

const claims = (more: Partial<Claims> = {}): Claims => ({
  rejected: [],
  elsewhere: new Set(),
  referenced: new Set(),
  ...more,
})
const config = (more: Partial<ClusterConfig> = {}): ClusterConfig => ({
  commit: COMMIT,
  source: SOURCE,
  target: 'Member',
  prune: { enabled: true, guard: '100%' },
  drift: 'Correct',
  ...more,
})

const textOf = (o: Operation): string => {
  if (o.kind === 'Keep') return 'Keep'
  const by = isWrite(o) && o.commit !== COMMIT ? ' by the commit that it had' : ''
  return `${o.kind} ${o.reason}${by}`
}

type Case = readonly [
  what: string,
  sides: { readonly recorded?: InventoryRef; readonly live?: Live; readonly declared?: Sides['declared'] },
  expected: string,
  config?: Partial<ClusterConfig>,
  claims?: Partial<Claims>,
]

const check = ([, { declared, recorded, live: found = 'Unknown' }, , how, more]: Case): Operation =>
  diff({ declared, recorded, live: found }, claims(more), config(how))

const changed = { ...entry(a), digest: '0123456789abcdef' }
const undigested: InventoryRef = { ...a.ref, uid: 'u-1' }
const drifted = live({ matches: false })
const ending = live({ isDeleting: true })

const DECLARED: readonly Case[] = [
  ['that is wrong stays as it is', { declared: { ref: a.ref, problem: 'a typo' }, live: live() }, 'Report Rejected'],

  ['that is new is applied', { live: 'Absent' }, 'Create New'],
  ['that is new is applied when it cannot be read', {}, 'Create New'],
  ['that is new is applied to the object that others made', { live: without('source') }, 'Create New'],
  ['that git brings back waits until its deletion has ended', { live: ending }, 'Defer BeingDeleted'],
  [
    'set that git brings back keeps its machines while it is being deleted',
    { declared: set, live: ending },
    'Create New',
  ],

  ['with other content is applied', { recorded: changed, live: live() }, 'Update Changed'],
  ['with other content is applied when it cannot be read', { recorded: changed }, 'Update Changed'],
  ['with other content is applied where drift is off', { recorded: changed }, 'Update Changed', { drift: 'Off' }],
  ['with other content is applied under a hold', { recorded: changed }, 'Update Changed', { hold: 'DriftAndPrune' }],
  ['whose last pass was killed is applied', { recorded: undigested, live: live() }, 'Update Unrecorded'],
  [
    'of an older release gets its mark',
    { recorded: entry(a), live: live({ isUnmarked: true }) },
    'Update Unmarked by the commit that it had',
  ],
  [
    'that lost its mark gets it back',
    { recorded: entry(a), live: without('source') },
    'Update Unmarked by the commit that it had',
  ],
  [
    'that never had a commit gets this one',
    { recorded: entry(a), live: { ...without('commit'), matches: false } },
    'Restore Drifted',
  ],

  ['that is as recorded is kept', { recorded: entry(a), live: live() }, 'Keep'],
  ['that cannot be read is kept', { recorded: entry(a) }, 'Keep'],
  [
    'that is as recorded is applied where all is repeated',
    { recorded: entry(a) },
    'Restore Repeated',
    { isRepeated: true },
  ],
  ['that was deleted comes back', { recorded: entry(a), live: 'Absent' }, 'Restore Missing'],
  ['that was deleted is reported', { recorded: entry(a), live: 'Absent' }, 'Report DriftDetected', { drift: 'Detect' }],
  ['that was deleted is left so', { recorded: entry(a), live: 'Absent' }, 'Keep', { drift: 'Off' }],
  [
    'that was deleted does not come back under a hold',
    { recorded: entry(a), live: 'Absent' },
    'Report DriftDetected',
    { hold: 'DriftAndPrune' },
  ],
  ['that is being deleted waits', { recorded: entry(a), live: ending }, 'Defer BeingDeleted'],
  [
    'set that is being deleted keeps its machines',
    { declared: set, recorded: entry(set), live: ending },
    'Restore Missing',
  ],
  [
    'set that a user deletes waits where drift is only detected',
    { declared: set, recorded: entry(set), live: ending },
    'Defer BeingDeleted',
    { drift: 'Detect' },
  ],
  ['that was edited is put back', { recorded: entry(a), live: drifted }, 'Restore Drifted by the commit that it had'],
  ['that was edited is reported', { recorded: entry(a), live: drifted }, 'Report DriftDetected', { drift: 'Detect' }],
  ['that was edited is left so', { recorded: entry(a), live: drifted }, 'Keep', { drift: 'Off' }],
  [
    'that was edited is reported under a hold',
    { recorded: entry(a), live: drifted },
    'Report DriftDetected',
    { hold: 'Drift' },
  ],
  [
    'that was edited is left so under a hold',
    { recorded: entry(a), live: drifted },
    'Keep',
    { drift: 'Off', hold: 'Drift' },
  ],
  [
    'whose edit a hold allows stays edited',
    { recorded: entry(a), live: { ...drifted, isAllowed: true } },
    'Report EditAllowed',
  ],

  ['that another source has is not applied', { live: live({ source: OTHER }) }, 'Conflict OtherSource'],
  [
    'that another source has is not applied when it changed here',
    { recorded: changed, live: live({ source: OTHER, matches: false }) },
    'Conflict OtherSource',
  ],
  [
    'that a replaced source had is applied',
    { recorded: undigested, live: live({ source: OTHER }) },
    'Update Unrecorded',
    { replaces: [OTHER] },
  ],
]

const named = (cases: readonly Case[]) => cases.map((row) => [row[0], row] as const)

const other = (more: Partial<typeof NO_OTHER_TARGET>): Partial<Claims> => ({ other: { ...NO_OTHER_TARGET, ...more } })
const here = new Set([refText(a.ref)])
const component = ours('MachineComponent', 'beacon.1.0.0')

const UNDECLARED: readonly Case[] = [
  ['is deleted', { recorded: entry(a), live: live() }, 'Delete Undeclared'],
  ['of an older release is deleted', { recorded: entry(a), live: live({ isUnmarked: true }) }, 'Delete Undeclared'],
  ['whose last pass was killed is deleted', { recorded: a.ref, live: live() }, 'Delete Undeclared'],
  [
    'of a replaced source is deleted',
    { recorded: entry(a), live: live({ source: OTHER }) },
    'Delete Undeclared',
    { replaces: [OTHER] },
  ],

  [
    'that another track declares is left to it',
    { recorded: entry(a), live: live() },
    'Forget MovedTrack',
    {},
    { elsewhere: here },
  ],
  [
    'that the other target declares is left to it',
    { recorded: entry(a), live: live() },
    'Forget MovedTarget',
    {},
    other({ listed: here, declared: here }),
  ],
  [
    'that both targets have is left to the member by the hub',
    { recorded: entry(a), live: live() },
    'Forget MovedTarget',
    { target: 'Hub' },
    other({ listed: here }),
  ],
  [
    'that both targets have waits in the member for the hub',
    { recorded: entry(a), live: live() },
    'Defer PruneDeferred',
    {},
    other({ listed: here }),
  ],
  [
    'that the other target is about to have waits',
    { recorded: entry(a), live: live() },
    'Defer PruneDeferred',
    {},
    other({ declared: here }),
  ],

  ['that is gone is forgotten', { recorded: entry(a), live: 'Absent' }, 'Forget Gone'],
  ['that cannot be read stays', { recorded: entry(a) }, 'Defer Unreadable'],
  ['that is being deleted is waited for', { recorded: entry(a), live: ending }, 'Defer BeingDeleted'],

  [
    'stays under a hold of deletions',
    { recorded: entry(a), live: live() },
    'Defer PruneDeferred',
    { hold: 'DriftAndPrune' },
  ],
  ['is deleted under a hold of drift', { recorded: entry(a), live: live() }, 'Delete Undeclared', { hold: 'Drift' }],
  [
    'stays where nothing is pruned',
    { recorded: entry(a), live: live() },
    'Defer PruneDisabled',
    { prune: { enabled: false, guard: '100%' } },
  ],

  ['that was replaced is another object', { recorded: entry(a), live: live({ uid: 'u-2' }) }, 'Forget OtherObject'],
  [
    'that another source has is left to it',
    { recorded: entry(a), live: live({ source: OTHER }) },
    'Forget OtherSource',
  ],
  ['that lost its mark is nobody’s', { recorded: entry(a), live: without('source') }, 'Forget OtherObject'],
  ['that others had made stays theirs', { recorded: entry(a), live: live({ isFound: true }) }, 'Forget OtherObject'],
  [
    'in the namespace of a control plane is left alone',
    { recorded: { ...entry(a), namespace: 'kc-prod' }, live: live() },
    'Forget OtherObject',
  ],

  [
    'of a kind that is never pruned stays',
    { recorded: entry(a), live: live() },
    'Defer NeverPruned',
    { neverPruned: new Set(['ConfigMap']) },
  ],
  [
    'that spec.writes no longer allows stays',
    { recorded: entry(a), live: live() },
    'Defer PruneDisabled',
    { writes: { kinds: ['ConfigMap'], namespaces: ['bank'] } },
  ],
  [
    'component version that machines use stays',
    { recorded: entry(component), live: live() },
    'Defer PruneDeferred',
    {},
    { referenced: new Set([component.ref.name]) },
  ],
  ['component version that nothing uses is deleted', { recorded: entry(component), live: live() }, 'Delete Undeclared'],
  [
    'Secret stays while another is wrong, which may be the same under another name',
    { recorded: entry(secret('old')), live: live() },
    'Defer PruneDeferred',
    {},
    { rejected: [{ ref: secret('new').ref, problem: 'its MAC does not match' }] },
  ],
  [
    'set stays while another is wrong, which may take over its machines',
    { recorded: entry(set), live: live() },
    'Defer PruneDeferred',
    {},
    { rejected: [{ ref: ours('MachineSet', 'next').ref, problem: 'a typo' }] },
  ],
]

describe('S27 F41 an object', () => {
  test.each(named(DECLARED))('%s', (_, [what, sides, expected, ...rest]) => {
    expect(textOf(check([what, { declared: a, ...sides }, expected, ...rest]))).toBe(expected)
  })
})

describe('S27 F41 an object that is not declared any more', () => {
  test.each(named(UNDECLARED))('%s', (_, row) => {
    expect(textOf(check(row))).toBe(row[2])
  })
})

describe('for any object', () => {
  const object = fc.constantFrom(a, set, component)
  const anyLive = fc.oneof(
    fc.constantFrom<Live>('Absent', 'Unknown'),
    fc.record({
      uid: fc.constantFrom('u-1', 'u-2'),
      resourceVersion: fc.constant('7'),
      commit: fc.constantFrom(EARLIER, undefined),
      source: fc.constantFrom(SOURCE, OTHER, undefined),
      isUnmarked: fc.constantFrom(true, undefined),
      isFound: fc.constantFrom(true, undefined),
      matches: fc.boolean(),
      isAllowed: fc.boolean(),
      isDeleting: fc.boolean(),
    }) as fc.Arbitrary<LiveObject>,
  )
  const world = fc
    .record({
      object,
      is: fc.constantFrom('declared', 'wrong', 'undeclared'),
      recorded: fc.constantFrom('same', 'changed', 'undigested', 'named', 'none'),
      live: anyLive,
      how: fc.record({
        drift: fc.constantFrom<ClusterConfig['drift'][]>('Correct', 'Detect', 'Off'),
        hold: fc.constantFrom(undefined, 'Drift', 'DriftAndPrune'),
        target: fc.constantFrom('Hub', 'Member'),
        replaces: fc.constantFrom([], [OTHER]),
        isPruned: fc.boolean(),
      }),
      claimed: fc.constantFrom('nowhere', 'elsewhere', 'listed', 'declared', 'listed and declared', 'used'),
    })
    .map(({ object: o, is, recorded, live: found, how: { hold, isPruned, ...how }, claimed }) => {
      const names = new Set([refText(o.ref)])
      const entries = { same: entry(o), changed: { ...entry(o), digest: 'f' }, undigested: { ...o.ref, uid: 'u-1' } }
      const sides: Sides = {
        declared: is === 'declared' ? o : is === 'wrong' ? { ref: o.ref, problem: 'wrong' } : undefined,
        recorded: recorded === 'none' ? undefined : recorded === 'named' ? o.ref : entries[recorded],
        live: found,
      }
      const settings = config({
        ...(how as Partial<ClusterConfig>),
        ...(hold !== undefined && { hold: hold as 'Drift' }),
        prune: { enabled: isPruned, guard: '100%' },
      })
      const all = claims({
        ...(claimed === 'elsewhere' && { elsewhere: names }),
        ...(claimed === 'used' && { referenced: new Set([o.ref.name]) }),
        ...other({
          ...(claimed.includes('listed') && { listed: names }),
          ...(claimed.includes('declared') && { declared: names }),
        }),
      })
      return { object: o, sides, settings, all }
    })

  /** The state after `act`, once everything took effect. */
  const settled = ({ declared, recorded, live: found }: Sides, operation: Operation): Sides => {
    if (isWrite(operation)) return { declared, recorded: entry(operation.desired), live: live() }
    if (operation.kind === 'Delete') return { declared, recorded: undefined, live: 'Absent' }
    const isLeft = operation.kind === 'Forget' || operation.kind === 'Conflict'
    return { declared, recorded: isLeft ? undefined : recorded, live: found }
  }
  const isChange = (o: Operation): boolean => isWrite(o) || o.kind === 'Delete'

  test('a second delivery changes nothing', () => {
    fc.assert(
      fc.property(world, ({ sides, settings, all }) => {
        const first = diff(sides, all, settings)
        const second = diff(settled(sides, first), all, settings)
        expect(isChange(second)).toBe(false)
        if (!isChange(first) && first.kind !== 'Forget') expect(second.kind).toBe(first.kind)
      }),
      { numRuns: 2_000 },
    )
  })

  test('only what is recorded, ours, read and not declared is deleted', () => {
    fc.assert(
      fc.property(world, ({ sides: { declared, recorded, live: found }, settings, all }) => {
        const operation = diff({ declared, recorded, live: found }, all, settings)
        if (operation.kind !== 'Delete') return
        expect([declared, settings.prune.enabled]).toEqual([undefined, true])
        expect(recorded).toMatchObject({ ...operation.ref })
        expect(found).toMatchObject({ uid: operation.uid, isDeleting: false })
        const { uid, source, isFound } = found as LiveObject
        expect([recorded?.uid ?? uid, isFound]).toEqual([uid, undefined])
        expect([SOURCE, ...(settings.replaces ?? [])]).toContain(source)
      }),
      { numRuns: 2_000 },
    )
  })

  test('an object of another source is never written', () => {
    fc.assert(
      fc.property(world, ({ sides, settings, all }) => {
        const { live: found } = sides
        const isTheirs = typeof found === 'object' && found.source === OTHER && settings.replaces?.length === 0
        if (isTheirs) expect(isChange(diff(sides, all, settings))).toBe(false)
      }),
      { numRuns: 2_000 },
    )
  })
})
