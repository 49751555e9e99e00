// OperationalHold: a temporary command with reason, author and end: pause, freeze, pin, retry, abort. Never edits what git declares.
import { text, wide } from '../columns.ts'
import * as s from '../build.ts'
import * as f from '../fields.ts'
import { defineKind, type InputOf, type ObjectOf } from '../kind.ts'

export const HOLD_EFFECTS = [
  'Pause',
  'Freeze',
  'Pin',
  'Retry',
  'Abort',
  'Unprotect',
  'AllowEdit',
  'Promote',
  'Extend',
] as const
export type HoldEffect = (typeof HOLD_EFFECTS)[number]

export const HOLD_TARGETS = [
  'Machine',
  'MachineSet',
  'MachineComponentSet',
  'ComponentCanary',
  'NodeRemedier',
  'RemedyOperationJob',
  'OperationPermit',
  'DefenderPolicy',
  'Node',
  'Cluster',
  'FleetSource',
  'Release',
  'FleetBrake',
] as const

const target = s.immutable(
  s.union(
    s.obj('The objects on hold.', {
      kind: s.choice('Kind of the objects.', HOLD_TARGETS),
      namespace: s.optional(f.dnsLabel('Namespace of the objects, if their kind has one; all namespaces if absent.')),
      name: s.optional(f.objectName('The object with this name.')),
      selector: s.optional(
        f.selector('All objects with these labels; an empty selector matches all objects of the kind.'),
      ),
    }),
    ['name', 'selector'],
  ),
  'the target of a hold is immutable; create another hold',
)

const spec = s.rule(
  s.obj('The objects on hold, the effect, the reason and the expiry.', {
    target,
    effect: s.immutable(
      s.choice(
        'Pause: start nothing new. Freeze: no disruption at all. Pin: stay on the revision in to. Retry: permit another attempt at the blocked revision. Abort: end the running operation. Unprotect: lift the protection. AllowEdit: permit the content with the digest in to, which git does not declare. Promote: end the soak of the stage in to that is in progress; gates, windows and other holds still apply. Extend: a Cluster with a time to live does not expire before the hold does.',
        HOLD_EFFECTS,
      ),
      'the effect of a hold is immutable; create another hold',
    ),
    to: s.optional(
      s.str(
        'The revision to stay on (Pin) or to retry (Retry), the digest of the content (AllowEdit), or the stage whose soak ends (Promote).',
        {
          min: 1,
          max: 253,
        },
      ),
    ),
    reason: s.str('Why, for people.', { min: 1, max: 512 }),
    author: s.str('The user who created the hold.', { min: 1, max: 253 }),
    until: s.time('When the hold expires. Every hold must have an expiry, because holds are easily forgotten.'),
  }),
  {
    cel: "self.effect in ['Pin', 'AllowEdit', 'Promote'] ? has(self.to) : true",
    message: 'effects Pin, AllowEdit and Promote require to',
    fieldPath: '.to',
    holds: (s) => !['Pin', 'AllowEdit', 'Promote'].includes(s.effect) || s.to !== undefined,
  },
)

const onClusters = s.rule(spec, {
  cel: "self.effect == 'Extend' ? self.target.kind == 'Cluster' : true",
  message: 'effect Extend is for a Cluster',
  fieldPath: '.target.kind',
  holds: ({ effect, target: { kind } }) => effect !== 'Extend' || kind === 'Cluster',
})

const status = f.status('The observed state of the hold.', {
  active: s.optional(s.choice('Whether the hold is in effect.', ['Yes', 'Ended'])),
  message: s.optional(f.sentence('Its current effect.')),
})

export const operationalHold = defineKind('OperationalHold', 'khold', {
  doc: 'An instruction with reason, author and expiry: pause, freeze, pin, retry, abort. It never changes what git declares.',
  spec: onClusters,
  status,
  selectable: ['.spec.target.kind', '.spec.effect'],
  columns: [
    text('Effect', '.spec.effect'),
    text('Kind', '.spec.target.kind'),
    text('Name', '.spec.target.name'),
    text('Author', '.spec.author'),
    text('Until', '.spec.until'),
    wide(text('Reason', '.spec.reason')),
  ],
  example: {
    metadata: { name: 'incident-4711' },
    spec: {
      target: { kind: 'MachineComponentSet', name: 'base' },
      effect: 'Pause',
      reason: 'incident 4711: latency of the storage network',
      author: 'ada@example.org',
      until: '2026-02-01T06:00:00Z',
    },
  },
})

export type OperationalHold = ObjectOf<typeof operationalHold>
export type OperationalHoldInput = InputOf<typeof operationalHold>
