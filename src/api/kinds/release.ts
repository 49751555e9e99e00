// Release: one track's rendered change on its way through a pipeline.
import { MAX_AUTHOR, MAX_SUBJECT } from '../commit-limits.ts'
import { PHASE, text, wide } from '../columns.ts'
import * as s from '../build.ts'
import * as f from '../fields.ts'
import { defineKind, type InputOf, type ObjectOf, type SpecOf, type StatusOf } from '../kind.ts'
import { MAX_DURATIONS } from './machine-component-set.ts'
import { notified } from './notify.ts'
import { GATE_KINDS, MAX_CLUSTERS, MAX_GATES, MAX_STAGES } from './release-pipeline.ts'

/** Concurrent Retry holds on one Release; they expire by themselves. */
export const MAX_RETRIES = 16

const spec = s.immutable(
  s.obj('The change. Immutable.', {
    source: f.objectName('The FleetSource.'),
    track: f.dnsLabel('The track.'),
    pipeline: f.objectName('The ReleasePipeline.'),
    commit: f.commitId('The commit.'),
    subject: s.optional(f.sentence('The first line of the message of the commit, shortened.', MAX_SUBJECT)),
    author: s.optional(f.sentence('The author of the commit.', MAX_AUTHOR)),
    digests: s.map('SHA-256 of the objects for each cluster, by cluster name.', f.sha256('The digest.'), {
      max: MAX_CLUSTERS,
    }),
    changed: s.optional(f.count('Number of clusters whose digest changed.', MAX_CLUSTERS)),
    signer: s.optional(f.sentence('Who signed the commit, with the fingerprint of the key.', 512)),
    after: s.optional(f.commitId('The commit that was followed before: what a revert goes back to.')),
    revert: s.optional(
      s.choice(
        'Whether git revert of the commit alone goes back to `after`: as a plain Commit, or as a Merge with -m 1. Absent if it does not, because the push had more commits or the Release before it had not succeeded.',
        ['Commit', 'Merge'],
      ),
    ),
    revertOf: s.optional(f.commitId('The commit that this release reverts.')),
    previous: s.optional(f.objectName('The previous Release of the track.')),
  }),
  'a Release is immutable; another commit creates another Release',
)

const gate = s.obj('One gate, and the evidence for it.', {
  when: s.choice('Before the stage opens, for each of its clusters, or before it counts as done.', [
    'Before',
    'During',
    'After',
  ]),
  name: f.dnsLabel('Name of the gate.'),
  phase: f.phase('Gate', 'Whether it passed.'),
  since: s.time('When it was first checked; its timeout starts then.'),
  seen: s.optional(f.sentence('What was last observed.')),
})

const stage = s.obj('One stage.', {
  name: f.dnsLabel('Name of the stage.'),
  phase: f.phase('Stage', 'Phase of the stage.'),
  startedAt: s.optional(s.time('When the stage opened.')),
  soakUntil: s.optional(s.time('When its minimum success time ends.')),
  finishedAt: s.optional(s.time('When the stage ended.')),
  healthy: s.optional(f.count('Clusters that are healthy.', MAX_CLUSTERS)),
  failed: s.optional(f.count('Clusters that failed.', MAX_CLUSTERS)),
  offline: s.optional(f.count('Clusters that did not answer.', MAX_CLUSTERS)),
  total: s.optional(f.count('Clusters of the stage.', MAX_CLUSTERS)),
  gates: s.optional(
    s.mapList('Gates that were checked, and what was observed.', gate, { keys: ['when', 'name'], max: 3 * MAX_GATES }),
  ),
  waitingFor: s.optional(f.waitingFor()),
})

/** Each needs its own approval; a status has room for this many. */
export const MAX_HELD_CLUSTERS = 100

/** Also used in a FleetSource's status, for the hub itself. */
export const heldPrune = () =>
  s.obj('Deletions that wait for an Approval of their digest.', {
    digest: f.sha256('The digest that an Approval must name: exactly these deletions.'),
    count: f.count('Number of objects to delete.'),
    allowed: f.count('Number of objects that may be deleted without an Approval.'),
    first: f.sentence('The first object.'),
    clusters: s.optional(
      s.list('Clusters that they delete, as namespace/name.', f.sentence('One Cluster.', 512), {
        max: MAX_HELD_CLUSTERS,
      }),
    ),
    permit: s.optional(f.objectName('The OperationPermit that they wait for; the digest is approved.')),
    machines: s.optional(f.count('Number of machines to delete with them.')),
    allowedMachines: s.optional(f.count('Number of machines that may be deleted without an Approval.')),
  })

const clusterStatus = s.obj('One cluster.', {
  name: f.objectName('The cluster.'),
  stage: f.dnsLabel('Its stage.'),
  uid: s.optional(
    f.uid(
      'UID of the Cluster that the release reached; content of an earlier Cluster with its name does not count for it.',
    ),
  ),
  restored: s.optional(
    f.sentence('The restore of its control plane that the release came after; with another one it is applied again.'),
  ),
  phase: f.phase('ClusterRelease', 'Phase of the cluster.'),
  digest: s.optional(f.sha256('The applied digest.')),
  since: s.time('Since when the cluster has been in this phase.'),
  healthySince: s.optional(
    s.time(
      'Since when the cluster has been healthy with this digest; a commit with the same digest does not reset it.',
    ),
  ),
  attempts: s.optional(f.count('Number of attempts.', 10_000)),
  skipped: s.optional(s.bool('Set once the stage continued without it because it did not answer.')),
  message: s.optional(f.sentence('Why, for people.')),
  failures: s.optional(
    s.obj('Failures in the cluster, compared with the state before the Release.', {
      before: f.count('Failures from before the Release; they do not stop it.'),
      new: f.count('New failures; more machines than maxNewFailures, or any object, stop the Release.'),
    }),
  ),
  prune: s.optional(heldPrune()),
  waitingFor: s.optional(f.waitingFor()),
})

