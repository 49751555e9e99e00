// ComponentCanary: versions tried on a few machines first. It marks machines and reports; the machine controller gives them the versions.
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
  obj('Which machines of the selector are tried.', {
    count: optional(int('So many, spread over hardware classes and zones.', { min: 1, max: MAX_CANARY_MACHINES })),
    percent: optional(int('This share of them, rounded down, at least one, at most 100.', { min: 1, max: 100 })),
    machines: optional(setOf('Exactly these.', objectName('A machine.'), { min: 1, max: MAX_CANARY_MACHINES })),
  }),
  ['count', 'percent', 'machines'],
)

const spec = obj('What is tried, where, for how long.', {
  selector: selector('The machines among which some are picked.'),
  pick,
  components: mapList('What they get.', wantedComponent, { keys: ['name'], min: 1, max: MAX_CANARY_COMPONENTS }),
  strategy: fallback(
    obj('How the machines are switched.', {
      maxBatchSize: fallback(int('How many at once.', { min: 1, max: MAX_CANARY_MACHINES }), 1),
      maxFailures: fallback(intOrPercent('How many may fail.', { min: 0, max: MAX_CANARY_MACHINES }), 0),
    }),
    {},
  ),
  duration: fallback(duration('How long the versions are watched once all machines have them.'), '1h'),
  promoteWithin: fallback(duration('How long a passed canary waits for the commit that promotes it.'), '72h'),
  abort: fallback(bool('Ends the canary; the machines go back to what their set says.'), false),
})

const result = obj('One machine of the canary.', {
  machine: objectName('The machine.'),
  component: componentName('The component.'),
  state: phase('Component', 'What the agent reports.'),
  healthySince: optional(time('Since when it is healthy with the version.')),
  reason: optional(reasonWord('Why, in one word, as the agent reports it.')),
  message: optional(sentence('Why, for people.')),
})

const status = obj('How the machines do.', {
  observedGeneration: optional(observedGeneration()),
  phase: optional(phase('Canary')),
  machines: optional(list('The machines that were picked.', objectName('A machine.'), { max: MAX_CANARY_MACHINES })),
  results: optional(
    mapList('One entry a machine and component; at most the first 200.', result, {
      keys: ['machine', 'component'],
      max: 200,
    }),
  ),
  counts: optional(
    obj('Machines of the canary.', {
      total: count('All that were picked.'),
      healthy: count('Those that are healthy.'),
      failed: count('Those that failed.'),
    }),
  ),
  permits: optional(list('Permits that are open.', objectName('Name of a permit.'), { max: 16 })),
  observeUntil: optional(time('When the watching ends.')),
  promotedBy: optional(str('The set that declares the version now.', { max: 253 })),
  waitingFor: optional(waitingFor()),
  conditions: optional(conditions()),
})

export const componentCanary = defineKind({
  kind: 'ComponentCanary',
  plural: 'componentcanaries',
  shortNames: ['kcan'],
  namespaced: false,
  doc: 'Versions tried on a few machines first. Promotion is the commit that gives the set the version.',
  spec,
  status,
  columns: [
    { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
    { name: 'Machines', type: 'integer', jsonPath: '.status.counts.total' },
    { name: 'Healthy', type: 'integer', jsonPath: '.status.counts.healthy' },
    { name: 'Failed', type: 'integer', jsonPath: '.status.counts.failed' },
    { name: 'Until', type: 'string', jsonPath: '.status.observeUntil' },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
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
