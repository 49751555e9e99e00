// DefenderPolicy: what disruption is allowed. Without any policy the built-in careful one decides.
import {
  choice,
  fallback,
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
  conditions,
  count,
  cron,
  dnsLabel,
  duration,
  objectName,
  observedGeneration,
  reasonWord,
  selector,
  sentence,
  timeWindow,
} from '../fields.ts'
import { defineKind, type InputOf, type ObjectOf, type SpecOf } from '../kind.ts'
import { ruleTree } from '../rule-tree.ts'
import { DISRUPTIONS } from './operation-permit.ts'

export const RATE_WINDOWS = ['1m', '10m', '1h', '24h'] as const
export const DOMAINS = ['cluster', 'zone', 'rack', 'pool', 'component'] as const
export const RISKS = ['Low', 'Medium', 'High'] as const

const protect = union(
  obj('Targets that are never disrupted.', {
    name: optional(objectName('The target with this name.')),
    selector: optional(selector('All targets with these labels.')),
    reason: optional(sentence('Why, for people.')),
  }),
  ['name', 'selector'],
)

const budget = obj('How many targets at the same time.', {
  max: intOrPercent(
    'The limit; a percentage is of the targets of the domain, rounded down, but at least 1 unless it is 0%.',
    { min: 0, max: 10_000 },
  ),
  of: choice('What counts: targets with a grant, or all that do not work, whatever the cause.', [
    'concurrent',
    'unavailable',
  ]),
  per: fallback(choice('Counted over the cluster, or for each domain by itself.', DOMAINS), 'cluster'),
})

const rate = obj('How many grants in a window.', {
  window: choice('Length of the sliding window.', RATE_WINDOWS),
  max: int('The limit; counted at the moment of the grant.', { min: 0, max: 100_000 }),
  per: fallback(choice('Counted over the cluster, or for each domain by itself.', DOMAINS), 'cluster'),
})

const blackout = union(
  obj('A time without any disruption.', {
    cron: optional(cron('When it begins: minute, hour, day of month, month, day of week.')),
    from: optional(time('When it begins, for one that comes once.')),
    duration: duration('How long it lasts.'),
    timeZone: fallback(str('IANA time zone of the cron fields.', { min: 1, max: 64 }), 'UTC'),
    until: optional(time('After this moment it never comes again.')),
  }),
  ['cron', 'from'],
)

const breaker = rule(
  obj('Stops everything but recoveries when operations fail.', {
    failures: fallback(int('So many failures among the last results open it.', { min: 1, max: 1_000 }), 3),
    of: fallback(int('How many of the last results are looked at.', { min: 1, max: 1_000 }), 10),
    window: fallback(duration('Results older than this are forgotten.'), '1h'),
    halfOpenAfter: fallback(duration('After this long a few operations are tried.'), '15m'),
    widen: fallback(
      int('So many good rounds in a row close it again; a round is 1, then 5, then 10 operations at once.', {
        min: 1,
        max: 100,
      }),
      3,
    ),
  }),
  {
    cel: 'self.failures <= self.of',
    message: 'failures must not be more than of',
    fieldPath: '.failures',
    holds: (b) => b.failures <= b.of,
  },
)

/** Rates and the breaker always let recoveries pass; these only where a policy says so. Holds and protection bind always. */
export const RECOVERY_EXEMPTIONS = ['Window', 'HealthFloor', 'Budget', 'Approval'] as const

