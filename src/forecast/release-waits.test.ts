import { sha256OfJson } from '#lib/sha256.ts'
import { describe, expect, test } from 'vitest'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { type DesiredObject, type RenderedTarget, type Targets } from '#delivery/desired.ts'
import { refOf } from '#delivery/object-ref.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { INVENTORY_FORM, type Inventory } from './inventory.ts'
import { releaseWaits } from './release-waits.ts'

/** A Monday. */
const NOW = Date.parse('2026-01-05T12:00:00Z')

const made = (kind: string, name: string, spec: object): KubeObject => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind,
  metadata: { name, namespace: 'fleet' },
  spec,
})
const target = (...objects: readonly KubeObject[]): RenderedTarget => ({
  objects: objects.map((object): DesiredObject => ({ ref: refOf(object), object, digest: sha256OfJson(object) })),
  rejected: [],
})
const hubWith = (windows: readonly object[] | undefined, prodStage = 'prod'): Targets =>
  new Map([
    [
      'hub',
      target(
        made('ReleasePipeline', 'standard', {
          stages: [
            { name: 'test', clusters: { names: ['test-1'] } },
            { name: 'prod', clusters: { selector: { matchLabels: { 'kubenode.io/stage': 'prod' } } }, windows },
            { name: 'free', clusters: { selector: { matchLabels: { 'kubenode.io/stage': 'free' } } } },
          ],
        }),
        made('Cluster', 'prod-1', { stage: prodStage }),
      ),
    ],
  ])

const hold = (
  target: OperationalHold['spec']['target'],
  effect: OperationalHold['spec']['effect'],
): OperationalHold => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'OperationalHold',
  metadata: { name: `${effect.toLowerCase()}-${target.kind.toLowerCase()}-${target.name ?? 'all'}` },
  spec: { target, effect, reason: 'year end', author: 'ada', until: '2026-01-06T00:00:00Z' },
})

const hub = (holds: readonly OperationalHold[]): Inventory => ({
  form: INVENTORY_FORM,
  cluster: 'hub',
  takenAt: '2026-01-05T11:50:00Z',
  machines: [],
  nodes: [],
  machineSets: [],
  sets: [],
  components: [],
  revisions: [],
  permits: [],
  holds,
  approvals: [],
  policies: [],
  fullBudgets: [],
  sources: [{ source: 'fleet/main', prune: { enabled: true, guard: 1 }, tracks: [] }],
})

describe('a hold on the hub', () => {
  const waits = (holds: readonly OperationalHold[], clusters: readonly string[] = ['prod-1'], now = NOW) =>
    releaseWaits({
      before: hubWith(undefined),
      after: hubWith(undefined),
      clusters,
      inventories: [hub(holds)],
      now,
    }).map((w) => w.what)
  const source = { kind: 'FleetSource', name: 'main' } as const

  test('on the source says who holds it, why, until when, and the command that ends it', () => {
    expect(waits([hold(source, 'Pause')])).toEqual([
      'hub: source fleet/main: ada holds it until 2026-01-06T00:00:00Z: year end; nothing of the commit is applied before it ends: kubenode resume source/main',
    ])
  })

  test('on all releases covers the one that the commit makes', () => {
    expect(waits([hold({ kind: 'Release', selector: {} }, 'Freeze')])).toEqual([
      expect.stringContaining('releases of source fleet/main: ada holds it'),
    ])
  })

  test.each<[string, OperationalHold['spec']['target'], OperationalHold['spec']['effect']]>([
    ['on another source', { kind: 'FleetSource', name: 'other' }, 'Pause'],
    ['on a source in another namespace', { ...source, namespace: 'other' }, 'Pause'],
    ['on one Release, which is not that of the commit', { kind: 'Release', name: 'main-1' }, 'Pause'],
    ['with another effect', source, 'Retry'],
  ])('%s is none', (_, target, effect) => {
    expect(waits([hold(target, effect)])).toEqual([])
  })

  test('that is over, or of a commit that changes nothing, is none', () => {
    expect(waits([hold(source, 'Pause')], ['prod-1'], Date.parse('2026-01-06T00:00:00Z'))).toEqual([])
    expect(waits([hold(source, 'Pause')], [])).toEqual([])
  })
})

describe('windows of stages', () => {
  const SUNDAYS = [{ cron: '0 3 * * 0', duration: '2h', timeZone: 'UTC' }]
  const waits = (before: Targets, after: Targets, clusters: readonly string[] = ['prod-1'], now = NOW) =>
    releaseWaits({ before, after, clusters, inventories: [], now }).map((w) => w.what)
  const closed = hubWith(SUNDAYS)

  test('of a stage that the commit reaches are named with the next opening', () => {
    expect(waits(closed, closed)).toEqual([
      'stage prod starts in its maintenance windows only (the next one opens at 2026-01-11T03:00:00Z); the predicted times do not include that wait',
    ])
  })

  test('that are open, over or wrong are said as such', () => {
    expect(waits(closed, closed, ['prod-1'], Date.parse('2026-01-11T04:00:00Z'))[0]).toContain('(one is open now)')
    const over = hubWith([{ ...SUNDAYS[0], until: '2026-01-01T00:00:00Z' }])
    expect(waits(over, over)[0]).toContain('(none opens again)')
    const wrong = hubWith([{ ...SUNDAYS[0], timeZone: 'Mars/Olympus' }])
    expect(waits(wrong, wrong)[0]).toContain('(none can open: window "0 3 * * 0" in Mars/Olympus: ')
  })

  test('of a stage that the commit does not reach are not', () => {
    expect(waits(closed, closed, ['test-1'])).toEqual([])
  })

  test('bind the commit that drops them, and the one that moves a cluster out of the stage', () => {
    expect(waits(closed, hubWith(undefined))).toHaveLength(1)
    expect(waits(closed, hubWith(SUNDAYS, 'free'))).toHaveLength(1)
    expect(waits(hubWith(undefined), closed)).toEqual([])
  })
})

describe('a cluster in no stage', () => {
  const waits = (before: Targets, after: Targets, clusters: readonly string[]) =>
    releaseWaits({ before, after, clusters, inventories: [], now: NOW }).map((w) => w.what)
  const none = hubWith(undefined, 'nowhere')
  const WAITS = ['1 cluster in no stage of a pipeline: prod-1; nothing changes there until a commit gives it a stage']

  test('waits, whether its objects change or its Cluster does', () => {
    expect(waits(none, none, ['prod-1'])).toEqual(WAITS)
    expect(waits(none, hubWith(undefined, 'elsewhere'), ['hub'])).toEqual(WAITS)
  })

  test('waits no longer where the commit gives it a stage, and not yet where the commit takes it', () => {
    expect(waits(none, hubWith(undefined, 'prod'), ['prod-1'])).toEqual([])
    expect(waits(hubWith(undefined), none, ['prod-1'])).toEqual([])
    expect(waits(none, none, ['test-1'])).toEqual([])
  })
})
