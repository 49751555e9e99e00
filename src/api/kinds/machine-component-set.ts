// MachineComponentSet: which component versions the machines of a selector must have, and how changes roll out.
import { AGE, PHASE, text, whole, wide } from '../columns.ts'
import {
  choice,
  fallback,
  freeform,
  int,
  intOrPercent,
  list,
  mapList,
  obj,
  optional,
  rule,
  setOf,
  str,
  time,
  union,
} from '../build.ts'
import {
  commitId,
  componentName,
  componentVersion,
  conditions,
  count,
  dnsLabel,
  duration,
  labelValue,
  objectName,
  observedGeneration,
  phase,
  port,
  revisionName,
  secretRef,
  selector,
  sentence,
  waitingFor,
  windows,
} from '../fields.ts'
import { defineKind, type InputOf, type ObjectOf, type SpecOf, type StatusOf } from '../kind.ts'
import { httpLook, queryLook } from '../looks.ts'
import { MAX_COMPONENTS } from './machine.ts'
import { MAX_TARGETS } from './operation-permit.ts'

/** Ten components roll in ladders of their own, twenty slices may be open in a set; finished ones stay a while to be read. */
const MAX_SLICES = 64
const MAX_STEPS = 16
const MAX_LISTED = 200

/** Rendered values are one ComponentConfig, which may hold 256 KiB; what people write by hand is far smaller. */
export const MAX_VALUES_BYTES = 64 * 1024

/** A component that a set or a canary declares. */
export const wantedComponent = obj('One component at one version.', {
  name: componentName('The component.'),
  version: componentVersion('The version; a MachineComponent for it must exist.'),
  values: optional(freeform('Values for the file templates.', { maxBytes: MAX_VALUES_BYTES })),
  secretRefs: optional(
    mapList(
      'Secret values for the templates, encrypted for each machine.',
      obj('One secret value.', {
        path: str('Path of the value in the configuration, such as registry.password.', {
          min: 1,
          max: 253,
          pattern: '^[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+)*$',
          says: 'names joined by dots',
        }),
        secret: secretRef('The Secret, labeled kubenode.io/for-components=true, and its key.'),
      }),
      { keys: ['path'], max: 32 },
    ),
  ),
})

const inspection = union(
  obj('One check that must pass after each step.', {
    name: dnsLabel('Name of the inspection.'),
    nodeReady: optional(obj('The Nodes of the step are Ready.', {})),
    componentsHealthy: optional(obj('Every component of the machines of the step is healthy.', {})),
    conditionAbsent: optional(
      obj('No Node of the step has this condition.', {
        type: str('Type of the condition.', { min: 1, max: 128 }),
        status: fallback(choice('The bad status.', ['True', 'False', 'Unknown']), 'True'),
      }),
    ),
    http: optional(httpLook('the controller')),
    prometheus: optional(queryLook()),
    podProbe: optional(
      obj('A pod that runs on a machine of the step and must succeed.', {
        image: str('Image of the pod.', { min: 1, max: 512 }),
        command: list('Program and arguments.', str('One argument.', { max: 1024 }), { min: 1, max: 32 }),
        port: optional(port('Port that must accept connections while the pod runs.')),
      }),
    ),
    timeout: fallback(duration('How long the check may take to pass.'), '5m'),
  }),
  ['nodeReady', 'componentsHealthy', 'conditionAbsent', 'http', 'prometheus', 'podProbe'],
)

export const ROLLOUT_DEFAULT_STEPS = [1, 5, 10, 50, 100] as const

const rollout = obj('How a new version is rolled out.', {
  steps: fallback(
    list(
      'Number of machines on the new version after each step; a percentage refers to the machines that count. The last step repeats.',
      intOrPercent('A number or percentage of machines.', { min: 1, max: 10_000 }),
      { min: 1, max: MAX_STEPS },
    ),
    ROLLOUT_DEFAULT_STEPS,
  ),
  maxUnavailable: fallback(
    intOrPercent('Number of machines of the set that may be unavailable; a percentage rounds down to at least one.', {
      min: 1,
      max: 10_000,
    }),
    '10%',
  ),
  maxFailures: optional(
    intOrPercent(
      'Number of machines that may fail before the revision counts as failed. If absent: 0 for up to 10 machines, otherwise 1 % of the tried machines, rounded down.',
      { min: 0, max: 10_000 },
    ),
  ),
  soak: fallback(duration('How long a step is watched before the next one opens.'), '10m'),
  inspections: optional(mapList('Checks that must pass after each step.', inspection, { keys: ['name'], max: 16 })),
  progressDeadline: fallback(duration('Time without progress after which the rollout counts as failed.'), '30m'),
  onFailure: fallback(choice('What happens if a revision fails.', ['Pause', 'Rollback']), 'Pause'),
  spread: fallback(
    setOf(
      'Domains in which the first machines of a step should differ, most important first.',
      choice('A domain.', ['class', 'zone', 'rack', 'pool']),
      {
        max: 4,
      },
    ),
    ['class', 'zone', 'rack'],
  ),
  windows: optional(windows('Steps open only within one of these windows.')),
})

const spec = obj('The desired components and how to roll them out.', {
  selector: selector('Selects the machines of this set.'),
  priority: fallback(
    int('If two sets declare the same component for a machine, the higher priority wins.', { min: -1_000, max: 1_000 }),
    0,
  ),
  components: mapList('The components.', wantedComponent, { keys: ['name'], max: MAX_COMPONENTS }),
  rollout: fallback(rollout, {}),
})

const blockedRevision = obj('A revision that failed and is not retried.', {
  revision: revisionName('Name of the ControllerRevision.'),
  component: componentName('The component that failed.'),
  since: time('When it was blocked.'),
  reason: sentence('What was observed.'),
})

