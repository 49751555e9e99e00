// ReleasePipeline: ordered stages with gates, soak and concurrency, which every change of a track passes through.
import { text } from '../columns.ts'
import * as s from '../build.ts'
import * as f from '../fields.ts'
import { defineKind, type InputOf, type ObjectOf, type SpecOf } from '../kind.ts'
import { httpGate, queryCheck } from '../external-checks.ts'
import { ruleTree } from '../rule-tree.ts'

export const MAX_STAGES = 16
export const MAX_CLUSTERS = 1_000
export const MAX_GATES = 16

/** What a revert may be exempted from. Trust and revoked digests always apply. */
const EXEMPTIONS = ['Windows', 'Approvals', 'Holds', 'Freezes', 'Budgets'] as const

/** Changes of a Cluster with machines that need an Approval, unless the stage says otherwise. */
export const RISKY_CHANGES = ['Versions', 'Rotations', 'Moves', 'Deletions'] as const
export type RiskyChange = (typeof RISKY_CHANGES)[number]

const share = (doc: string, value: number) => s.fallback(s.int(doc, { min: 0, max: 100 }), value)

export const GATE_KINDS = [
  'machinesReady',
  'componentsConsistent',
  'noNewRepairs',
  'approval',
  'http',
  'prometheus',
  'custom',
] as const

const gate = s.union(
  s.obj('One gate.', {
    name: f.dnsLabel('Name of the gate.'),
    machinesReady: s.optional(
      s.obj('Enough machines of the clusters are Ready.', {
        minPercent: share('Percentage of the machines that count.', 98),
      }),
    ),
    componentsConsistent: s.optional(
      s.obj('Enough machines run the declared components; skipped machines do not count.', {
        minPercent: share('Percentage of the machines that count.', 98),
      }),
    ),
    noNewRepairs: s.optional(
      s.obj('No repair was started recently.', { within: s.fallback(f.duration('Length of the period.'), '15m') }),
    ),
    approval: s.optional(
      s.obj('The digest of the release must be approved.', {
        from: s.list('Users, or groups with the prefix "group:".', s.str('A user or group.', { min: 1, max: 253 }), {
          min: 1,
          max: 32,
        }),
        count: s.fallback(s.int('Number of different approvers.', { min: 1, max: 5 }), 1),
      }),
    ),
    http: s.optional(httpGate()),
    prometheus: s.optional(queryCheck()),
    custom: s.optional(
      s.obj('A rule over facts about a cluster, its stage and the release.', {
        when: ruleTree('The gate passes for a cluster while the rule is true; an unknown fact keeps it shut.'),
        message: s.optional(f.sentence('What it waits for, for people.')),
      }),
    ),
    timeout: s.optional(
      f.duration(
        'Time from the first check after which a gate that does not pass fails the stage. If absent: 1h, and 168h for an approval.',
      ),
    ),
  }),
  GATE_KINDS,
)

const gates = (doc: string) => s.mapList(doc, gate, { keys: ['name'], max: MAX_GATES })

