// FleetBrake: versions and rules that are stopped in all clusters of a fleet, and the clusters that may change now. Sync keeps one on the hub and copies it into each
// cluster, where the Defender enforces it.
import { text, whole } from '../columns.ts'
import * as s from '../build.ts'
import * as f from '../fields.ts'
import { defineKind, type ObjectOf, type SpecOf } from '../kind.ts'

/** Its only name. */
export const BRAKE_NAME = 'fleet'
/** More stops than this stop everything. */
export const MAX_STOPS = 32
/** Clusters changing at once in the largest fleets. */
export const MAX_TURNS = 500
const MAX_NAMED = 10

const clusterKey = (doc: string) =>
  s.str(doc, { min: 3, max: 317, pattern: '^[a-z0-9.-]+/[a-z0-9.-]+$', expects: 'namespace/name' })

const turn = s.obj('A cluster that may open slices of a rollout.', {
  cluster: clusterKey('The Cluster.'),
  since: s.time('Since when.'),
  until: s.time('When it ends unless sync renews it: a hub that is away lets nothing new begin.'),
})

const stop = s.obj('What no cluster begins any more until a person lifts it.', {
  kind: s.choice('What is stopped: a version of a component, the repairs of a rule, or everything.', [
    'Component',
    'Rule',
    'Everything',
  ]),
  name: s.str('The component or the rule; empty for everything.', { max: 253 }),
  version: s.fallback(s.str('The version, if kind is Component.', { max: 128 }), ''),
  config: s.optional(
    f.objectName('Only with this ComponentConfig; absent if the version failed with several, or has none.'),
  ),
  since: s.time('Since when.'),
  holdsBefore: s.optional(
    s.setOf('Retry holds that were there when it began: none of them lifts it.', f.uid('UID of a hold.'), {
      max: MAX_NAMED,
    }),
  ),
  seen: f.sentence('What was observed.'),
  count: f.count('Clusters, or repairs, that were counted; after a person lifted it, those that no longer count.'),
  liftedAt: s.optional(s.time('When a person lifted it: it stops nothing, and comes back with new evidence.')),
  clusters: s.optional(
    s.setOf(
      'Clusters in which it was observed, the first ten.',
      s.str('Namespace and name of a Cluster, or hub.', { min: 1, max: 317 }),
      {
        max: MAX_NAMED,
      },
    ),
  ),
  commits: s.optional(s.setOf('The commits that brought it.', f.commitId('A commit.'), { max: MAX_NAMED })),
})

const spec = s.obj('The state of the brake.', {
  cluster: s.optional(clusterKey('The Cluster that this copy is for; absent on the hub.')),
  asOf: s.optional(s.time('When sync last wrote it.')),
  maxChanging: s.optional(
    s.int('Clusters that may change at once; without it, turns limit nothing.', { min: 0, max: MAX_TURNS }),
  ),
  turns: s.optional(
    s.mapList('Clusters that may change now: all on the hub, and in a copy its own.', turn, {
      keys: ['cluster'],
      max: MAX_TURNS,
    }),
  ),
  stops: s.optional(
    s.mapList('What is stopped everywhere. Returns to what was healthy before pass.', stop, {
      keys: ['kind', 'name', 'version'],
      max: MAX_STOPS,
    }),
  ),
})

export const fleetBrake = defineKind('FleetBrake', 'kbrake', {
  doc: 'The brake over all clusters of a fleet: what is stopped everywhere, and which clusters may change now. One object, named fleet, kept by sync on the hub and carried into each cluster.',
  spec,
  columns: [text('Cluster', '.spec.cluster'), whole('Changing', '.spec.maxChanging'), text('As of', '.spec.asOf')],
  rootRules: [
    {
      cel: "self.metadata.name == 'fleet'",
      message: 'the only FleetBrake is named fleet',
      holds: ({ metadata }) => metadata.name === BRAKE_NAME,
    },
  ],
  example: {
    metadata: { name: BRAKE_NAME },
    spec: {
      asOf: '2026-01-31T12:00:00Z',
      maxChanging: 5,
      turns: [{ cluster: 'kubenode-system/prod-1', since: '2026-01-31T11:50:00Z', until: '2026-01-31T12:10:00Z' }],
      stops: [
        {
          kind: 'Component',
          name: 'kubelet',
          version: '1.36.2',
          since: '2026-01-31T11:58:00Z',
          seen: 'failed in 3 clusters (limit 3)',
          count: 3,
          clusters: ['kubenode-system/prod-1', 'kubenode-system/prod-2', 'kubenode-system/prod-3'],
        },
      ],
    },
  },
})

export type FleetBrake = ObjectOf<typeof fleetBrake>
export type BrakeSpec = SpecOf<typeof fleetBrake>
export type Stop = NonNullable<BrakeSpec['stops']>[number]
export type Turn = NonNullable<BrakeSpec['turns']>[number]
