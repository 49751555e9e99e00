// MachineComponentSet: which component versions the selected machines must have, and how changes roll out.
import { PHASE, text, whole, wide } from '../columns.ts'
import * as s from '../build.ts'
import * as f from '../fields.ts'
import { defineKind, type InputOf, type ObjectOf, type SpecOf, type StatusOf } from '../kind.ts'
import { httpCheck, queryCheck } from '../external-checks.ts'
import { MAX_COMPONENTS, onRemoval } from './machine.ts'
import { MAX_TARGETS } from './operation-permit.ts'

/** Ten components roll out in separate ladders, with up to twenty open slices in a set; finished ones stay visible for a while. */
const MAX_SLICES = 64
const MAX_STEPS = 16
const MAX_LISTED = 200
/** Enough for a median and a tail, and small compared with the rest of the status. */
export const MAX_DURATIONS = 50

/** Rendered values are one ComponentConfig, which may hold 256 KiB; hand-written ones are far smaller. */
export const MAX_VALUES_BYTES = 64 * 1024

const wantedProps = {
  name: f.componentName('The component.'),
  version: f.componentVersion('The version; a MachineComponent for it must exist.'),
  values: s.optional(s.freeform('Values for the file templates.', { maxBytes: MAX_VALUES_BYTES })),
  secretRefs: s.optional(
    s.mapList(
      'Secret values for the templates, encrypted for each machine.',
      s.obj('One secret value.', {
        path: s.str('Path of the value in the configuration, such as registry.password.', {
          min: 1,
          max: 253,
          pattern: '^[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+)*$',
          expects: 'names joined by dots',
        }),
        secret: f.secretRef('The Secret, labeled kubenode.io/for-components=true, and its key.'),
      }),
      { keys: ['path'], max: 32 },
    ),
  ),
}

/** A component declared by a set or a canary. */
export const wantedComponent = s.obj('One component at one version.', wantedProps)

/** A canary does not decide how a component is removed. */
const setComponent = s.obj('One component at one version.', { ...wantedProps, onRemoval: s.optional(onRemoval) })

const inspection = s.union(
  s.obj('One check that must pass after each step.', {
    name: f.dnsLabel('Name of the inspection.'),
    nodeReady: s.optional(s.obj('The Nodes of the step are Ready.', {})),
    componentsHealthy: s.optional(s.obj('Every component of the machines of the step is healthy.', {})),
    conditionAbsent: s.optional(
      s.obj('No Node of the step has this condition.', {
        type: s.str('Type of the condition.', { min: 1, max: 128 }),
        status: s.fallback(s.choice('The bad status.', ['True', 'False', 'Unknown']), 'True'),
      }),
    ),
    http: s.optional(httpCheck()),
    prometheus: s.optional(queryCheck()),
    podProbe: s.optional(
      s.obj('A pod that runs on a machine of the step and must succeed.', {
        image: s.str('Image of the pod.', { min: 1, max: 512 }),
        command: s.list('Program and arguments.', s.str('One argument.', { max: 1024 }), { min: 1, max: 32 }),
        port: s.optional(f.port('Port that must accept connections while the pod runs.')),
      }),
    ),
    timeout: s.fallback(f.duration('How long the check may take to pass.'), '5m'),
  }),
  ['nodeReady', 'componentsHealthy', 'conditionAbsent', 'http', 'prometheus', 'podProbe'],
)

export const ROLLOUT_DEFAULT_STEPS = [1, 5, 10, 50, 100] as const

