// ReleasePipeline: ordered stages with gates, soak and concurrency, through which every change of a track goes.
import { AGE, text } from '../columns.ts'
import {
  choice,
  fallback,
  int,
  intOrPercent,
  list,
  mapList,
  obj,
  optional,
  str,
  union,
  unserved,
  type Field,
} from '../build.ts'
import { conditions, dnsLabel, duration, objectName, observedGeneration, selector, windows } from '../fields.ts'
import { defineKind, type InputOf, type ObjectOf, type SpecOf } from '../kind.ts'
import { httpLook, queryLook } from '../looks.ts'

export const MAX_STAGES = 16
export const MAX_CLUSTERS = 1_000
const MAX_GATES = 16

const NO_REVERTS = 'revert commits are not created'

const share = (doc: string, value: number) => fallback(int(doc, { min: 0, max: 100 }), value)

const READINGS = 'no readings are taken before the first cluster is changed'

/** Before a stage opens nothing of its clusters is read, so only approvals can hold there. */
const gateOf = (readings: <F extends Field<unknown>>(f: F) => F) =>
  union(
    obj('One gate.', {
      name: dnsLabel('Name of the gate.'),
      machinesReady: optional(
        readings(
          obj('Enough machines of the clusters are Ready.', {
            minPercent: share('Percentage of the machines that count.', 98),
          }),
        ),
      ),
      componentsConsistent: optional(
        readings(
          obj('Enough machines run the declared components; skipped machines do not count.', {
            minPercent: share('Percentage of the machines that count.', 98),
          }),
        ),
      ),
      noNewRepairs: optional(
        readings(
          obj('No repair was started recently.', { within: fallback(duration('Length of the period.'), '15m') }),
        ),
      ),
      approval: optional(
        obj('The digest of the release must be approved.', {
          from: list('Users, or groups with the prefix "group:".', str('A user or group.', { min: 1, max: 253 }), {
            min: 1,
            max: 32,
          }),
          count: fallback(int('Number of different approvers.', { min: 1, max: 5 }), 1),
        }),
      ),
      http: optional(unserved(httpLook('sync'), 'requests are not made')),
      prometheus: optional(unserved(queryLook(), 'queries are not made')),
      timeout: fallback(duration('Timeout after which a closed gate fails the stage.'), '1h'),
    }),
    ['machinesReady', 'componentsConsistent', 'noNewRepairs', 'approval', 'http', 'prometheus'],
  )

const gate = gateOf((f) => f)
const earlyGate = gateOf((f) => unserved(f, READINGS))

const gates = (doc: string, of = gate) => mapList(doc, of, { keys: ['name'], max: MAX_GATES })

const stage = obj('One stage.', {
  name: dnsLabel('Name of the stage.'),
  clusters: union(
    obj('The clusters of the stage.', {
      selector: optional(selector('Clusters with these labels, in the order of their names.')),
      names: optional(list('These clusters, in this order.', objectName('A cluster.'), { min: 1, max: MAX_CLUSTERS })),
    }),
    ['selector', 'names'],
  ),
  maxConcurrency: fallback(
    intOrPercent('Number of clusters that are changed at the same time; a percentage rounds down to at least one.', {
      min: 1,
      max: MAX_CLUSTERS,
    }),
    1,
  ),
  maxFailures: fallback(
    intOrPercent('Number of clusters that may fail before the stage fails.', { min: 0, max: MAX_CLUSTERS }),
    0,
  ),
  maxNewFailures: fallback(
    intOrPercent(
      'Number of machines of one cluster that may start to fail during the release; a percentage of its machines rounds down. Earlier failures do not count; objects that fail as a whole always count.',
      { min: 0, max: 10_000 },
    ),
    '2%',
  ),
  minSuccessTime: fallback(duration('How long all clusters must stay healthy before the next stage opens.'), '15m'),
  progressDeadline: fallback(duration('How long one cluster may take to become healthy.'), '1h'),
  offlineDeadline: fallback(duration('How long an unreachable cluster is waited for before it is skipped.'), '30m'),
  before: optional(gates('Gates that must pass before the stage opens.', earlyGate)),
  gates: optional(gates('Gates that must pass for a cluster to count as healthy.')),
  after: optional(gates('Gates that must pass before the stage counts as done.')),
  windows: optional(windows('Clusters are started only within one of these windows.')),
})

const spec = obj('The stages.', {
  stages: mapList('The stages, in order.', stage, { keys: ['name'], min: 1, max: MAX_STAGES }),
  onFailure: fallback(
    unserved(choice('What happens if a stage fails.', ['Pause', 'Revert']), NO_REVERTS, ['Revert']),
    'Pause',
  ),
  revert: optional(
    unserved(
      obj('How a revert commit is created.', {
        to: fallback(choice('A branch for review, or the followed branch itself.', ['Branch', 'Direct']), 'Branch'),
        branchPrefix: fallback(
          str('Prefix of the branch name.', {
            min: 1,
            max: 64,
            pattern: '^[A-Za-z0-9][A-Za-z0-9._/-]*$',
            says: 'the start of a branch name',
          }),
          'revert/',
        ),
      }),
      NO_REVERTS,
    ),
  ),
  keep: fallback(int('Number of finished Releases to keep per track.', { min: 1, max: 100 }), 20),
})

const status = obj('The observed state of the pipeline.', {
  observedGeneration: optional(observedGeneration()),
  clusters: optional(
    mapList(
      'Number of clusters per stage.',
      obj('One stage.', {
        stage: dnsLabel('Name of the stage.'),
        count: int('Number of clusters in the stage.', { min: 0, max: MAX_CLUSTERS }),
      }),
      { keys: ['stage'], max: MAX_STAGES },
    ),
  ),
  conditions: optional(conditions()),
})

export const releasePipeline = defineKind({
  kind: 'ReleasePipeline',
  plural: 'releasepipelines',
  shortNames: ['krp'],
  namespaced: true,
  doc: 'Ordered stages with gates, soak time and concurrency limits for every change of a track.',
  spec,
  status,
  columns: [text('On failure', '.spec.onFailure'), AGE],
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
