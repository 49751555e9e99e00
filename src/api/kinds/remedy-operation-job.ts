// RemedyOperationJob: one repair of one node: permit, steps, verification, outcome. It is the record of its incident.
import { PHASE, text, whole, wide } from '../columns.ts'
import * as s from '../build.ts'
import * as f from '../fields.ts'
import { defineKind, type InputOf, type ObjectOf, type SpecOf, type StatusOf } from '../kind.ts'
import { OPERATIONS, operation, podRef } from './operations.ts'
import { MAX_RUNGS } from './node-remedier.ts'

/** In the order in which a rescue uses them. */
export const RESCUE_VERBS = ['State', 'Evidence', 'RestartAgent', 'Reboot'] as const

const MAX_STEPS_OF_A_JOB = 16
/** The end of a step's output; the full text is in the evidence. */
const MAX_OUTPUT_CHARS = 2_048
/** Of a host with sixteen cards of seven parts each, twice over; more are not recorded, and a drain then moves all pods. */
export const MOST_HELD_DEVICES = 256
export const MAX_DEVICE_CHARS = 256

const spec = s.immutable(
  s.obj('The repair. Immutable.', {
    machine: s.optional(f.objectName('The Machine; absent if the node is not managed by KubeNode.')),
    node: s.obj('The node.', { name: f.objectName('Name of the node.'), uid: f.uid('UID of the node.') }),
    remedierRef: s.obj('The rule that requested the repair.', {
      name: f.objectName('Name of the NodeRemedier.'),
      generation: s.int('Generation of the rule.', { min: 0, max: Number.MAX_SAFE_INTEGER }),
    }),
    incident: s.str('Hash of node UID, rule, and the time at which the rule first became true.', {
      min: 16,
      max: 64,
      pattern: '^[0-9a-f]+$',
      expects: 'lower-case hexadecimal digits',
    }),
    rung: s.fallback(s.int('Rung of the ladder, from 0.', { min: 0, max: MAX_RUNGS - 1 }), 0),
    skipped: s.optional(
      s.list('Earlier rungs that cannot be done on this node, and why.', s.str('A rung.', { min: 1, max: 400 }), {
        max: MAX_RUNGS,
      }),
    ),
    attempt: s.fallback(s.int('Attempt number of this rung, from 1.', { min: 1, max: 6 }), 1),
    operations: s.list('The operations, executed in order.', operation, { min: 1, max: MAX_STEPS_OF_A_JOB }),
    timeout: s.fallback(f.duration('Timeout of all operations together.'), '30m'),
    stableFor: s.fallback(f.duration('How long the fault must be absent.'), '5m'),
    acceptance: s.optional(
      s.int('Number of the step that must succeed before the cordon of the node is removed.', {
        min: 0,
        max: MAX_STEPS_OF_A_JOB - 1,
      }),
    ),
    dryRun: s.fallback(s.bool('Whether the job ends before it requests a permit.'), false),
    commit: s.optional(f.commitId('The commit of the rule.')),
  }),
  'a RemedyOperationJob is immutable; create another job for another repair',
)