const rollout = s.obj('How a new version is rolled out.', {
  steps: s.fallback(
    s.list(
      'Number of machines on the new version after each step; a percentage refers to the machines that count. The last step repeats.',
      s.intOrPercent('A number or percentage of machines.', { min: 1, max: 10_000 }),
      { min: 1, max: MAX_STEPS },
    ),
    ROLLOUT_DEFAULT_STEPS,
  ),
  maxUnavailable: s.fallback(
    s.intOrPercent('Number of machines of the set that may be unavailable; a percentage rounds down to at least one.', {
      min: 1,
      max: 10_000,
    }),
    '10%',
  ),
  maxFailures: s.optional(
    s.intOrPercent(
      'Number of machines that may fail before the revision counts as failed. If absent: 0 for up to 10 machines, otherwise 1 % of the tried machines, rounded down.',
      { min: 0, max: 10_000 },
    ),
  ),
  soak: s.fallback(f.duration('How long a step is watched before the next one opens.'), '10m'),
  inspections: s.optional(s.mapList('Checks that must pass after each step.', inspection, { keys: ['name'], max: 16 })),
  podWait: s.optional(
    f.duration(
      'The longest time that a drain leaves pods that ask for it with the annotation kubenode.io/drain-wait, until their work is saved. Shorter than progressDeadline. If absent: none are waited for.',
    ),
  ),
  progressDeadline: s.fallback(f.duration('Time without progress after which the rollout counts as failed.'), '30m'),
  onFailure: s.fallback(s.choice('What happens if a revision fails.', ['Pause', 'Rollback']), 'Pause'),
  spread: s.fallback(
    s.setOf(
      'Domains in which the first machines of a step should differ, most important first.',
      s.choice('A domain.', ['class', 'zone', 'rack', 'pool']),
      {
        max: 4,
      },
    ),
    ['class', 'zone', 'rack'],
  ),
  windows: s.optional(f.windows('Steps open only within one of these windows.')),
})

const spec = s.obj('The desired components and how to roll them out.', {
  selector: f.selector('Selects the machines of this set.'),
  priority: s.fallback(
    s.int('If two sets declare the same component for a machine, the higher priority wins.', {
      min: -1_000,
      max: 1_000,
    }),
    0,
  ),
  components: s.mapList('The components.', setComponent, { keys: ['name'], max: MAX_COMPONENTS }),
  rollout: s.fallback(rollout, {}),
})

const blockedRevision = s.obj('A revision that failed and is not retried.', {
  revision: f.revisionName('Name of the ControllerRevision.'),
  component: f.componentName('The component that failed.'),
  since: s.time('When it was blocked.'),
  reason: f.sentence('What was observed.'),
})

/** A slice's decision. None of it changes while the slice is in a status. */
const sliceDecision = {
  component: f.componentName('The component to switch.'),
  version: s.optional(f.componentVersion('The version to switch to.')),
  config: s.optional(f.objectName('The ComponentConfig to switch to; absent if the component has no values.')),
  step: s.int('Number of the step, from 0.', { min: 0, max: 10_000 }),
  number: s.int('Number of the slice in the step, from 0.', { min: 0, max: 10_000 }),
  machines: s.setOf('The machines that were decided on.', f.objectName('A machine.'), { max: MAX_TARGETS }),
  recovery: s.optional(s.choice('Set if the slice rolls back to the last healthy revision.', ['Rollback'])),
}

/** The slice's progress. */
const sliceProgress = {
  phase: f.phase('Slice'),
  permit: s.optional(f.objectName('Name of the OperationPermit.')),
  released: s.optional(
    s.list('Machines that the slice continues without; a later slice may switch them.', f.objectName('A machine.'), {
      max: MAX_TARGETS,
    }),
  ),
  failed: s.optional(f.count('Machines that failed.', MAX_TARGETS)),
  startedAt: s.optional(s.time('When its permit was requested.')),
  soakUntil: s.optional(s.time('When its soak time ends.')),
  waitingFor: s.optional(f.waitingFor()),
}

/**
 * An earlier slice's key may be reused under another permit. Machines may be removed, as earlier programs did with those that a slice continued without. The
 * tests hold this program to a stricter rule: see `changedDecision`.
 */
const isAsDecided = `!has(self.permit) || !has(oldSelf.permit) || self.permit != oldSelf.permit || (${s.areUnchanged(['version', 'config', 'recovery'])} && self.machines.all(m, m in oldSelf.machines))`