const slice = rule(
  obj('One slice of a step: at most 100 machines under one permit.', {
    component: componentName('The component to switch.'),
    version: optional(componentVersion('The version to switch to.')),
    config: optional(objectName('The ComponentConfig to switch to; absent if the component has no values.')),
    step: int('Number of the step, from 0.', { min: 0, max: 10_000 }),
    number: int('Number of the slice in the step, from 0.', { min: 0, max: 10_000 }),
    phase: phase('Slice'),
    permit: optional(objectName('Name of the OperationPermit.')),
    machines: setOf('The machines of the slice.', objectName('A machine.'), { max: MAX_TARGETS }),
    failed: optional(count('Machines that failed.', MAX_TARGETS)),
    startedAt: optional(time('When its permit was requested.')),
    soakUntil: optional(time('When its soak time ends.')),
    waitingFor: optional(waitingFor()),
    recovery: optional(choice('Set if the slice rolls back to the last healthy revision.', ['Rollback'])),
  }),
  {
    cel: "self.phase == 'Switching' ? has(self.permit) : true",
    message: 'a slice in phase Switching must have a permit',
    holds: (w) => w.phase !== 'Switching' || w.permit !== undefined,
  },
)

const status = obj('Progress of the rollout.', {
  observedGeneration: optional(observedGeneration()),
  phase: optional(phase('Set')),
  revisions: optional(
    obj('The current revisions.', {
      current: optional(revisionName('The last revision that was healthy on all machines.')),
      update: optional(revisionName('The revision that is being rolled out.')),
      blocked: optional(
        mapList('Revisions that failed.', blockedRevision, { keys: ['revision', 'component'], max: 10 }),
      ),
    }),
  ),
  slices: optional(
    mapList('Slices that are open or ended recently.', slice, {
      keys: ['component', 'step', 'number'],
      max: MAX_SLICES,
    }),
  ),
  counts: optional(
    obj('Machines of the set.', {
      total: count('All machines that the selector matches.'),
      updated: count('Machines on the update revision.'),
      healthy: count('Healthy machines on the update revision.'),
      skipped: count('Machines that were broken before, silent or held; they are updated later.'),
      failed: count('Machines that failed with the update revision.'),
    }),
  ),
  skipped: optional(
    list(
      'Skipped machines and the cause; truncated.',
      obj('One machine.', { machine: objectName('The machine.'), reason: sentence('Why.') }),
      {
        max: MAX_LISTED,
      },
    ),
  ),
  coverage: optional(
    mapList(
      'Hardware classes on which the update revision was tried.',
      obj('One class.', {
        class: labelValue('The class.'),
        total: count('Machines of the class.'),
        healthy: count('Healthy machines of the class on the update revision.'),
      }),
      { keys: ['class'], max: 64 },
    ),
  ),
  consistency: optional(
    mapList(
      'Consistency of each component across the machines that count.',
      obj('One component.', {
        component: componentName('The component.'),
        consistent: count('Machines with the declared version and digest.'),
        total: count('Machines that count.'),
      }),
      { keys: ['component'], max: MAX_COMPONENTS },
    ),
  ),
  versions: optional(
    mapList(
      'The last declared versions, used to detect changes.',
      obj('One component.', {
        component: componentName('The component.'),
        version: componentVersion('The version.'),
        commit: optional(commitId('The commit that declared it.')),
      }),
      { keys: ['component'], max: MAX_COMPONENTS },
    ),
  ),
  waitingFor: optional(waitingFor()),
  conditions: optional(conditions()),
})

export const machineComponentSet = defineKind({
  kind: 'MachineComponentSet',
  plural: 'machinecomponentsets',
  shortNames: ['kmcs'],
  namespaced: false,
  doc: 'Which component versions the selected machines run, and how changes are rolled out.',
  spec,
  status,
  columns: [
    whole('Machines', '.status.counts.total'),
    whole('Updated', '.status.counts.updated'),
    whole('Healthy', '.status.counts.healthy'),
    whole('Failed', '.status.counts.failed'),
    PHASE,
    text('Waiting', '.status.waitingFor.predicate'),
    wide(text('Revision', '.status.revisions.update')),
    wide(whole('Skipped', '.status.counts.skipped')),
    AGE,
  ],
  conditions: [
    'Ready',
    'Reconciling',
    'Stalled',
    'RolledOut',
    'RevisionBlocked',
    'Conflicting',
    'Paused',
    'UncommittedChange',
  ],
  example: {
    metadata: { name: 'base' },
    spec: {
      selector: { matchLabels: { 'kubenode.io/pool': 'workers' } },
      components: [
        { name: 'containerd', version: '2.1.4', values: { root: '/var/lib/containerd' } },
        {
          name: 'kubelet',
          version: '1.34.2',
          values: { maxPods: 110 },
          secretRefs: [{ path: 'registry.password', secret: { name: 'registry', key: 'password' } }],
        },
      ],
      rollout: {
        steps: [1, 5, '10%', '50%'],
        maxUnavailable: '5%',
        soak: '15m',
        inspections: [
          { name: 'ready', nodeReady: {} },
          { name: 'no-oom', conditionAbsent: { type: 'FrequentOOM' } },
        ],
        windows: [{ cron: '0 9 * * 1-5', duration: '8h', timeZone: 'Europe/Berlin' }],
      },
    },
  },
})

export type MachineComponentSet = ObjectOf<typeof machineComponentSet>
export type MachineComponentSetInput = InputOf<typeof machineComponentSet>
export type MachineComponentSetSpec = SpecOf<typeof machineComponentSet>
export type MachineComponentSetStatus = StatusOf<typeof machineComponentSet>