const spec = obj('What is allowed.', {
  operations: optional(
    setOf('The operations that this policy decides; absent means all.', choice('An operation.', DISRUPTIONS), {
      min: 1,
      max: 16,
    }),
  ),
  selector: optional(selector('The targets that this policy decides; absent means all.')),
  protect: optional(list('Targets that are never disrupted.', protect, { max: 64 })),
  budgets: optional(list('Limits at the same time; all of them bind.', budget, { max: 16 })),
  rates: optional(list('Limits in time; all of them bind.', rate, { max: 16 })),
  windows: optional(
    list('Disruption only while one of these is open; absent means always.', timeWindow('A window.'), { max: 16 }),
  ),
  blackouts: optional(list('No disruption during any of these.', blackout, { max: 64 })),
  breaker: optional(breaker),
  healthFloor: optional(
    intOrPercent('So many targets must be healthy afterwards; a percentage rounds up.', { min: 0, max: 20_000 }),
  ),
  approvals: optional(
    mapList(
      'Operations of a risk that people must approve first.',
      obj('Who approves what.', {
        risk: choice('Risk of the operation, from this up.', RISKS),
        from: list('Users, or groups with the prefix "group:".', str('A user or group.', { min: 1, max: 253 }), {
          min: 1,
          max: 32,
        }),
        count: fallback(int('How many different people.', { min: 1, max: 5 }), 1),
      }),
      { keys: ['risk'], max: 3 },
    ),
  ),
  rules: optional(
    mapList(
      'Further rules over facts about the cluster.',
      obj('One rule.', {
        name: dnsLabel('Name of the rule.'),
        when: ruleTree('The rule; a fact that is unknown counts as true.'),
        effect: fallback(choice('What happens when it is true.', ['Deny', 'Wait']), 'Wait'),
        reason: reasonWord('Why, as one word, for the verdict.'),
        message: optional(sentence('Why, for people.')),
      }),
      { keys: ['name'], max: 32 },
    ),
  ),
  exemptRecoveries: optional(
    setOf(
      'Gates that a recovery passes: going back to a version that was healthy before, once an hour for each component of a set.',
      choice('A gate.', RECOVERY_EXEMPTIONS),
      { min: 1, max: RECOVERY_EXEMPTIONS.length },
    ),
  ),
  mode: fallback(
    choice('Enforce decides; Audit only says what it would have decided.', ['Enforce', 'Audit']),
    'Enforce',
  ),
})

const status = obj('How the policy is understood.', {
  observedGeneration: optional(observedGeneration()),
  targets: optional(count('Targets that it decides.')),
  decisions: optional(
    obj('Decisions in the last hour.', {
      granted: count('Granted.'),
      waiting: count('Told to wait.'),
      denied: count('Denied.'),
    }),
  ),
  breaker: optional(choice('State of the breaker.', ['Closed', 'Open', 'HalfOpen'])),
  conditions: optional(conditions()),
})

export const defenderPolicy = defineKind({
  kind: 'DefenderPolicy',
  plural: 'defenderpolicies',
  shortNames: ['kdp'],
  namespaced: false,
  doc: 'What disruption is allowed. Without any policy the built-in careful one decides.',
  spec,
  status,
  columns: [
    { name: 'Mode', type: 'string', jsonPath: '.spec.mode' },
    { name: 'Enforced', type: 'string', jsonPath: '.status.conditions[?(@.type=="Enforced")].status' },
    { name: 'Targets', type: 'integer', jsonPath: '.status.targets' },
    { name: 'Breaker', type: 'string', jsonPath: '.status.breaker' },
    { name: 'Granted', type: 'integer', jsonPath: '.status.decisions.granted', priority: 1 },
    { name: 'Denied', type: 'integer', jsonPath: '.status.decisions.denied', priority: 1 },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
  conditions: ['Ready', 'Stalled', 'Enforced', 'BreakerOpen', 'UncommittedChange'],
  example: {
    metadata: { name: 'production' },
    spec: {
      selector: { matchLabels: { 'kubenode.io/pool': 'workers' } },
      protect: [{ selector: { matchLabels: { 'node.example.org/stateful': 'true' } }, reason: 'local disks' }],
      budgets: [
        { max: '5%', of: 'unavailable' },
        { max: 1, of: 'concurrent', per: 'rack' },
      ],
      rates: [{ window: '1h', max: 100 }],
      blackouts: [{ cron: '0 0 20 12 *', duration: '360h', timeZone: 'Europe/Berlin' }],
      breaker: { failures: 3, of: 10 },
      healthFloor: '90%',
      approvals: [{ risk: 'High', from: ['group:sre'], count: 2 }],
      rules: [
        {
          name: 'busy-hours',
          when: { all: [{ fact: 'cluster', path: '/unavailableShare', operator: 'greaterThan', value: 0.02 }] },
          reason: 'ClusterBusy',
        },
      ],
    },
  },
})

export type DefenderPolicy = ObjectOf<typeof defenderPolicy>
export type DefenderPolicyInput = InputOf<typeof defenderPolicy>
export type DefenderPolicySpec = SpecOf<typeof defenderPolicy>
