// ComponentCanary: tries versions on a few machines first. It marks machines and reports; the machine controller gives them the versions.
import { PHASE, text, whole } from '../columns.ts'
import * as s from '../build.ts'
import * as f from '../fields.ts'
import { defineKind, type InputOf, type ObjectOf } from '../kind.ts'
import { wantedComponent } from './machine-component-set.ts'

/** A canary is a few machines; more is a rollout. */
const MAX_CANARY_MACHINES = 100
const MAX_CANARY_COMPONENTS = 16

const pick = s.union(
  s.obj('Which of the selected machines are used.', {
    count: s.optional(
      s.int('Number of machines, spread over hardware classes and zones.', { min: 1, max: MAX_CANARY_MACHINES }),
    ),
    percent: s.optional(
      s.int('Percentage of the machines, rounded down, between 1 and 100 machines.', { min: 1, max: 100 }),
    ),
    machines: s.optional(
      s.setOf('Exactly these machines.', f.objectName('A machine.'), { min: 1, max: MAX_CANARY_MACHINES }),
    ),
  }),
  ['count', 'percent', 'machines'],
)

const spec = s.obj('What to try, on which machines, and for how long.', {
  selector: f.selector('Selects the machines to choose from.'),
  pick,
  components: s.mapList('The components to try.', wantedComponent, {
    keys: ['name'],
    min: 1,
    max: MAX_CANARY_COMPONENTS,
  }),
  strategy: s.fallback(
    s.obj('How the machines are switched.', {
      maxBatchSize: s.fallback(s.int('Number of machines to switch at once.', { min: 1, max: MAX_CANARY_MACHINES }), 1),
      maxFailures: s.fallback(
        s.intOrPercent('Number of machines that may fail.', { min: 0, max: MAX_CANARY_MACHINES }),
        0,
      ),
    }),
    {},
  ),
  duration: s.fallback(f.duration('How long the versions are observed after all machines run them.'), '1h'),
  promoteWithin: s.fallback(f.duration('How long a passed canary waits for promotion by a commit.'), '72h'),
  abort: s.fallback(s.bool('Ends the canary; the machines return to the versions of their set.'), false),
})

const result = s.obj('One machine of the canary.', {
  machine: f.objectName('The machine.'),
  component: f.componentName('The component.'),
  state: f.phase('Component', 'What the agent reports.'),
  healthySince: s.optional(s.time('Since when the machine has been healthy with the version.')),
  reason: s.optional(f.reasonWord('The reason, as reported by the agent.')),
  message: s.optional(f.sentence('Why, for people.')),
})

const status = f.waitingStatus('The observed state of the canary.', {
  phase: s.optional(f.phase('Canary')),
  machines: s.optional(s.list('The selected machines.', f.objectName('A machine.'), { max: MAX_CANARY_MACHINES })),
  results: s.optional(
    s.mapList('One entry per machine and component; at most 200.', result, {
      keys: ['machine', 'component'],
      max: 200,
    }),
  ),
  counts: s.optional(
    s.obj('Machines of the canary.', {
      total: f.count('All selected machines.'),
      healthy: f.count('Healthy machines.'),
      failed: f.count('Failed machines.'),
    }),
  ),
  permits: s.optional(s.list('Open permits.', f.objectName('Name of a permit.'), { max: 16 })),
  observeUntil: s.optional(s.time('When the observation ends.')),
  promotedBy: s.optional(s.str('The set that now declares the version.', { max: 253 })),
})

export const componentCanary = defineKind('ComponentCanary', 'kcan', {
  doc: 'Tries component versions on a few machines first. A commit that gives the set the versions promotes them.',
  spec,
  status,
  columns: [
    PHASE,
    whole('Machines', '.status.counts.total'),
    whole('Healthy', '.status.counts.healthy'),
    whole('Failed', '.status.counts.failed'),
    text('Until', '.status.observeUntil'),
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
