// Release: one track's rendered change on its way through a pipeline.
import { AGE, PHASE, text, wide } from '../columns.ts'
import { bool, immutable, list, map, mapList, obj, optional, time } from '../build.ts'
import {
  commitId,
  conditions,
  count,
  dnsLabel,
  objectName,
  observedGeneration,
  phase,
  sentence,
  sha256,
  uid,
  waitingFor,
} from '../fields.ts'
import { defineKind, type InputOf, type ObjectOf, type SpecOf, type StatusOf } from '../kind.ts'
import { MAX_CLUSTERS, MAX_STAGES } from './release-pipeline.ts'

/** Retry holds on one Release at a time; they end by themselves. */
export const MAX_RETRIES = 16

const spec = immutable(
  obj('The change. Immutable.', {
    source: objectName('The FleetSource.'),
    track: dnsLabel('The track.'),
    pipeline: objectName('The ReleasePipeline.'),
    commit: commitId('The commit.'),
    digests: map('SHA-256 of the objects for each cluster, by cluster name.', sha256('The digest.'), {
      max: MAX_CLUSTERS,
    }),
    changed: optional(count('Number of clusters whose digest changed.', MAX_CLUSTERS)),
    revertOf: optional(commitId('The commit that this release reverts.')),
    previous: optional(objectName('The previous Release of the track.')),
  }),
  'a Release is immutable; another commit creates another Release',
)

const stage = obj('One stage.', {
  name: dnsLabel('Name of the stage.'),
  phase: phase('Stage', 'Phase of the stage.'),
  startedAt: optional(time('When the stage opened.')),
  soakUntil: optional(time('When its minimum success time ends.')),
  finishedAt: optional(time('When the stage ended.')),
  healthy: optional(count('Clusters that are healthy.', MAX_CLUSTERS)),
  failed: optional(count('Clusters that failed.', MAX_CLUSTERS)),
  offline: optional(count('Clusters that did not answer.', MAX_CLUSTERS)),
  total: optional(count('Clusters of the stage.', MAX_CLUSTERS)),
  waitingFor: optional(waitingFor()),
})

/** Also part of the status of a FleetSource, for the hub itself. */
export const heldPrune = () =>
  obj('Deletions that wait for an Approval of their digest.', {
    digest: sha256('The digest that an Approval must name: exactly these deletions.'),
    count: count('Number of objects to delete.'),
    allowed: count('Number of objects that may be deleted without an Approval.'),
    first: sentence('The first object.'),
    machines: optional(count('Number of machines to delete with them.')),
    allowedMachines: optional(count('Number of machines that may be deleted without an Approval.')),
  })

const clusterStatus = obj('One cluster.', {
  name: objectName('The cluster.'),
  stage: dnsLabel('Its stage.'),
  phase: phase('ClusterRelease', 'Phase of the cluster.'),
  digest: optional(sha256('The applied digest.')),
  since: time('Since when the cluster has been in this phase.'),
  healthySince: optional(
    time('Since when the cluster has been healthy with this digest; a commit with the same digest does not reset it.'),
  ),
  attempts: optional(count('Number of attempts.', 10_000)),
  skipped: optional(bool('Set once the stage continued without it because it did not answer.')),
  message: optional(sentence('Why, for people.')),
  failures: optional(
    obj('Failures in the cluster, compared with the state before the Release.', {
      before: count('Failures from before the Release; they do not stop it.'),
      new: count('New failures; more machines than maxNewFailures, or any object, stop the Release.'),
    }),
  ),
  prune: optional(heldPrune()),
  waitingFor: optional(waitingFor()),
})

const status = obj('Progress of the release.', {
  observedGeneration: optional(observedGeneration()),
  phase: optional(phase('Release')),
  startedAt: optional(time('When the first stage opened.')),
  finishedAt: optional(time('When it ended.')),
  stages: optional(mapList('The stages.', stage, { keys: ['name'], max: MAX_STAGES })),
  // Every cluster, not the first 200: this is where a restarted sync learns how far each one is.
  clusters: optional(mapList('The clusters.', clusterStatus, { keys: ['name'], max: MAX_CLUSTERS })),
  retries: optional(
    list('UIDs of the Retry holds that took effect; each takes effect once.', uid('UID of an OperationalHold.'), {
      max: MAX_RETRIES,
    }),
  ),
  revertCommit: optional(commitId('The commit that reverts it.')),
  waitingFor: optional(waitingFor()),
  conditions: optional(conditions()),
})

export const release = defineKind({
  kind: 'Release',
  plural: 'releases',
  shortNames: ['krel'],
  namespaced: true,
  doc: "One track's rendered change on its way through a pipeline.",
  spec,
  status,
  selectable: ['.spec.track', '.spec.commit'],
  columns: [
    text('Track', '.spec.track'),
    text('Commit', '.spec.commit'),
    PHASE,
    text('Waiting', '.status.waitingFor.predicate'),
    wide(text('Reverts', '.spec.revertOf')),
    AGE,
  ],
  conditions: ['Ready', 'Reconciling', 'Stalled', 'GatesPassed', 'Superseded', 'Paused'],
  example: {
    metadata: { name: 'machines-3f1c9e0a7b5d', namespace: 'fleet' },
    spec: {
      source: 'fleet',
      track: 'machines',
      pipeline: 'standard',
      commit: '3f1c9e0a7b5d4c2e8f6a1b3c5d7e9f0a2b4c6d8e',
      digests: {
        'test-1': '2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae',
        'prod-1': 'fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9',
      },
      changed: 2,
    },
  },
})

export type Release = ObjectOf<typeof release>
export type ReleaseInput = InputOf<typeof release>
export type ReleaseSpec = SpecOf<typeof release>
export type ReleaseStatus = StatusOf<typeof release>
