// The attacker opens a pull request whose plan is honest, and chooses every name, message and inventory in it: nothing of that hides what a reviewer must see.
import { sha256OfJson } from '#lib/sha256.ts'
import { describe, expect, test } from 'vitest'
import type { ClusterPrediction } from '#forecast/predict.ts'
import { LEAST_CHARS } from '#forecast/plan/least-chars.ts'
import { markdownOf, type PlanDocument } from '#forecast/plan/markdown.ts'
import { outlookOf, staleInventories } from '#forecast/plan/outlook.ts'
import { summaryText } from '#forecast/plan/spans.ts'
import { outlookText } from '#forecast/plan/text.ts'
import type { ClusterDifference, ObjectChange } from '#sync/difference.ts'
import { differenceOf } from '#sync/difference.ts'
import { oneWaySteps } from '#forecast/one-way.ts'
import { planeChanges } from '#forecast/plane-changes.ts'
import { loosenedBy } from '#forecast/loosened/loosened.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { API_GROUP, API_GROUP_VERSION } from '#api/kind.ts'
import { type DesiredObject } from '#delivery/desired.ts'
import { refOf, refText } from '#delivery/object-ref.ts'

const LONG = 'x'.repeat(3_000)
const WIDE = '<'.repeat(3_000)
const MARKER = 'kubenode-plan'
const COMMENT = 60_000

const change = (kind: string, name: string, more: Partial<ObjectChange> = {}): ObjectChange => {
  const ref = { group: API_GROUP, kind, namespace: '', name }
  return { change: 'changed', ref, object: refText(ref), fields: [], more: 0, ...more }
}
const differs = (changes: readonly ObjectChange[], more: Partial<ClusterDifference> = {}): ClusterDifference => ({
  cluster: 'prod',
  added: 0,
  changed: changes.length,
  removed: 0,
  unchanged: 3,
  changes,
  problems: [],
  machines: { deleted: 0, sets: [], single: [] },
  ...more,
})

const prediction = (more: Partial<ClusterPrediction> = {}): ClusterPrediction => ({
  cluster: 'prod',
  takenAt: '2026-11-22T10:00:00Z',
  of: 3,
  machines: ['m-1', 'm-2', 'm-3'],
  slices: [],
  drains: 3,
  reboots: 0,
  p50: 600_000,
  p90: 900_000,
  mostUnavailable: 1,
  brakes: [],
  risk: 'High',
  approvals: [],
  fullBudgets: [],
  classes: new Map(),
  skipped: [],
  stuck: [],
  untimed: [],
  assumed: [],
  wayBack: 60_000,
  booked: [],
  underWay: [],
  ...more,
})

const LOST = differs([change('MachineSet', 'workers', { change: 'removed' })], {
  removed: 1,
  machines: { deleted: 12, sets: [{ set: 'workers', of: 12, deleted: 12, kept: 0 }], single: [] },
})

const NO_HUB = { pipelines: [], clusters: [] }

const plan = (more: Partial<PlanDocument> = {}): PlanDocument => ({
  commit: '3f2a91c0'.repeat(5),
  base: '8be1d070'.repeat(5),
  isDirty: false,
  clusters: [LOST],
  problems: [],
  loosened: [{ cluster: 'hub', object: 'ReleasePipeline/standard', what: ['gate people is removed'] }],
  oneWay: [{ cluster: 'prod', what: 'deletes 12 machines; a revert creates new ones' }],
  outlook: outlookOf([prediction()], NO_HUB, ['prod']),
  digest: `sha256:${'a'.repeat(64)}`,
  version: '0.1.0',
  ...more,
})
const written = (of: PlanDocument, maxChars = COMMENT) => markdownOf(of, { marker: MARKER, maxChars })

/** What a tired reviewer must find in every plan of this commit. */
const MUST = [
  '🔴 **This deletes**',
  '**12 machines** in `prod`',
  '🟠 **This loosens what later commits must pass**',
  'gate people is removed',
  '🟠 **A revert does not take this back**',
  'Risk **high**',
  `plan digest \`sha256:${'a'.repeat(64)}\``,
]
/** And in every one that fits into a comment of a forge. */
const MUST_FIT = [...MUST, '| stage | cluster |', '↩ way back']

