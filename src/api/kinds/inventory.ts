// Inventory: what sync applied to a cluster, in shards, kept in the cluster that it describes.
import { fallback, int, list, obj, optional, str, time } from '../build.ts'
import { commitId, dnsLabel, objectName, uid } from '../fields.ts'
import { defineKind, type InputOf, type ObjectOf } from '../kind.ts'

/** The content that git declares now, and what it declared before until that is applied; more than two only after failed attempts. */
export const MAX_COMMITTED = 4

/** A shard stays well below the size that a server stores. */
export const MAX_REFS = 2_000
const MAX_SHARDS = 1_000

const reference = obj('One object that was applied.', {
  group: fallback(str('API group; empty for the core.', { max: 253 }), ''),
  kind: str('Kind.', { min: 1, max: 63 }),
  namespace: fallback(str('Namespace; empty for objects of the whole cluster.', { max: 63 }), ''),
  name: str('Name.', { min: 1, max: 253 }),
  uid: optional(uid('UID when it was applied; another one is another object and is not pruned.')),
  digest: optional(
    str('Start of the SHA-256 of what was applied.', {
      min: 8,
      max: 64,
      pattern: '^[0-9a-f]+$',
      says: 'lower-case hexadecimal digits',
    }),
  ),
  committed: optional(
    list(
      'Contents that may be acted upon, the declared one first. Absent: the object acts as it is (drift is not corrected, or sync has not recorded it yet).',
      obj('One content.', {
        digest: str('Start of the SHA-256 of the spec, without defaults and replicas.', {
          min: 8,
          max: 64,
          pattern: '^[0-9a-f]+$',
          says: 'lower-case hexadecimal digits',
        }),
        replicas: optional(int('The declared replicas.', { min: 0, max: 1_000_000 })),
      }),
      { min: 1, max: MAX_COMMITTED },
    ),
  ),
})

const spec = obj('What was applied.', {
  source: str('The FleetSource, as namespace/name on the hub.', { min: 1, max: 317 }),
  track: dnsLabel('The track.'),
  shard: int('Number of the shard, from 0.', { min: 0, max: MAX_SHARDS - 1 }),
  shards: fallback(int('How many shards there are.', { min: 1, max: MAX_SHARDS }), 1),
  commit: optional(commitId('The commit that was applied last.')),
  release: optional(objectName('The Release that it came from.')),
  appliedAt: optional(time('When it was applied last.')),
  refs: list('The objects, in the order of group, kind, namespace, name.', reference, { max: MAX_REFS }),
})

export const inventory = defineKind({
  kind: 'Inventory',
  plural: 'inventories',
  shortNames: ['kinv'],
  namespaced: false,
  doc: 'What sync applied to a cluster, in shards of at most 2,000 references, kept in the cluster that it describes.',
  spec,
  selectable: ['.spec.track'],
  columns: [
    { name: 'Source', type: 'string', jsonPath: '.spec.source' },
    { name: 'Track', type: 'string', jsonPath: '.spec.track' },
    { name: 'Shard', type: 'integer', jsonPath: '.spec.shard' },
    { name: 'Commit', type: 'string', jsonPath: '.spec.commit' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
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
          return [{ pointer: `spec/refs/${i}`, message: 'is listed before' }]
        })
      },
    },
  ],
  example: {
    metadata: { name: 'fleet-machines-0' },
    spec: {
      source: 'fleet/fleet',
      track: 'machines',
      shard: 0,
      shards: 1,
      commit: '3f1c9e0a7b5d4c2e8f6a1b3c5d7e9f0a2b4c6d8e',
      refs: [{ group: 'kubenode.io', kind: 'MachineSet', name: 'workers', digest: '2c26b46b68ffc68f' }],
    },
  },
})

export type Inventory = ObjectOf<typeof inventory>
export type InventoryInput = InputOf<typeof inventory>