const step = s.obj('One operation and its result.', {
  index: s.int('Number of the step, from 0.', { min: 0, max: MAX_STEPS_OF_A_JOB - 1 }),
  operation: s.choice('The operation.', OPERATIONS),
  executor: s.choice('Where it runs.', ['Controller', 'Agent', 'Provider']),
  attempts: s.int('Number of attempts. Recorded before each attempt, so that a crash never repeats it unnoticed.', {
    min: 0,
    max: 100,
  }),
  bootID: s.optional(s.str('Boot ID of the machine at the start; a reboot is complete once it differs.', { max: 64 })),
  verb: s.optional(
    s.choice(
      'The last command of a rescue that the host carried out. A reboot is recorded before it is ordered.',
      RESCUE_VERBS,
    ),
  ),
  devices: s.optional(
    s.list(
      'Of evidence of the kind Devices: which pods held which devices. Absent if that is not known as a whole.',
      s.obj('One device of one pod.', {
        pod: s.str('Namespace and name of the pod.', { min: 3, max: 320 }),
        resource: s.str('The resource, or the driver of a claim.', { max: 320 }),
        device: s.str('The name that its plugin or driver gave it.', { max: MAX_DEVICE_CHARS }),
        bus: s.optional(s.str('Domain and bus of its PCI address. If absent: unknown.', { max: 16 })),
      }),
      { max: MOST_HELD_DEVICES },
    ),
  ),
  scope: s.optional(f.sentence('Of a drain limited to a device: which pods it moves, and why.')),
  faulty: s.optional(
    s.setOf(
      'Of a drain limited to a device: the faulty devices, by domain and bus of the PCI address. If absent: it moves all pods.',
      s.str('Domain and bus.', { max: 16 }),
      { max: 16 },
    ),
  ),
  pod: podRef('The pod of the attempt.'),
  startedAt: s.optional(s.time('When it was started.')),
  finishedAt: s.optional(s.time('When it ended.')),
  outcome: s.optional(s.choice('The result.', ['Succeeded', 'Failed', 'Skipped', 'Unknown'])),
  output: s.optional(s.str('The end of its output.', { max: MAX_OUTPUT_CHARS })),
})

const status = f.status('Progress of the repair.', {
  phase: s.optional(f.phase('Job')),
  outcome: s.optional(f.phase('Outcome', 'The result; set once, together with phase Done.')),
  permitRef: s.optional(f.objectName('The OperationPermit.')),
  steps: s.optional(s.mapList('The operations and their results.', step, { keys: ['index'], max: MAX_STEPS_OF_A_JOB })),
  startedAt: s.optional(s.time('When the first step was started.')),
  verifyUntil: s.optional(s.time('When the verification time ends.')),
  finishedAt: s.optional(s.time('When the job ended.')),
  evidence: s.optional(
    s.list(
      'Evidence that was collected.',
      s.obj('One piece of evidence.', {
        kind: s.str('Kind of evidence.', { min: 1, max: 32 }),
        place: s.str('Location, such as a path on the node or a URL.', { min: 1, max: 1024 }),
      }),
      { max: 16 },
    ),
  ),
  message: s.optional(f.sentence('The cause of the current phase.')),
  nextJob: s.optional(f.objectName('The job of the next rung or attempt.')),
  waitingFor: s.optional(f.waitingForHold()),
})

export const remedyOperationJob = defineKind('RemedyOperationJob', 'kj', {
  doc: 'One repair of one node: permit, steps, verification and result. It is the record of its incident.',
  spec,
  status,
  selectable: ['.spec.node.name', '.spec.remedierRef.name', '.status.phase'],
  columns: [
    text('Node', '.spec.node.name'),
    PHASE,
    text('Outcome', '.status.outcome'),
    // The name has both already.
    wide(text('Rule', '.spec.remedierRef.name')),
    wide(whole('Rung', '.spec.rung')),
    wide(text('Waiting', '.status.waitingFor.predicate')),
    wide(text('Permit', '.status.permitRef')),
  ],
  conditions: ['Ready', 'Reconciling', 'Stalled', 'PermitGranted', 'FaultCleared'],
  example: {
    metadata: { name: 'kernel-deadlock-4be0643f1d98573b-0' },
    spec: {
      machine: 'prod-1-worker-0007',
      node: { name: 'prod-1-worker-0007', uid: '0b8de1d3-9fd8-4f6a-8a2f-27a4d2c2a1aa' },
      remedierRef: { name: 'kernel-deadlock', generation: 3 },
      incident: '4be0643f1d98573b97cdca98a65347dd',
      rung: 0,
      operations: [{ collectEvidence: { kinds: ['KernelLog'] } }, { cordon: {} }, { reboot: { timeout: '10m' } }],
      commit: '3f1c9e0a7b5d4c2e8f6a1b3c5d7e9f0a2b4c6d8e',
    },
  },
})

export type RemedyOperationJob = ObjectOf<typeof remedyOperationJob>
export type RemedyOperationJobInput = InputOf<typeof remedyOperationJob>
export type RemedyJobSpec = SpecOf<typeof remedyOperationJob>
export type RemedyJobStatus = StatusOf<typeof remedyOperationJob>
