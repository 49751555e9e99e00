// Inventory: what sync applied to a cluster, in shards stored in that cluster.
import { text, whole } from '../columns.ts'
import * as s from '../build.ts'
import * as f from '../fields.ts'
import { defineKind, type InputOf, type ObjectOf } from '../kind.ts'

/** The content git declares now, plus the previous one until the new one is applied; more than two only after failed attempts. */
export const MAX_COMMITTED = 4

/** Keeps a shard well below a server's object size limit. */
export const MAX_REFS = 2_000
const MAX_SHARDS = 1_000
/** The deletion guard's limits apply to a larger approved deletion. */
export const MAX_PRUNED = 500

/** Failures of one baseline. Further ones are not known to be old, so they count as new. */
export const MAX_FAILURES = 500
/** Releases remembered as the cause of failures; a failure caused by a forgotten one counts until it ends. */
export const MAX_SUSPECTS = 16
/** Objects of one change; a larger change is only undone as a whole. */
export const MAX_CHANGED = 64
const MAX_OBJECT_CHARS = 512
/** What a pipeline may exempt reverts from in a cluster; the policies there exempt from more. */
const EXEMPT_RECOVERIES = ['Budget'] as const

const objectText = () => s.str('The object, as Kind.group/namespace/name.', { min: 1, max: MAX_OBJECT_CHARS })

const shortDigest = (doc: string) =>
  s.str(doc, { min: 8, max: 64, pattern: '^[0-9a-f]+$', expects: 'lower-case hexadecimal digits' })

const failureFields = {
  object: objectText(),
  uid: s.optional(f.uid('Its UID.')),
  part: s.optional(s.str('The failing machine or node, if the object only reports it.', { min: 1, max: 300 })),
  state: s.choice('Failed permanently, still in progress, or faulty without consequences so far.', [
    'Failed',
    'InProgress',
    'Faulty',
  ]),
  reason: s.str('The reason.', { min: 1, max: 200 }),
  digest: s.optional(shortDigest('Start of the SHA-256 of its declaration.')),
  count: s.optional(f.count('Number of missing machines.')),
}

const baseline = s.obj('Failures in the cluster before a Release started there; the Release is not blamed for them.', {
  release: f.objectName('The Release that is compared with this baseline.'),
  takenAt: s.time('When the baseline was taken.'),
  incomplete: s.optional(s.bool('Set if an earlier baseline was lost; every failure then counts as new.')),
  failing: s.list('Earlier failures. They do not stop a release.', s.obj('One failure.', failureFields), {
    max: MAX_FAILURES,
  }),
  blamed: s.list(
    'Failures caused by Releases that never passed their stage. They count against every Release with the same content.',
    s.obj('One failure.', { ...failureFields, release: f.objectName('The Release that caused the failure.') }),
    { max: MAX_FAILURES },
  ),
  changes: s.mapList(
    'The changes of those Releases and of the current one.',
    s.obj('One Release.', {
      release: f.objectName('The Release.'),
      from: f.sha256('SHA-256 of the list of objects and digests before the change.'),
      objects: s.list(
        'The changed objects; truncated.',
        s.obj('One object.', {
          object: objectText(),
          digest: s.optional(shortDigest('Its digest; absent if it was removed.')),
        }),
        { max: MAX_CHANGED },
      ),
      more: s.optional(s.bool('Set if it changed more objects than are listed.')),
    }),
    { keys: ['release'], max: MAX_SUSPECTS },
  ),
})

const reference = s.obj('One applied object.', {
  group: s.fallback(s.str('API group; empty for the core group.', { max: 253 }), ''),
  kind: s.str('Kind.', { min: 1, max: 63 }),
  namespace: s.fallback(s.str('Namespace; empty for cluster-scoped objects.', { max: 63 }), ''),
  name: s.str('Name.', { min: 1, max: 253 }),
  uid: s.optional(f.uid('UID at the time it was applied; an object with a different UID is not pruned.')),
  digest: s.optional(
    s.str('Start of the SHA-256 of the applied object.', {
      min: 8,
      max: 64,
      pattern: '^[0-9a-f]+$',
      expects: 'lower-case hexadecimal digits',
    }),
  ),
  committed: s.optional(
    s.list(
      'Contents that may take effect, the declared one first. If absent, the object takes effect as it is (drift is not corrected, or sync has not recorded it yet).',
      s.obj('One content.', {
        digest: s.str('Start of the SHA-256 of the spec, without defaults and replicas.', {
          min: 8,
          max: 64,
          pattern: '^[0-9a-f]+$',
          expects: 'lower-case hexadecimal digits',
        }),
        replicas: s.optional(s.int('The declared replicas.', { min: 0, max: 1_000_000 })),
      }),
      { min: 1, max: MAX_COMMITTED },
    ),
  ),
})