const many = <T>(count: number, of: (i: number) => T): readonly T[] => Array.from({ length: count }, (_, i) => of(i))
const predicted = (more: Partial<ClusterPrediction>): Partial<PlanDocument> => ({
  outlook: outlookOf([prediction(more)], NO_HUB, ['prod']),
})

describe('nothing pushes out what must be read:', () => {
  test.each<[string, Partial<PlanDocument>]>([
    ['warnings of any length', { warnings: many(200, (i) => `KN3068: ${i} ${LONG}`) }],
    ['warnings that grow when they are escaped', { warnings: many(200, () => WIDE) }],
    ['errors of any length', { problems: many(200, () => WIDE) }],
    ['invalid objects of any number', { clusters: [{ ...LOST, problems: many(500, () => WIDE) }] }],
    ['a name of any length', { clusters: [LOST, differs([change('MachineComponentSet', LONG)])] }],
    [
      'a thousand changed rules',
      { clusters: [LOST, differs(many(1_000, (i) => change('NodeRemedier', `${'r'.repeat(250)}${i}`)))] },
    ],
    [
      'versions of any length',
      {
        clusters: [
          LOST,
          differs(
            many(100, (i) =>
              change('MachineComponentSet', `s-${i}`, {
                fields: [{ path: `spec.components[${LONG}].version`, before: WIDE, after: WIDE }],
              }),
            ),
          ),
        ],
      },
    ],
    [
      'an inventory with many full budgets',
      predicted({ fullBudgets: many(500, (i) => ({ namespace: 'n'.repeat(200), name: `b-${i}`, nodes: [] })) }),
    ],
    [
      'an inventory with machines that are skipped for long reasons',
      predicted({ skipped: many(500, (i) => ({ set: 's', machine: `m-${i}`, reason: WIDE })) }),
    ],
    ['an inventory with many sets on their way', predicted({ underWay: many(500, () => LONG) })],
    [
      'an inventory with many sets that holds stop',
      predicted({
        stuck: many(500, () => ({ set: LONG, wait: { predicate: 'HoldPause' as const, seen: WIDE, unblock: WIDE } })),
      }),
    ],
    ['an inventory with many assumptions', predicted({ assumed: many(500, (i) => `${i}${WIDE}`) })],
    ['an inventory with components without durations', predicted({ untimed: many(500, (i) => `${LONG}${i}`) })],
    ['an inventory with a limit of any length', predicted({ brakes: [{ what: WIDE, ms: 1 }] })],
    [
      'an inventory with work of any length',
      predicted({
        booked: many(100, (i) => ({ machine: `m-${i}`, event: 'e', kind: WIDE, source: LONG, by: WIDE, from: 'now' })),
      }),
    ],
    [
      'an inventory with sets that never finish',
      predicted({
        stuck: many(500, () => ({ set: LONG, wait: { predicate: 'NoMachines' as const, seen: WIDE, unblock: WIDE } })),
      }),
    ],
    [
      'many one-way steps',
      { oneWay: many(500, (i) => ({ cluster: `c-${i}`, what: 'deletes 12 machines; a revert creates new ones' })) },
    ],
  ])('%s', (_, more) => {
    const text = written(plan(more))
    expect(text.length).toBeLessThanOrEqual(COMMENT)
    for (const part of MUST_FIT)
      expect(text.split('<details>')[0] + text.slice(text.lastIndexOf('<sub>'))).toContain(part)
  })

  test('and the shortest form keeps what is lost, loosened and not taken back', () => {
    const text = written(
      plan({ warnings: many(200, () => WIDE), problems: many(200, () => WIDE) }),
      LEAST_CHARS + 4_000,
    )
    for (const part of MUST.slice(0, 4)) expect(text).toContain(part)
  })
})

