// ReleasePipeline: ordered stages with gates, soak and concurrency, through which every change of a track goes.
import { choice, fallback, int, intOrPercent, list, mapList, obj, optional, str, union } from '../build.ts'
import { conditions, dnsLabel, duration, objectName, observedGeneration, selector, windows, url } from '../fields.ts'
import { defineKind, type InputOf, type ObjectOf, type SpecOf } from '../kind.ts'

export const MAX_STAGES = 16
export const MAX_CLUSTERS = 1_000
const MAX_GATES = 16

const share = (doc: string, value: number) => fallback(int(doc, { min: 0, max: 100 }), value)

const gate = union(
  obj('One thing that must hold.', {
    name: dnsLabel('Name of the gate.'),
    machinesReady: optional(
      obj('Enough machines of the clusters are Ready.', { minPercent: share('Share of the machines that count.', 98) }),
    ),
    componentsConsistent: optional(
      obj('Enough machines have what is declared; skipped ones do not count.', {
        minPercent: share('Share of the machines that count.', 98),
      }),
    ),
    noNewRepairs: optional(obj('No repair was begun lately.', { within: fallback(duration('How long back.'), '15m') })),
    approval: optional(
      obj('People approve the digest of the release.', {
        from: list('Users, or groups with the prefix "group:".', str('A user or group.', { min: 1, max: 253 }), {
          min: 1,
          max: 32,
        }),
        count: fallback(int('How many different people.', { min: 1, max: 5 }), 1),
      }),
    ),
    http: optional(
      obj('A request that must be answered with this status.', {
        url: url('Where to ask; only places that sync is configured to reach.'),
        expectedStatus: fallback(int('The status code.', { min: 100, max: 599 }), 200),
      }),
    ),
    prometheus: optional(
      obj('A query whose value must be within bounds.', {
        query: str('The PromQL query; it must give one value.', { min: 1, max: 4_096 }),
        min: optional(
          str('Smallest good value, as text.', {
            min: 1,
            max: 32,
            pattern: '^-?[0-9]+(\\.[0-9]+)?$',
            says: 'a decimal number',
          }),
        ),
        max: optional(
          str('Largest good value, as text.', {
            min: 1,
            max: 32,
            pattern: '^-?[0-9]+(\\.[0-9]+)?$',
            says: 'a decimal number',
          }),
        ),
      }),
    ),
    timeout: fallback(duration('A gate that does not hold for so long fails the stage.'), '1h'),
  }),
  ['machinesReady', 'componentsConsistent', 'noNewRepairs', 'approval', 'http', 'prometheus'],
)

const gates = (doc: string) => mapList(doc, gate, { keys: ['name'], max: MAX_GATES })

const stage = obj('One stage.', {
  name: dnsLabel('Name of the stage.'),
  clusters: union(
    obj('Which clusters belong to it.', {
      selector: optional(selector('Clusters with these labels, in the order of their names.')),
      names: optional(list('These clusters, in this order.', objectName('A cluster.'), { min: 1, max: MAX_CLUSTERS })),
    }),
    ['selector', 'names'],
  ),
  maxConcurrency: fallback(
    intOrPercent('Clusters that are changed at the same time; a percentage rounds down, at least one.', {
      min: 1,
      max: MAX_CLUSTERS,
    }),
    1,
  ),
  maxFailures: fallback(
    intOrPercent('Clusters that may fail before the stage does.', { min: 0, max: MAX_CLUSTERS }),
    0,
  ),
  maxNewFailures: fallback(
    intOrPercent(
      'Machines of one cluster that may begin to fail during the release; a percentage is of its machines and rounds down. What failed before the release does not count, and objects that fail as a whole always do.',
      { min: 0, max: 10_000 },
    ),
    '2%',
  ),
  minSuccessTime: fallback(duration('How long all clusters must stay healthy before the next stage opens.'), '15m'),
  progressDeadline: fallback(duration('How long one cluster may take to become healthy.'), '1h'),
  offlineDeadline: fallback(
    duration('How long a cluster that does not answer is waited for before it is skipped.'),
    '30m',
  ),
  before: optional(gates('What must hold before the stage opens.')),
  gates: optional(gates('What must hold for each cluster to count as healthy.')),
  after: optional(gates('What must hold before the stage counts as done.')),
  windows: optional(windows('Clusters are begun only while one of these is open.')),
})

const spec = obj('The stages.', {
  stages: mapList('The stages, in order.', stage, { keys: ['name'], min: 1, max: MAX_STAGES }),
  onFailure: fallback(choice('What happens when a stage fails.', ['Pause', 'Revert']), 'Pause'),
  revert: fallback(
    obj('How a revert commit is made.', {
      to: fallback(
        choice('A branch to be merged by people, or the followed branch itself.', ['Branch', 'Direct']),
        'Branch',
      ),
      branchPrefix: fallback(
        str('Start of the name of the branch.', {
          min: 1,
          max: 64,
          pattern: '^[A-Za-z0-9][A-Za-z0-9._/-]*$',
          says: 'the start of a branch name',
        }),
        'revert/',
      ),
    }),
    {},
  ),
  keep: fallback(int('How many Releases of a track are kept after they ended.', { min: 1, max: 100 }), 20),
})

const status = obj('Who uses the pipeline.', {
  observedGeneration: optional(observedGeneration()),
  clusters: optional(
    mapList(
      'Clusters of each stage.',
      obj('One stage.', {
        stage: dnsLabel('Name of the stage.'),
        count: int('Clusters that belong to it now.', { min: 0, max: MAX_CLUSTERS }),
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
  doc: 'Ordered stages with gates, soak and concurrency, through which every change of a track goes.',
  spec,
  status,
  columns: [
    { name: 'On failure', type: 'string', jsonPath: '.spec.onFailure' },
    { name: 'Ready', type: 'string', jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
  conditions: ['Ready', 'Stalled', 'Paused'],
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
      onFailure: 'Revert',
    },
  },
})

export type ReleasePipeline = ObjectOf<typeof releasePipeline>
export type ReleasePipelineInput = InputOf<typeof releasePipeline>
export type ReleasePipelineSpec = SpecOf<typeof releasePipeline>
