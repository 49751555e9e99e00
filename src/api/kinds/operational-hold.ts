// OperationalHold: an imperative with reason, author and end: pause, freeze, pin, retry, abort. Never an edit of what git declares.
import { choice, immutable, obj, optional, rule, str, time, union } from '../build.ts'
import { conditions, dnsLabel, objectName, observedGeneration, selector, sentence } from '../fields.ts'
import { defineKind, type InputOf, type ObjectOf } from '../kind.ts'

export const HOLD_EFFECTS = ['Pause', 'Freeze', 'Pin', 'Retry', 'Abort', 'Unprotect', 'AllowEdit'] as const
export type HoldEffect = (typeof HOLD_EFFECTS)[number]

const HOLD_TARGETS = [
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
] as const

const target = immutable(
  union(
    obj('What is held.', {
      kind: choice('Kind of the objects.', HOLD_TARGETS),
      namespace: optional(dnsLabel('Namespace of the objects, where their kind has one; absent means all.')),
      name: optional(objectName('The object of this name.')),
      selector: optional(selector('All objects with these labels; an empty selector means all of the kind.')),
    }),
    ['name', 'selector'],
  ),
  'the target of a hold cannot change; make another hold',
)

const spec = rule(
  obj('What is held, how, why and until when.', {
    target,
    effect: immutable(
      choice(
        'Pause: nothing new is begun. Freeze: no disruption at all. Pin: stay on the revision in to. Retry: what is blocked may be tried again. Abort: what is at work ends. Unprotect: protection does not bind. AllowEdit: content that git does not declare, with the digest in to, may act.',
        HOLD_EFFECTS,
      ),
      'the effect of a hold cannot change; make another hold',
    ),
    to: optional(
      str('For Pin the revision to stay on, for Retry the one to try, for AllowEdit the digest of the content.', {
        min: 1,
        max: 253,
      }),
    ),
    reason: str('Why, for people.', { min: 1, max: 512 }),
    author: str('Who holds.', { min: 1, max: 253 }),
    until: time('When the hold ends by itself. A hold without an end is forgotten, so there is none.'),
  }),
  {
    cel: "self.effect == 'Pin' || self.effect == 'AllowEdit' ? has(self.to) : true",
    message: 'effects Pin and AllowEdit need to',
    fieldPath: '.to',
    holds: (s) => (s.effect !== 'Pin' && s.effect !== 'AllowEdit') || s.to !== undefined,
  },
)

const status = obj('Whether it is in effect.', {
  observedGeneration: optional(observedGeneration()),
  active: optional(choice('Whether the hold is in effect.', ['Yes', 'Ended'])),
  message: optional(sentence('What it does at the moment.')),
  conditions: optional(conditions()),
})

export const operationalHold = defineKind({
  kind: 'OperationalHold',
  plural: 'operationalholds',
  shortNames: ['khold'],
  namespaced: false,
  doc: 'An imperative with reason, author and end: pause, freeze, pin, retry, abort. Never an edit of what git declares.',
  spec,
  status,
  selectable: ['.spec.target.kind', '.spec.effect'],
  columns: [
    { name: 'Effect', type: 'string', jsonPath: '.spec.effect' },
    { name: 'Kind', type: 'string', jsonPath: '.spec.target.kind' },
    { name: 'Name', type: 'string', jsonPath: '.spec.target.name' },
    { name: 'Author', type: 'string', jsonPath: '.spec.author' },
    { name: 'Until', type: 'string', jsonPath: '.spec.until' },
    { name: 'Active', type: 'string', jsonPath: '.status.active' },
    { name: 'Reason', type: 'string', jsonPath: '.spec.reason', priority: 1 },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
  conditions: ['Ready'],
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
