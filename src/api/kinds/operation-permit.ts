// OperationPermit: one disruption request and the Defender's answer. The requester writes the spec, only the Defender the status.
import { PHASE, text, whole, wide } from '../columns.ts'
import * as s from '../build.ts'
import * as f from '../fields.ts'
import { defineKind, type InputOf, type ObjectOf, type SpecOf, type StatusOf } from '../kind.ts'

/** One slice; a larger disruption needs several permits. */
export const MAX_TARGETS = 100

/** Thirteen gates per target. */
export const MAX_GATE_VERDICTS = 13 * MAX_TARGETS

/** Everything that can be requested from the Defender, which has a table of their risks. */
export const DISRUPTIONS = [
  'NoDisruption',
  'SwitchComponent',
  'RestartComponent',
  'RestartAgent',
  'ReinstallComponent',
  'RunScript',
  'CleanDisk',
  'Cordon',
  'Drain',
  'Reboot',
  'Fence',
  'Replace',
  'ScaleIn',
  'ChangeControlPlane',
  'DeleteControlPlane',
  'MassPrune',
] as const
export type Disruption = (typeof DISRUPTIONS)[number]

/** Target names may have an object name's full length, which list keys allow. */
export const targetRef = (doc: string) =>
  s.obj(doc, {
    kind: s.choice('Kind of the target.', ['Machine', 'Node', 'Cluster']),
    namespace: s.optional(f.dnsLabel('Namespace of the target, where its kind has one.')),
    name: f.objectName('Name of the target.'),
    uid: f.uid('UID of the target.'),
  })

const fields = s.obj('The requested disruption.', {
  operations: s.setOf('The operations on each target.', s.choice('An operation.', DISRUPTIONS), { min: 1, max: 8 }),
  component: s.optional(
    s.obj('The affected component, if any.', {
      name: s.str('Name of the component.', { min: 1, max: 63 }),
      version: s.optional(s.str('The new version.', { min: 1, max: 128 })),
      config: s.optional(f.objectName('The new ComponentConfig.')),
    }),
  ),
  targets: s.mapList('The targets to disrupt.', targetRef('One target.'), { keys: ['uid'], min: 1, max: MAX_TARGETS }),
  alternates: s.optional(
    s.mapList(
      'Targets that the requester would ask for next. None of them is granted; the Defender reports which of them it denies whenever it is asked.',
      targetRef('One target.'),
      { keys: ['uid'], min: 1, max: MAX_TARGETS },
    ),
  ),
  requester: s.obj('The requester.', {
    manager: s.str('Field manager of the controller.', { min: 1, max: 63 }),
    kind: s.optional(s.str('Kind of the object that needs the permit.', { min: 1, max: 63 })),
    namespace: s.optional(f.dnsLabel('Namespace of that object, where its kind has one.')),
    name: s.optional(f.objectName('Name of that object.')),
    uid: s.optional(f.uid('UID of that object.')),
    part: s.optional(
      s.str(
        'The part of that object: a slice of a set, such as step 2 slice 1, a batch of a canary, a stage of a Release, or the rule of a repair.',
        { min: 1, max: 80 },
      ),
    ),
  }),
  reason: f.sentence('Why, for people.'),
  recovery: s.fallback(
    s.bool('Whether the requester claims that this returns to the last healthy revision; the Defender verifies it.'),
    false,
  ),
  commit: s.optional(f.commitId('The commit that requires the operation.')),
  leaseSeconds: s.fallback(
    s.int('The permit expires if it is not renewed within this time.', { min: 15, max: 3_600 }),
    120,
  ),
  renewTime: s.optional(s.microTime('When the requester last renewed the permit.')),
  results: s.optional(
    s.map(
      'The result for each target, by UID. Each result frees a slot.',
      s.choice('The result.', ['Succeeded', 'Failed', 'Released']),
      {
        max: MAX_TARGETS,
      },
    ),
  ),
})

/** The Defender grants exactly what was requested: a requester cannot redirect a permit to another component or target later. */
const spec = s.immutableBut(
  fields,
  ['renewTime', 'results'],
  'a permit is immutable but for its lease and its results; request another permit',
)