const slice = s.onUpdate(
  s.rule(s.obj('One slice of a step: at most 100 machines under one permit.', { ...sliceDecision, ...sliceProgress }), {
    cel: "self.phase == 'Switching' ? has(self.permit) : true",
    message: 'a slice in phase Switching must have a permit',
    holds: (w) => w.phase !== 'Switching' || w.permit !== undefined,
  }),
  { cel: isAsDecided, message: 'a slice is immutable under its permit: it gets no other target and no other machine' },
)

const status = f.waitingStatus('Progress of the rollout.', {
  phase: s.optional(f.phase('Set')),
  revisions: s.optional(
    s.obj('The current revisions.', {
      current: s.optional(f.revisionName('The last revision that was healthy on all machines.')),
      update: s.optional(f.revisionName('The revision that is being rolled out.')),
      blocked: s.optional(
        s.mapList('Revisions that failed.', blockedRevision, { keys: ['revision', 'component'], max: 10 }),
      ),
    }),
  ),
  slices: s.optional(
    s.mapList('Slices that are open or ended recently.', slice, {
      keys: ['component', 'step', 'number'],
      max: MAX_SLICES,
    }),
  ),
  counts: s.optional(
    s.obj('Machines of the set.', {
      total: f.count('All machines that the selector matches.'),
      updated: f.count('Machines on the update revision.'),
      healthy: f.count('Healthy machines on the update revision.'),
      skipped: f.count('Machines that were broken before, silent or held; they are updated later.'),
      failed: f.count('Machines that failed with the update revision.'),
    }),
  ),
  skipped: s.optional(
    s.list(
      'Skipped machines and the cause; truncated.',
      s.obj('One machine.', { machine: f.objectName('The machine.'), reason: f.sentence('Why.') }),
      {
        max: MAX_LISTED,
      },
    ),
  ),
  coverage: s.optional(
    s.mapList(
      'Hardware classes on which the update revision was tried.',
      s.obj('One class.', {
        class: f.labelValue('The class.'),
        total: f.count('Machines of the class.'),
        healthy: f.count('Healthy machines of the class on the update revision.'),
      }),
      { keys: ['class'], max: 64 },
    ),
  ),
  consistency: s.optional(
    s.mapList(
      'Consistency of each component across the machines that count.',
      s.obj('One component.', {
        component: f.componentName('The component.'),
        consistent: f.count('Machines with the declared version and digest.'),
        total: f.count('Machines that count.'),
      }),
      { keys: ['component'], max: MAX_COMPONENTS },
    ),
  ),
  versions: s.optional(
    s.mapList(
      'The last declared versions, used to detect changes.',
      s.obj('One component.', {
        component: f.componentName('The component.'),
        version: f.componentVersion('The version.'),
        commit: s.optional(f.commitId('The commit that declared it.')),
      }),
      { keys: ['component'], max: MAX_COMPONENTS },
    ),
  ),
  durations: s.optional(
    s.mapList(
      'How long the last switches took, from the permit until the machine was done; kubenode plan predicts from them.',
      s.obj('One component.', {
        component: f.componentName('The component.'),
        seconds: s.list('Seconds, the latest last.', s.int('Seconds.', { min: 0, max: 1_000_000 }), {
          max: MAX_DURATIONS,
        }),
      }),
      { keys: ['component'], max: MAX_COMPONENTS },
    ),
  ),
})

export const machineComponentSet = defineKind('MachineComponentSet', 'kmcs', {
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
export type Slice = NonNullable<NonNullable<MachineComponentSet['status']>['slices']>[number]
export type SliceDecision = Pick<Slice, keyof typeof sliceDecision>
export type MachineComponentSetInput = InputOf<typeof machineComponentSet>
export type MachineComponentSetSpec = SpecOf<typeof machineComponentSet>
export type MachineComponentSetStatus = StatusOf<typeof machineComponentSet>