const stage = s.obj('One stage.', {
  name: f.dnsLabel('Name of the stage.'),
  clusters: s.union(
    s.obj('The clusters of the stage.', {
      selector: s.optional(f.selector('Clusters with these labels, in the order of their names.')),
      names: s.optional(
        s.list('These clusters, in this order.', f.objectName('A cluster.'), { min: 1, max: MAX_CLUSTERS }),
      ),
      hub: s.optional(
        s.refine(
          s.bool(
            'The hub itself: what the track declares for the hub waits for this stage. Without such a stage it is applied before all stages.',
          ),
          { enum: [true] },
        ),
      ),
    }),
    ['selector', 'names', 'hub'],
  ),
  maxConcurrency: s.fallback(
    s.intOrPercent('Number of clusters that are changed at the same time; a percentage rounds down to at least one.', {
      min: 1,
      max: MAX_CLUSTERS,
    }),
    1,
  ),
  maxFailures: s.fallback(
    s.intOrPercent('Number of clusters that may fail before the stage fails.', { min: 0, max: MAX_CLUSTERS }),
    0,
  ),
  maxNewFailures: s.fallback(
    s.intOrPercent(
      'Number of machines of one cluster that may start to fail during the release; a percentage of its machines rounds down. Earlier failures do not count; objects that fail as a whole always count.',
      { min: 0, max: 10_000 },
    ),
    '2%',
  ),
  minSuccessTime: s.fallback(f.duration('How long all clusters must stay healthy before the next stage opens.'), '15m'),
  progressDeadline: s.fallback(
    f.duration('How long one cluster may take to become healthy. Time in which it cannot be reached does not count.'),
    '1h',
  ),
  offlineDeadline: s.fallback(f.duration('How long an unreachable cluster is waited for before it is skipped.'), '30m'),
  before: s.optional(
    gates('Gates that must all pass at the same time before the stage opens; readings are those of its clusters.'),
  ),
  gates: s.optional(gates('Gates that must pass for a cluster to count as healthy.')),
  after: s.optional(gates('Gates that must pass before the stage counts as done.')),
  windows: s.optional(f.windows('Clusters are started only within one of these windows.')),
  withoutApproval: s.optional(
    s.setOf(
      'High-risk changes of Clusters with machines that start in this stage without an Approval: another version of the control plane, a rotation of its keys, a move to an earlier stage or out of all stages, deletion. If absent, each of them needs one Approval of the release, by any user who may approve, unless a gate before the stage asks for one.',
      s.choice('One of them.', [...RISKY_CHANGES]),
      { max: RISKY_CHANGES.length },
    ),
  ),
})

const spec = s.obj('The stages.', {
  stages: s.mapList('The stages, in order.', stage, { keys: ['name'], min: 1, max: MAX_STAGES }),
  onFailure: s.fallback(
    s.choice(
      'What happens if a stage fails: the release pauses, or sync also writes a commit that takes the change back. As it was before the commit that fails.',
      ['Pause', 'Revert'],
    ),
    'Pause',
  ),
  revert: s.optional(
    s.obj('Reverts of this track.', {
      to: s.fallback(
        s.choice('Where sync writes the commit: a branch for review, or the followed branch itself.', [
          'Branch',
          'Direct',
        ]),
        'Branch',
      ),
      branchPrefix: s.fallback(
        s.str('Prefix of the branch name.', {
          min: 1,
          max: 64,
          pattern: '^[A-Za-z0-9][A-Za-z0-9._/-]*$',
          expects: 'the start of a branch name',
        }),
        'revert/',
      ),
      exempt: s.optional(
        s.setOf(
          'What does not block a revert in clusters that were healthy with what it brings back: windows of the stages, their approval gates, Pause holds or Freeze holds on the release or its source, budgets of the Defender for recoveries. As it was before the commit that is reverted.',
          s.choice('One of them.', [...EXEMPTIONS]),
          { max: EXEMPTIONS.length },
        ),
      ),
    }),
  ),
  keep: s.fallback(s.int('Number of finished Releases to keep per track.', { min: 1, max: 100 }), 20),
})

export const releasePipeline = defineKind('ReleasePipeline', 'krp', {
  namespaced: true,
  doc: 'Ordered stages with gates, soak time and concurrency limits for every change of a track.',
  spec,
  columns: [text('On failure', '.spec.onFailure')],
  example: {
    metadata: { name: 'standard', namespace: 'fleet' },
    spec: {
      stages: [
        {
          name: 'test',
          clusters: { selector: { matchLabels: { 'kubenode.io/stage': 'test' } } },
          minSuccessTime: '5m',
        },
        {
          name: 'prod',
          clusters: { names: ['prod-1', 'prod-2'] },
          maxConcurrency: 1,
          before: [{ name: 'release-board', approval: { from: ['group:release'], count: 1 } }],
          gates: [
            { name: 'ready', machinesReady: { minPercent: 99 } },
            { name: 'quiet', noNewRepairs: {} },
          ],
          windows: [{ cron: '0 9 * * 1-4', duration: '8h', timeZone: 'Europe/Berlin' }],
        },
      ],
    },
  },
})

export type ReleasePipeline = ObjectOf<typeof releasePipeline>
export type ReleasePipelineInput = InputOf<typeof releasePipeline>
export type ReleasePipelineSpec = SpecOf<typeof releasePipeline>