const spec = s.obj('The applied objects.', {
  source: s.str('The FleetSource, as namespace/name on the hub.', { min: 1, max: 317 }),
  track: f.dnsLabel('The track.'),
  target: s.optional(
    s.choice(
      'Whether the objects are those of the hub or of a member of the fleet; a hub that is its own member has both. Absent: recorded by a release that did not tell them apart.',
      ['Hub', 'Member'],
    ),
  ),
  cluster: s.optional(f.objectName('The Cluster, where the target is a member.')),
  shard: s.int('Number of the shard, from 0.', { min: 0, max: MAX_SHARDS - 1 }),
  shards: s.fallback(s.int('How many shards there are.', { min: 1, max: MAX_SHARDS }), 1),
  commit: s.optional(f.commitId('The last applied commit.')),
  release: s.optional(f.objectName('The Release of that commit.')),
  appliedAt: s.optional(s.time('When it was last applied.')),
  baseline: s.optional(baseline),
  exemptRecoveries: s.optional(
    s.setOf(
      'Gates of the Defender that do not apply to recoveries of the sets listed here: the release reverts to what was healthy, and its pipeline exempts reverts from them. Ends with the release.',
      s.choice('A gate.', EXEMPT_RECOVERIES),
      { max: EXEMPT_RECOVERIES.length },
    ),
  ),
  pruning: s.optional(
    s.obj('Approved deletions that are running.', {
      digest: f.sha256('The digest that was approved.'),
      targets: s.list('The objects.', s.str('Object and UID.', { min: 1, max: MAX_OBJECT_CHARS + 40 }), {
        min: 1,
        max: MAX_PRUNED,
      }),
    }),
  ),
  refs: s.list('The objects, ordered by group, kind, namespace and name.', reference, { max: MAX_REFS }),
})

export const inventory = defineKind('Inventory', 'kinv', {
  doc: 'The objects that sync applied to a cluster, in shards of at most 2,000 references. Stored in that cluster.',
  spec,
  selectable: ['.spec.track'],
  columns: [
    text('Source', '.spec.source'),
    text('Track', '.spec.track'),
    text('Target', '.spec.target'),
    whole('Shard', '.spec.shard'),
    text('Commit', '.spec.commit'),
  ],
  checks: [
    {
      name: 'the shard is one of the shards',
      findings: ({ spec: s }) =>
        s.shard < s.shards
          ? []
          : [{ pointer: 'spec/shard', message: 'is not below spec.shards', allowed: `0 to ${s.shards - 1}` }],
    },
    {
      name: 'no object is listed twice',
      findings: ({ spec: s }) => {
        const seen = new Set<string>()
        return s.refs.flatMap((r, i) => {
          const key = JSON.stringify([r.group, r.kind, r.namespace, r.name])
          if (!seen.has(key)) {
            seen.add(key)
            return []
          }
          return [{ pointer: `spec/refs/${i}`, message: 'is listed more than once' }]
        })
      },
    },
  ],
  example: {
    metadata: { name: 'fleet.fleet.machines.member-0' },
    spec: {
      source: 'fleet/fleet',
      track: 'machines',
      target: 'Member',
      cluster: 'prod-1',
      shard: 0,
      shards: 1,
      commit: '3f1c9e0a7b5d4c2e8f6a1b3c5d7e9f0a2b4c6d8e',
      refs: [{ group: 'kubenode.io', kind: 'MachineSet', name: 'workers', digest: '2c26b46b68ffc68f' }],
    },
  },
})

export type Inventory = ObjectOf<typeof inventory>
export type InventoryInput = InputOf<typeof inventory>
export type Baseline = NonNullable<Inventory['spec']['baseline']>
export type KnownFailure = Baseline['failing'][number]
export type BlamedFailure = Baseline['blamed'][number]
export type ReleaseChange = Baseline['changes'][number]