describe('harmless lines of the same block do not push out the worst one:', () => {
  const NAMES = many(30, (i) => `a${i}`)
  const rendered = (objects: readonly object[]) => ({
    objects: (objects as KubeObject[]).map((object): DesiredObject => ({
      ref: refOf(object),
      object,
      digest: sha256OfJson(object),
    })),
    rejected: [],
  })
  const ours = (kind: string, name: string, spec: object) => ({
    apiVersion: API_GROUP_VERSION,
    kind,
    metadata: { name },
    spec,
  })
  const made = (
    before: Readonly<Record<string, readonly object[]>>,
    after: Readonly<Record<string, readonly object[]>>,
  ) => {
    const [old, now] = [before, after].map(
      (side) => new Map(Object.entries(side).map(([c, all]) => [c, rendered(all)])),
    )
    return { old: old ?? new Map(), now: now ?? new Map() }
  }
  const PLANE = ours('Cluster', 'prod', {
    version: '1.36.0',
    controlPlane: { flavor: 'embedded' },
    deletionPolicy: 'Delete',
  })
  const namespaces = NAMES.map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }))

  test.each([COMMENT, LEAST_CHARS])(
    'a control plane that is deleted with thirty namespaces, in %i characters',
    (maxChars) => {
      const { old, now } = made({ aaa: namespaces, hub: [PLANE, ...namespaces] }, { aaa: [], hub: [] })
      const clusters = differenceOf(old, now)
      const oneWay = oneWaySteps(clusters, old, now, planeChanges(old, now, undefined))
      const text = written(plan({ clusters, oneWay, loosened: [], outlook: undefined }), maxChars)
      const [red = '', rest = ''] = text.split('🟠 **A revert')
      expect(red).toContain('Cluster.kubenode.io/prod')
      expect(rest).toContain('deletes cluster/prod with everything in its control plane')
    },
  )

  test('a restore that loses data behind thirty hooks', () => {
    const HOOK = { command: ['/bin/true'] }
    const component = (name: string) =>
      ours('MachineComponent', `${name}.1`, { component: name, version: '1', hooks: { preSwitch: HOOK } })
    const assigned = ours('MachineComponentSet', 'base', { components: NAMES.map((name) => ({ name, version: '1' })) })
    const cluster = (more: object) =>
      ours('Cluster', 'prod', { version: '1.36.0', controlPlane: { flavor: 'embedded', ...more } })
    const { old, now } = made(
      { hub: [cluster({})], test: [] },
      { hub: [cluster({ restore: { snapshot: 'monday' } })], test: [...NAMES.map(component), assigned] },
    )
    const oneWay = oneWaySteps(differenceOf(old, now), old, now, planeChanges(old, now, undefined))
    expect(oneWay[0]?.what).toMatch(/^restores snapshot monday of cluster\/prod/)
  })

  test('a gate that is removed behind thirty sets of another cluster that soak for a second less, or thirty pipelines that nothing uses', () => {
    const soaks = (soak: string) =>
      NAMES.map((name) => ours('MachineComponentSet', name, { selector: {}, components: [], rollout: { soak } }))
    const gates = many(3, (i) => ({ name: `g${i}`, machinesReady: {} }))
    const pipeline = (name: string, on: readonly object[]) =>
      ours('ReleasePipeline', name, { stages: [{ name: 'prod', clusters: { names: ['prod'] }, gates: on }] })
    const used = ours('FleetSource', 'fleet', {
      url: 'https://git.example.org/f.git',
      tracks: [{ name: 'fleet', pipelineRef: { name: 'standard' } }],
    })
    const { old, now } = made(
      { aaa: soaks('2s'), hub: [used, pipeline('standard', gates)] },
      { aaa: soaks('1s'), hub: [used, pipeline('standard', [])] },
    )
    expect(written(plan({ loosened: loosenedBy(old, now) }))).toContain('gate g0 is removed')
    const ten = (on: readonly object[]) => ({
      hub: [...NAMES.slice(0, 10), 'standard'].map((name) => pipeline(name, on)),
    })
    const both = made(ten(gates), ten([]))
    const few = loosenedBy(both.old, both.now)
    const text = written(plan({ loosened: few }))
    expect(text).toContain('`ReleasePipeline.kubenode.io/standard`')
  })

  test.each([60_000, 4_000])(
    'a gate of the pipeline that is used behind thirty others of other texts, in %i characters',
    (maxChars) => {
      const pipeline = (name: string, gate: string | undefined, cluster: string) =>
        ours('ReleasePipeline', name, {
          stages: [
            {
              name: 'prod',
              clusters: { names: [cluster] },
              gates: gate === undefined ? [] : [{ name: gate, machinesReady: {} }],
            },
          ],
        })
      const prod = ours('Cluster', 'prod', {})
      const hub = (isBefore: boolean, cluster: string) => [
        prod,
        ...NAMES.map((name) => pipeline(name, isBefore ? `g-${name}` : undefined, cluster)),
        pipeline('standard', isBefore ? 'board' : undefined, 'prod'),
      ]
      const loosened = (cluster: string, used?: ReadonlySet<string>) => {
        const { old, now } = made({ hub: hub(true, cluster) }, { hub: hub(false, cluster) })
        return written(plan({ loosened: loosenedBy(old, now, used) }), maxChars)
      }
      // The inventory of the hub tells which one is used; without it, those that reach no cluster come last.
      expect(loosened('prod', new Set(['standard']))).toContain('gate board is removed')
      expect(loosened('nowhere')).toContain('gate board is removed')
      // What cannot be told apart is at least named.
      if (maxChars > 4_000) expect(loosened('prod')).toContain('ReleasePipeline.kubenode.io/standard')
    },
  )

  test('a gate that is removed behind thirty that are removed alike', () => {
    const pipeline = (name: string, gates: readonly object[]) =>
      ours('ReleasePipeline', name, { stages: [{ name: 'prod', clusters: { names: ['prod'] }, gates }] })
    const all = (gates: readonly object[], mine: readonly object[]) => ({
      hub: [...NAMES.map((name) => pipeline(name, gates)), pipeline('standard', [...gates, ...mine])],
    })
    const [ready, board] = [
      { name: 'ready', machinesReady: {} },
      { name: 'board', approval: { from: ['ada'], count: 1 } },
    ]
    const { old, now } = made(all([ready], [board]), all([], []))
    const text = written(plan({ loosened: loosenedBy(old, now) }))
    expect(text).toContain('gate board is removed')
    expect(text).toMatch(/and \d+ more in `hub`: stage prod: gate ready is removed/)
    expect(text).toMatch(/\n- ⚠ also loosened: .*`ReleasePipeline.kubenode.io\/a29`/)
  })

  test('the largest set of machines behind thirty sets of one', () => {
    const set = (name: string, replicas: number) => ours('MachineSet', name, { replicas, selector: {}, template: {} })
    const { old, now } = made({ prod: [...NAMES.map((name) => set(name, 1)), set('workers', 400)] }, { prod: [] })
    const clusters = differenceOf(old, now)
    expect(written(plan({ clusters }))).toContain('**430 machines** in `prod`: `workers (400 of 400)`')
  })
})