const verdict = s.obj('The decision of one gate about one target.', {
  target: f.uid('UID of the target; required.'),
  gate: f.reasonWord('The gate that decided.'),
  policy: s.optional(f.objectName('The policy of the gate.')),
  verdict: s.choice('The decision.', ['Granted', 'Waiting', 'Denied']),
  reason: s.optional(f.reasonWord('Why the gate does not let the target pass; absent if it does.')),
  seen: s.optional(f.sentence('The observed value.')),
  limit: s.optional(f.sentence('The limit that applies.')),
  field: s.optional(
    s.str('Field of the policy that holds the limit, below its spec, such as /budgets/0.', { max: 64 }),
  ),
  generation: s.optional(
    s.int('Generation of the policy that `field` refers to.', { min: 0, max: Number.MAX_SAFE_INTEGER }),
  ),
  count: s.optional(s.int('The observed number, where `field` limits one.', { min: 0, max: 1_000_000 })),
  hold: s.optional(f.objectName('The hold that applies.')),
  component: s.optional(f.componentName('The component whose change is blamed.')),
  retryAfter: s.optional(s.int('Seconds after which a retry can succeed.', { min: 0, max: 31_622_400 })),
})

const status = f.status("The Defender's answer.", {
  phase: s.optional(f.phase('Permit')),
  decidedAt: s.optional(s.time('When it was granted or denied.')),
  expiresAt: s.optional(s.time('When the lease expires unless it is renewed.')),
  endedAt: s.optional(s.time('When it was released, expired or revoked.')),
  granted: s.optional(f.count('Number of granted targets.', MAX_TARGETS)),
  // A list with one writer: with list keys, managed fields would make up more than half of a permit.
  verdicts: s.optional(s.list('One entry per target: the gate that blocks it.', verdict, { max: MAX_TARGETS })),
  gates: s.optional(s.list('The decisions of all gates that limit a target.', verdict, { max: MAX_GATE_VERDICTS })),
  refusedAlternates: s.optional(
    s.list('One entry per alternate that is denied on its own account, as read when the permit was decided.', verdict, {
      max: MAX_TARGETS,
    }),
  ),
  approvals: s.optional(s.list('Approvals that were used.', f.objectName('Name of an Approval.'), { max: 8 })),
  approvedBy: s.optional(s.setOf('The users who gave them.', s.str('A user.', { min: 1, max: 253 }), { max: 8 })),
})

export const operationPermit = defineKind('OperationPermit', 'kperm', {
  doc: "One request for disruption (a repair, or one slice of at most 100 machines) and the Defender's decision.",
  spec,
  status,
  selectable: ['.status.phase'],
  columns: [
    PHASE,
    text('Operations', '.spec.operations'),
    whole('Granted', '.status.granted'),
    text('For', '.spec.requester.name'),
    wide(text('Part', '.spec.requester.part')),
    wide(text('Expires', '.status.expiresAt')),
    wide(text('Reason', '.spec.reason')),
  ],
  conditions: ['PermitGranted'],
  checks: [
    {
      name: 'results name targets of this permit only',
      findings: (object) => {
        const { targets, results = {} } = object.spec
        const known = new Set(targets.map((t) => t.uid))
        return Object.keys(results)
          .filter((target) => !known.has(target))
          .map((target) => ({ pointer: `spec/results/${target}`, message: 'is not a target of this permit' }))
      },
    },
  ],
  example: {
    metadata: { name: 'base-kubelet-s2-0' },
    spec: {
      operations: ['SwitchComponent', 'Drain'],
      component: { name: 'kubelet', version: '1.34.2' },
      targets: [{ kind: 'Machine', name: 'prod-1-worker-0007', uid: '6a4f2c1e-70a1-4a36-9a5c-0b7c8d1e2f30' }],
      requester: { manager: 'kubenode-componentset', kind: 'MachineComponentSet', name: 'base' },
      reason: 'step 2 of kubelet 1.34.2',
      commit: '3f1c9e0a7b5d4c2e8f6a1b3c5d7e9f0a2b4c6d8e',
      leaseSeconds: 120,
    },
  },
})

export type OperationPermit = ObjectOf<typeof operationPermit>
export type OperationPermitInput = InputOf<typeof operationPermit>
export type PermitSpec = SpecOf<typeof operationPermit>
export type PermitStatus = StatusOf<typeof operationPermit>
