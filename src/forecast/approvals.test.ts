import { defined } from '#lib/defined.ts'
import { sha256OfJson } from '#lib/sha256.ts'
import { describe, expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { Approval } from '#api/kinds/approval.ts'
import type { DefenderPolicy } from '#api/kinds/defender-policy.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { approvalDigest } from '#permits/approval-digest.ts'
import { machineUnit } from '#defender/unit.ts'
import { type DesiredObject, type RenderedTarget, type Targets } from '#delivery/desired.ts'
import { refOf } from '#delivery/object-ref.ts'
import { targetDigest, targetsDigest } from '#sync/release/tracks.ts'
import { withTurns } from '#sync/release/turns.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { workingMachine } from '#test/support/fleets/rollout-fleet.ts'
import { permitApprovals, releaseApprovals } from './approvals.ts'
import { INVENTORY_FORM, type Inventory, type NewestContent } from './inventory.ts'

const NOW = Date.parse('2026-01-05T12:00:00Z')
const COMMIT = 'c'.repeat(40)

/** As sync makes a Release of it: the Cluster is part of what its cluster gets. */
const digestsIn = (targets: Targets, names: readonly string[]) => {
  const all = withTurns(targets, { had: () => false })
  return Object.fromEntries(names.map((name) => [name, targetDigest(all.get(name) ?? { objects: [], rejected: [] })]))
}

const approval = (digest: string, by: string, more: Partial<Approval['spec']> = {}): Approval => ({
  apiVersion: API_GROUP_VERSION,
  kind: 'Approval',
  metadata: { name: `${by}-${digest.slice(0, 8)}` },
  spec: { digest, by, ...more },
})

describe('approvals of the Defender', () => {
  const permit = (machine: string, operations: OperationPermit['spec']['operations'] = ['SwitchComponent', 'Drain']) =>
    ({
      apiVersion: API_GROUP_VERSION,
      kind: 'OperationPermit',
      metadata: { name: `p-${machine}`, uid: `p-${machine}` },
      spec: {
        requester: { kind: 'MachineComponentSet', name: 'base', uid: 'set' },
        operations,
        targets: [{ kind: 'Machine', name: machine, uid: `uid-${machine}` }],
        commit: COMMIT,
      },
    }) as unknown as OperationPermit
  const policy = (spec: Partial<DefenderPolicy['spec']>): DefenderPolicy => ({
    apiVersion: API_GROUP_VERSION,
    kind: 'DefenderPolicy',
    metadata: { name: 'careful' },
    spec: { mode: 'Enforce', approvals: [{ risk: 'Medium', from: ['group:sre'], count: 1 }], ...spec },
  })
  const permits = ['a', 'b', 'c'].map((m) => permit(m))
  const needed = (policies: readonly DefenderPolicy[], approvals: readonly Approval[] = []) =>
    permitApprovals({
      permits,
      policies,
      approvals,
      unitOf: (uid) => machineUnit(workingMachine(uid.replace('uid-', '')), undefined),
      now: NOW,
    })
  const [first] = permits
  const digest = first === undefined ? '' : approvalDigest(first.spec)
  const NONE_GIVEN = { asker: 'policy careful', from: ['group:sre'], count: 1, batches: 3, missing: 3 }

  test('are needed for each batch', () => {
    expect(needed([policy({})])).toEqual([NONE_GIVEN])
  })

  test.each<[string, Approval, number]>([
    ['that was given for a batch is subtracted', approval(digest, 'ada', { groups: ['sre'] }), 2],
    ['of another user is not', approval(digest, 'ada', { groups: ['dev'] }), 3],
    ['that is over is not', approval(digest, 'ada', { groups: ['sre'], until: '2026-01-05T11:59:59Z' }), 3],
    ['of another digest is not', approval('0'.repeat(64), 'ada', { groups: ['sre'] }), 3],
  ])('one %s', (_, given, missing) => {
    expect(needed([policy({})], [given])).toEqual([{ ...NONE_GIVEN, missing }])
  })

  test.each<[string, Partial<DefenderPolicy['spec']>]>([
    ['that only reports', { mode: 'Audit' }],
    ['of a higher risk', { approvals: [{ risk: 'High', from: ['ada'], count: 1 }] }],
    ['of other machines', { selector: { matchLabels: { 'kubenode.io/pool': 'gpu' } } }],
    ['of other operations', { operations: ['Reboot'] }],
  ])('are not needed by a policy %s', (_, spec) => {
    expect(needed([policy(spec)])).toEqual([])
  })
})

describe('approvals of a release', () => {
  const made = (kind: string, name: string, spec: object): KubeObject => ({
    apiVersion: API_GROUP_VERSION,
    kind,
    metadata: { name, namespace: 'fleet' },
    spec,
  })
  const target = (...objects: readonly KubeObject[]): RenderedTarget => ({
    objects: objects.map((object): DesiredObject => ({ ref: refOf(object), object, digest: sha256OfJson(object) })),
    rejected: [],
  })
  const BOARD = { name: 'board', approval: { from: ['group:release', 'bob'], count: 2 } }
  const pipeline = (gates: readonly object[]) =>
    made('ReleasePipeline', 'standard', {
      stages: [
        { name: 'test', clusters: { names: ['test-1'] } },
        { name: 'prod', clusters: { selector: { matchLabels: { 'kubenode.io/stage': 'prod' } } }, before: gates },
      ],
    })
  const clusters = [made('Cluster', 'test-1', { stage: 'test' }), made('Cluster', 'prod-1', { stage: 'prod' })]
  const config = (value: string) => ({ ...made('ConfigMap', 'a', {}), apiVersion: 'v1', data: { value } })
  const fleet = (test1: string, prod1: string, gates: readonly object[] = [BOARD]): Map<string, RenderedTarget> =>
    new Map([
      ['hub', target(pipeline(gates), ...clusters)],
      ['test-1', target(config(test1))],
      ['prod-1', target(config(prod1))],
    ])
  const inventory = (approvals: readonly Approval[], hasSource = true): Inventory => ({
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
    holds: [],
    approvals,
    policies: [],
    fullBudgets: [],
    ...(hasSource && {
      sources: [
        {
          source: 'fleet/fleet',
          prune: { enabled: true, guard: 1 },
          tracks: [{ name: 'all', match: {}, pipelineRef: { name: 'standard' } }],
        },
      ],
    }),
  })
  const needed = (after: Targets, inventories: readonly Inventory[]) =>
    releaseApprovals({ before: fleet('1', '1'), after, inventories, now: NOW })
  const WANTED = { asker: 'gate board of stage prod', from: ['group:release', 'bob'], count: 2, missing: 2 }

  test('are those of the stages whose clusters change', () => {
    expect(needed(fleet('2', '2'), [inventory([])])).toEqual([WANTED])
    expect(needed(fleet('2', '1'), [inventory([])])).toEqual([])
  })

  test('are those of the stage whose cluster leaves the fleet, where it is deleted', () => {
    const without = fleet('1', '1')
    without.set('hub', target(pipeline([BOARD]), ...clusters.slice(0, 1)))
    without.delete('prod-1')
    expect(needed(without, [inventory([])])).toEqual([WANTED])
  })

  test('are known without the inventory of the hub', () => {
    expect(needed(fleet('2', '2'), [])).toEqual([WANTED])
  })

  test('are those of the pipeline before the commit', () => {
    expect(needed(fleet('2', '2', []), [inventory([])])).toEqual([WANTED])
  })

  test('are those of the stage that a cluster had before the commit', () => {
    const after = fleet('2', '2')
    const moved = [made('Cluster', 'test-1', { stage: 'test' }), made('Cluster', 'prod-1', { stage: 'free' })]
    after.set('hub', target(pipeline([BOARD]), ...moved))
    expect(needed(after, [inventory([])])).toEqual([WANTED])
  })

  describe('with another version of a control plane', () => {
    const RISKY = { asker: 'gate high-risk of stage prod', from: ['group:system:authenticated'], count: 1, missing: 1 }
    const versions = (version: string, prod: object = {}) => {
      const hosted = made('Cluster', 'prod-1', { version, controlPlane: { flavor: 'embedded' } })
      const stages = [{ name: 'prod', clusters: { names: ['prod-1'] }, ...prod }]
      return new Map([
        ['hub', target(made('ReleasePipeline', 'standard', { stages }), hosted)],
        ['prod-1', target(config('1'))],
      ])
    }
    const asked = (prod: object, machines?: number) =>
      releaseApprovals({
        before: versions('1.35.1', prod),
        after: versions('1.36.0', prod),
        inventories: [
          {
            ...inventory([]),
            planes: [{ namespace: 'fleet', name: 'prod-1', snapshots: [], ...defined({ machines }) }],
          },
        ],
        now: NOW,
      })

    test.each<[string, object, number | undefined, readonly object[]]>([
      ['one of any user', {}, undefined, [RISKY]],
      ['one of any user, with machines', {}, 3, [RISKY]],
      ['none without machines', {}, 0, []],
      ['none where the stage asks for none', { withoutApproval: ['Versions'] }, 3, []],
      ['one where the stage lets other changes pass', { withoutApproval: ['Rotations'] }, 3, [RISKY]],
      ['only those of the stage that asks itself', { before: [BOARD] }, 3, [WANTED]],
    ])('are %s', (_, prod, machines, want) => {
      expect(asked(prod, machines)).toEqual(want)
    })
  })

  describe('with a stage for the hub', () => {
    const HUB_BOARD = { name: 'people', approval: { from: ['bob'], count: 1 } }
    const staged = (prodGates: readonly object[], hubGates: readonly object[] = [HUB_BOARD]) => {
      const all = fleet('1', '1', prodGates)
      const stages = [
        { name: 'hub', clusters: { hub: true }, before: hubGates },
        { name: 'prod', clusters: { names: ['prod-1'] }, before: prodGates },
      ]
      all.set('hub', target(made('ReleasePipeline', 'standard', { stages }), ...clusters))
      return all
    }
    const wanted = (after: Targets, approvals: readonly Approval[] = []) =>
      releaseApprovals({ before: staged([BOARD]), after, inventories: [inventory(approvals)], now: NOW })
    const HUB_WANTED = { asker: 'gate people of stage hub', from: ['bob'], count: 1, missing: 1 }

    test('are those of that stage for a change of the hub alone, also where the commit drops them', () => {
      expect(wanted(staged([]))).toEqual([HUB_WANTED])
      expect(wanted(staged([BOARD], []))).toEqual([HUB_WANTED])
      expect(wanted(staged([BOARD]))).toEqual([])
    })

    test('name what is declared for the hub, too', () => {
      const after = staged([])
      const digests = digestsIn(after, [...after.keys()])
      expect(wanted(after, [approval(targetsDigest({ spec: { digests } }), 'bob')])).toEqual([
        { ...HUB_WANTED, missing: 0 },
      ])
      const { hub: _, ...members } = digests
      expect(wanted(after, [approval(targetsDigest({ spec: { digests: members } }), 'bob')])).toEqual([HUB_WANTED])
    })
  })

  test('that were given for the same content are subtracted, each person once', () => {
    const after = fleet('2', '2')
    const digests = digestsIn(after, ['test-1', 'prod-1'])
    const digest = targetsDigest({ spec: { digests } })
    const given = (...all: readonly Approval[]) => needed(after, [inventory(all)]).map((a) => a.missing)
    expect(given(approval(digest, 'bob'))).toEqual([1])
    expect(given(approval(digest, 'bob'), approval(digest, 'bob', { groups: ['release'] }))).toEqual([1])
    expect(given(approval(digest, 'bob'), approval(digest, 'ada', { groups: ['release'] }))).toEqual([0])
    expect(given(approval('0'.repeat(64), 'bob'))).toEqual([2])
  })

  test('that were given before what is rolled out now are not, unless it is the same content', () => {
    const after = fleet('2', '2')
    const digests = digestsIn(after, ['test-1', 'prod-1'])
    const digest = targetsDigest({ spec: { digests } })
    const [EARLY, MIDDLE, LATE] = ['2026-01-05T09:00:00Z', '2026-01-05T10:00:00Z', '2026-01-05T11:00:00Z'] as const
    const missing = (made: string, newest: NewestContent) => {
      const given = approval(digest, 'bob')
      const hub = inventory([{ ...given, metadata: { ...given.metadata, creationTimestamp: made } }])
      const sources = (hub.sources ?? []).map((s) => ({ ...s, newest: [newest] }))
      return needed(after, [{ ...hub, sources }]).map((a) => a.missing)
    }
    const other = { track: 'all', digest: '0'.repeat(64), otherSince: MIDDLE }
    expect(missing(EARLY, other)).toEqual([2])
    expect(missing(LATE, other)).toEqual([1])
    const same = { track: 'all', digest, otherSince: LATE }
    expect(missing(EARLY, same)).toEqual([1])
    expect(missing(EARLY, { ...same, approvedSince: MIDDLE })).toEqual([2])
    expect(missing(MIDDLE, { ...same, approvedSince: MIDDLE })).toEqual([1])
  })
})