describe('what is only doubtful is not said to be impossible, and the other way round:', () => {
  test('a warning is orange, an error is red', () => {
    const text = written(plan({ warnings: ['KN3068: nobody has these labels'], problems: ['KN3001: no such version'] }))
    const [red = '', orange = ''] = text.split('🟠 **This may be a mistake')
    expect(red).toContain('🔴 **This cannot be applied**\n- ✖ KN3001')
    expect(red).not.toContain('KN3068')
    expect(orange).toContain('- ⚠ KN3068')
    expect(written(plan({ warnings: ['KN3068: nobody'] }))).not.toContain('cannot be applied')
  })
})

describe('a plan does not say that nothing happens:', () => {
  const quiet = (clusters: readonly ClusterDifference[]) =>
    plan({ clusters, outlook: outlookOf([prediction({ machines: [], risk: undefined })], NO_HUB, ['prod'], [people]) })
  const people = { asker: 'gate people of stage prod', from: ['group:sre'], count: 1, missing: 1 }

  test('where a hold stops a set for longer than is predicted: the hold is named in red, and the sentence says so', () => {
    const [seen, unblock] = ['hold h: incident 42', 'the hold is deleted or expires at 2030-01-01T00:00:00Z']
    const stuck = [{ set: 'base', wait: { predicate: 'HoldPause' as const, seen, unblock } }]
    const clusters = [differs([change('MachineComponentSet', 'base')])]
    const outlook = outlookOf([prediction({ machines: [], risk: undefined, stuck })], NO_HUB, ['prod'])
    const text = written(plan({ clusters, outlook }))
    expect(text).toContain('**No machine is touched while a hold lasts** in 1 cluster')
    expect(text).toContain(
      '🔴 **A hold stops this**\n- ✖ prod: set base waits for hold h: incident 42; it continues when the hold is deleted or expires at 2030-01-01T00:00:00Z',
    )
    expect(text.indexOf('🔴 **A hold')).toBeLessThan(text.indexOf('**No machine'))
    expect(summaryText(clusters, outlook)).toBe('no machine is touched while a hold lasts')
    expect(outlookText(outlook)).toMatch(
      /no machine is touched while a hold lasts\n[^]*set base does not finish: hold h: incident 42; it continues when the hold is deleted/,
    )
  })

  test('where a hold on the source stops the commit: the hold is named in red, and is not why no machine is touched', () => {
    const clusters = [differs([change('DefenderPolicy', 'careful')])]
    const what = 'hub: source fleet/main: ada holds it until 2030-01-01T00:00:00Z: year end'
    const calm = outlookOf([prediction({ machines: [], risk: undefined })], NO_HUB, ['prod'])
    const outlook = { ...calm, waits: [{ is: 'Hold' as const, what }] }
    const text = written(plan({ clusters, outlook }))
    expect(text).toContain(`🔴 **A hold stops this**\n- ✖ ${what}`)
    expect(text).toContain('**No machine is touched** in 1 cluster')
    expect(outlookText(outlook)).toContain(`no machine is touched by a rollout\n  ! ${what}`)
  })

  test('where a hold or a window delays it: both are named beside the times', () => {
    const clusters = [differs([change('MachineComponentSet', 'base')])]
    const brakes = [{ what: 'hold h: incident 42 (set base)', ms: 49.1 * 3_600_000, isHold: true as const }]
    const window = 'stage prod starts in its maintenance windows only (none opens again)'
    const outlook = {
      ...outlookOf([prediction({ brakes })], NO_HUB, ['prod']),
      waits: [{ is: 'Window' as const, what: window }],
    }
    const hold = 'prod: hold h: incident 42 (set base) delays it by 2 days 2 h, which the times include'
    const read = (text: string) => text.replaceAll(/&#(\d+);/g, (_, n: string) => String.fromCharCode(Number(n)))
    expect(read(written(plan({ clusters, outlook })))).toContain(`**Check this**\n- ⚠ ${hold}\n- ⚠ ${window}\n`)
    expect(outlookText(outlook)).toContain(`\n  ! ${hold}\n  ! ${window}\n`)
  })

  test('where machines are deleted or made', () => {
    const grown = differs([change('MachineSet', 'workers')], {
      machines: { deleted: 0, sets: [], single: [], created: 15 },
    })
    expect(written(quiet([LOST]))).toContain('**12 machines are deleted; no other machine is touched**')
    expect(written(quiet([grown]))).toContain('**15 machines are created; no other machine is touched**')
    expect(summaryText([grown], quiet([grown]).outlook)).toBe(
      'creates 15 machines · no other machine is touched · 1 approval missing',
    )
    expect(written(quiet([differs([change('ConfigMap', 'a')])]))).toContain('**No machine is touched** in 1 cluster')
  })

  test('where rules change, which repair machines later', () => {
    const mode = { path: 'spec.mode', before: 'DryRun', after: 'Enforce' }
    const text = written(
      quiet([
        differs([
          change('NodeRemedier', 'silent', { fields: [mode] }),
          change('NodeRemedier', 'not-ready', { fields: [mode] }),
          change('NodeRemedier', 'new-one', { change: 'added' }),
          change('NodeRemedier', 'old-one', { change: 'removed' }),
        ]),
      ]),
    )
    expect(text).toContain('⚠ 4 rules of repairs change: what is repaired from then on is not predicted.')
    expect(text).toContain(
      '**What changes**: NodeRemedier DryRun → Enforce: `silent`, `not-ready` · NodeRemedier added: `new-one` · NodeRemedier removed: `old-one`',
    )
  })

  test('where people must approve although no machine is touched', () => {
    expect(written(quiet([differs([change('ConfigMap', 'a')])]))).toContain(
      '🟠 Needs 1 approval of `group:sre` (gate people of stage prod)',
    )
  })

  test('where one cluster only was asked for', () => {
    const text = written({ ...quiet([differs([])]), only: 'prod' })
    expect(text).toContain('· only `prod`, other clusters are left out')
    expect(text).toContain('**Nothing changes in `prod`.**')
  })

  test('where a set of components leaves, which the block of deletions names', () => {
    const gone = differs([change('MachineComponentSet', 'hosts', { change: 'removed' })], { removed: 1 })
    expect(written(quiet([gone]))).toContain('- ✖ in `prod`: `MachineComponentSet.kubenode.io/hosts`')
  })
})

describe('an inventory that a pull request brings', () => {
  const NOW = Date.parse('2026-11-23T10:00:00Z')
  const taken = (takenAt: string) => staleInventories([{ cluster: 'prod', takenAt }], NOW)
  test.each<[string, string, readonly unknown[]]>([
    ['is not named while it is fresh', '2026-11-23T09:00:00Z', []],
    ['nor with a clock that is minutes ahead', '2026-11-23T10:05:00Z', []],
    [
      'is named when it is old',
      '2026-01-05T10:00:00Z',
      [{ cluster: 'prod', takenAt: '2026-01-05T10:00:00Z', days: 322 }],
    ],
    [
      'and when it is of a time to come',
      '2099-01-01T00:00:00Z',
      [{ cluster: 'prod', takenAt: '2099-01-01T00:00:00Z', days: undefined }],
    ],
  ])('%s', (_, takenAt, found) => expect(taken(takenAt)).toEqual(found))

  test('is named above the fold', () => {
    const stale = taken('2026-01-05T10:00:00Z')
    const outlook = { ...outlookOf([prediction()], NO_HUB, ['prod']), stale }
    expect(written(plan({ outlook })).split('<details>')[0]).toContain('- ⚠ the inventory of prod is 322 days old')
  })
})

test('labels and annotations of an author do not push a changed field out of the ones that are shown', () => {
  const made = (version: string, marks: string): DesiredObject => {
    const object = {
      apiVersion: API_GROUP_VERSION,
      kind: 'MachineComponentSet',
      metadata: { name: 'base', annotations: Object.fromEntries(many(500, (i) => [`a.example/${i}`, marks])) },
      spec: { components: [{ name: 'beacon', version }] },
    }
    return { ref: refOf(object), object, digest: sha256OfJson(object) }
  }
  const of = (object: DesiredObject) => new Map([['prod', { objects: [object], rejected: [] }]])
  const all = differenceOf(of(made('1.0.0', 'x')), of(made('6.6.6', 'y')))
  expect(all[0]?.changes[0]?.fields[0]).toEqual({
    path: 'spec.components[beacon].version',
    before: '1.0.0',
    after: '6.6.6',
  })
  expect(written(plan({ clusters: all }))).toContain('**What changes**: `beacon` 1.0.0 → 6.6.6')
})

describe('names of an author are text:', () => {
  test.each([
    ['&#64;acme/admins'],
    ['&commat;acme'],
    ['@acme/admins'],
    ['acme/fleet#12'],
    ['group/project!7'],
    ['</details><h1>Approved</h1>'],
    ['<!-- kubenode-plan -->'],
    ['![x](https://example.org/x.png)'],
    ['$\\color{white}{x}$'],
    ['HTTPS://example.org'],
    ['\u202egnp.exe'],
    ['\u200b\u2060\u00ad'],
    ['a\n🟢 Risk **low**'],
    ['a\r/merge'],
    ['a\u2028- ✖ forged'],
    ['`` ` ``'],
    ['|---|---|'],
    ['```\n</details>'],
    ['::set-env name=a::b'],
    ['##[add-path]/tmp'],
  ])('%j', (name) => {
    const text = written(
      plan({
        warnings: [name],
        problems: [name],
        clusters: [{ ...LOST, problems: [name] }, differs([change('NodeRemedier', name)], { cluster: name })],
        ...predicted({
          stuck: [{ set: name, wait: { predicate: 'NoMachines', seen: name, unblock: name } }],
          assumed: [name],
        }),
      }),
    )
    const outside = text.replaceAll(/^```[^]*?^```$/gm, '').replaceAll(/`[^`\n]*`/g, '')
    // As the forge decodes it, once.
    const read = outside.replaceAll(/&#(\d+);|&commat;/g, (_, n?: string) =>
      n === undefined ? '@' : String.fromCharCode(Number(n)),
    )
    expect(read).not.toMatch(/@[a-z]|#\d|![0-9]|https?:/i)
    expect(outside).not.toMatch(/<h1>|!\[/)
    expect(text).not.toMatch(/[\u202e\u200b\u2060\u2028\r]|^::|##\[|^🟢|^\/merge/m)
    expect(outside.split('<!--')).toHaveLength(2)
    expect(outside.split('<details>')).toHaveLength(outside.split('</details>').length)
  })
})
