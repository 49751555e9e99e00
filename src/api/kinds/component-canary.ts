// ComponentCanary: versions tried on a few machines first. It marks machines and reports; the machine controller gives them the versions.
import { AGE, PHASE, text, whole } from '../columns.ts'
import { bool, fallback, int, intOrPercent, list, mapList, obj, optional, setOf, str, time, union } from '../build.ts'
import {
  componentName,
  conditions,
  count,
  duration,
  objectName,
  observedGeneration,
  phase,
  selector,
  reasonWord,
  sentence,
  waitingFor,
} from '../fields.ts'
import { defineKind, type InputOf, type ObjectOf } from '../kind.ts'
import { wantedComponent } from './machine-component-set.ts'

/** A canary is a few machines; more than this is a rollout. */
const MAX_CANARY_MACHINES = 100
const MAX_CANARY_COMPONENTS = 16

const pick = union(
  obj('Which of the selected machines are used.', {
    count: optional(
      int('Number of machines, spread over hardware classes and zones.', { min: 1, max: MAX_CANARY_MACHINES }),
    ),
    percent: optional(
      int('Percentage of the machines, rounded down, between 1 and 100 machines.', { min: 1, max: 100 }),
    ),
    machines: optional(
      setOf('Exactly these machines.', objectName('A machine.'), { min: 1, max: MAX_CANARY_MACHINES }),
    ),
  }),
  ['count', 'percent', 'machines'],
)

const spec = obj('What to try, on which machines, and for how long.', {
  selector: selector('Selects the machines to choose from.'),
  pick,
  components: mapList('The components to try.', wantedComponent, {
    keys: ['name'],
    min: 1,
    max: MAX_CANARY_COMPONENTS,
  }),
  strategy: fallback(
    obj('How the machines are switched.', {
      maxBatchSize: fallback(int('Number of machines to switch at once.', { min: 1, max: MAX_CANARY_MACHINES }), 1),
      maxFailures: fallback(intOrPercent('Number of machines that may fail.', { min: 0, max: MAX_CANARY_MACHINES }), 0),
    }),
    {},
  ),
  duration: fallback(duration('How long the versions are observed after all machines run them.'), '1h'),
  promoteWithin: fallback(duration('How long a passed canary waits for promotion by a commit.'), '72h'),
  abort: fallback(bool('Ends the canary; the machines return to the versions of their set.'), false),
})

const result = obj('One machine of the canary.', {
  machine: objectName('The machine.'),
  component: componentName('The component.'),
  state: phase('Component', 'What the agent reports.'),
  healthySince: optional(time('Since when the machine has been healthy with the version.')),
  reason: optional(reasonWord('The reason, as reported by the agent.')),
  message: optional(sentence('Why, for people.')),
})

const status = obj('The observed state of the canary.', {
  observedGeneration: optional(observedGeneration()),
  phase: optional(phase('Canary')),
  machines: optional(list('The selected machines.', objectName('A machine.'), { max: MAX_CANARY_MACHINES })),
  results: optional(
    mapList('One entry per machine and component; at most 200.', result, {
      keys: ['machine', 'component'],
      max: 200,
    }),
  ),
  counts: optional(
    obj('Machines of the canary.', {
      total: count('All selected machines.'),
      healthy: count('Healthy machines.'),
      failed: count('Failed machines.'),
    }),
  ),
  permits: optional(list('Open permits.', objectName('Name of a permit.'), { max: 16 })),
  observeUntil: optional(time('When the observation ends.')),
  promotedBy: optional(str('The set that now declares the version.', { max: 253 })),
  waitingFor: optional(waitingFor()),
  conditions: optional(conditions()),
})

export const componentCanary = defineKind({
  kind: 'ComponentCanary',
  plural: 'componentcanaries',
  shortNames: ['kcan'],
  namespaced: false,
  doc: 'Tries component versions on a few machines first. A commit that gives the set the versions promotes them.',
  spec,
  status,
  columns: [
    PHASE,
    whole('Machines', '.status.counts.total'),
    whole('Healthy', '.status.counts.healthy'),
    whole('Failed', '.status.counts.failed'),
    text('Until', '.status.observeUntil'),
    AGE,
  ],
  conditions: ['Ready', 'Reconciling', 'Stalled', 'Paused', 'UncommittedChange'],
  example: {
    metadata: { name: 'kubelet-1-35' },
    spec: {
      selector: { matchLabels: { 'kubenode.io/pool': 'workers' } },
      pick: { count: 3 },
      components: [{ name: 'kubelet', version: '1.35.0' }],
      strategy: { maxBatchSize: 1, maxFailures: 0 },
      duration: '4h',
    },
  },
})

export type ComponentCanary = ObjectOf<typeof componentCanary>
export type ComponentCanaryInput = InputOf<typeof componentCanary>