/** Clusters with a record; beyond this, failed ones and the newest. */
export const MAX_RECORDS = 200
/** Gates of one record, and of all records: the oldest records keep their times and drop their gates. */
export const MAX_RECORDED_GATES = 16
export const MAX_ALL_RECORDED_GATES = 1_000
export const MAX_EVIDENCE = 120
export const MAX_RECORDED_APPROVERS = 16

const recordedGate = s.obj('One gate.', {
  name: f.dnsLabel('Name of the gate.'),
  when: s.choice('The moment of the stage at which it was checked.', ['Before', 'During', 'After']),
  kind: s.choice('Kind of the gate.', GATE_KINDS),
  result: f.phase('Gate', 'Its last result.'),
  evidence: s.optional(f.sentence('What was last observed.', MAX_EVIDENCE)),
  at: s.time('When it got this result.'),
})

/** Sets and components of one record, and of all records. */
export const MAX_RECORDED_SWITCHES = 32
export const MAX_ALL_RECORDED_SWITCHES = 500

const switches = s.obj('One component of one set.', {
  set: f.objectName('The MachineComponentSet.'),
  component: f.componentName('The component.'),
  count: f.count('Number of switches, fifty at most.', MAX_DURATIONS),
  p50: s.int('Seconds that half of them took at most.', { min: 0, max: 1_000_000 }),
  p90: s.int('Seconds that nine of ten took at most.', { min: 0, max: 1_000_000 }),
})

const record = s.obj('What became of the release in one cluster.', {
  commit: f.commitId('The commit.'),
  cluster: f.objectName('The cluster.'),
  stage: f.dnsLabel('Its stage.'),
  digest: f.sha256('The digest of its objects.'),
  phase: f.phase('ClusterRelease', 'Phase of the cluster.'),
  startedAt: s.time('When the release began there.'),
  finishedAt: s.optional(
    s.time('When its stage was done, or it failed, was skipped, or a newer release took its place.'),
  ),
  gates: s.optional(s.list('Gates of its stage.', recordedGate, { max: MAX_RECORDED_GATES })),
  switches: s.optional(
    s.mapList(
      'How long the last switches of each component took, when the record was last written; what was never measured is absent.',
      switches,
      { keys: ['set', 'component'], max: MAX_RECORDED_SWITCHES },
    ),
  ),
  approvedBy: s.optional(
    s.setOf('Who approved the release.', s.str('A user.', { min: 1, max: 253 }), { max: MAX_RECORDED_APPROVERS }),
  ),
  deletesCluster: s.optional(
    s.bool('The commit removed the Cluster: the stage deleted it, and with it what was in it.'),
  ),
  deletions: s.optional(
    s.obj('The last deletions that exceeded the prune guard and were approved.', {
      digest: f.sha256('The digest that the Approvals name.'),
      count: f.count('Number of objects.'),
      approvedBy: s.setOf('Who approved them.', s.str('A user.', { min: 1, max: 253 }), {
        max: MAX_RECORDED_APPROVERS,
      }),
    }),
  ),
})

const status = f.waitingStatus('Progress of the release.', {
  phase: s.optional(f.phase('Release')),
  startedAt: s.optional(s.time('When the first stage opened.')),
  finishedAt: s.optional(s.time('When it ended.')),
  stages: s.optional(s.mapList('The stages.', stage, { keys: ['name'], max: MAX_STAGES })),
  // Every cluster, not just the first 200: a restarted sync reads the progress of each from here.
  clusters: s.optional(s.mapList('The clusters.', clusterStatus, { keys: ['name'], max: MAX_CLUSTERS })),
  record: s.optional(
    s.mapList('What became of the release in each cluster that it reached.', record, {
      keys: ['cluster'],
      max: MAX_RECORDS,
    }),
  ),
  retries: s.optional(
    s.list('UIDs of the Retry holds that took effect; each takes effect once.', f.uid('UID of an OperationalHold.'), {
      max: MAX_RETRIES,
    }),
  ),
  notified: s.optional(notified()),
  revertCommit: s.optional(f.commitId('The commit that reverts it: written by sync, or followed since.')),
  revert: s.optional(
    s.obj('The revert by sync.', {
      branch: s.optional(s.str('The branch that the commit was written to.', { min: 1, max: 253 })),
      restores: s.optional(f.commitId('The commit whose files it brings back.')),
      at: s.time('When it was written or last attempted.'),
      attempts: s.optional(f.count('Number of attempts that failed.', 1_000)),
      problem: s.optional(f.sentence('Why it was not written.')),
      overruledAt: s.optional(s.time('When a retry let the release continue all the same.')),
    }),
  ),
})

export const release = defineKind('Release', 'krel', {
  namespaced: true,
  doc: "One track's rendered change on its way through a pipeline.",
  spec,
  status,
  selectable: ['.spec.track', '.spec.commit'],
  columns: [
    text('Track', '.spec.track'),
    text('Commit', '.spec.commit'),
    text('Subject', '.spec.subject'),
    PHASE,
    text('Waiting', '.status.waitingFor.predicate'),
    wide(text('Reverts', '.spec.revertOf')),
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
