// DefenderPolicy: what disruption is allowed. Without any policy the built-in careful one decides.
import { AGE, statusOf, text, whole, wide } from '../columns.ts'
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
  obj('Targets that must not be disrupted.', {
    name: optional(objectName('The target with this name.')),
    selector: optional(selector('All targets with these labels.')),
    reason: optional(sentence('Why, for people.')),
  }),
  ['name', 'selector'],
)

const budget = obj('Limit on concurrent disruption.', {
  max: intOrPercent(
    'The limit; a percentage of the targets of the domain is rounded down, but is at least 1 unless it is 0%.',
    { min: 0, max: 10_000 },
  ),
  of: choice('What counts: targets with a grant, or all targets that are unavailable for any cause.', [
    'concurrent',
    'unavailable',
  ]),
  per: fallback(choice('Scope of the limit: the whole cluster, or each domain separately.', DOMAINS), 'cluster'),
})

const rate = obj('Limit on grants in a time window.', {
  window: choice('Length of the sliding window.', RATE_WINDOWS),
  max: int('Maximum number of grants in the window.', { min: 0, max: 100_000 }),
  per: fallback(choice('Scope of the limit: the whole cluster, or each domain separately.', DOMAINS), 'cluster'),
})

const blackout = union(
  obj('A period without disruption.', {
    cron: optional(cron('When it starts: minute, hour, day of month, month, day of week.')),
    from: optional(time('When it starts, for a blackout that does not recur.')),
    duration: duration('How long it lasts.'),
    timeZone: fallback(str('IANA time zone of the cron fields.', { min: 1, max: 64 }), 'UTC'),
    until: optional(time('When it stops recurring.')),
  }),
  ['cron', 'from'],
)

const breaker = rule(
  obj('Stops everything except recoveries if operations fail.', {
    failures: fallback(
      int('Number of failures among the last results that opens the breaker.', { min: 1, max: 1_000 }),
      3,
    ),
    of: fallback(int('Number of last results that count.', { min: 1, max: 1_000 }), 10),
    window: fallback(duration('Age after which results no longer count.'), '1h'),
    halfOpenAfter: fallback(duration('Time after which a few operations are tried.'), '15m'),
    widen: fallback(
      int(
        'Number of consecutive successful rounds that closes it; a round has 1, then 5, then 10 operations at once.',
        {
          min: 1,
          max: 100,
        },
      ),
      3,
    ),
  }),
  {
    cel: 'self.failures <= self.of',
    message: 'failures must not exceed of',
    fieldPath: '.failures',
    holds: (b) => b.failures <= b.of,
  },
)

/** Rates and the breaker always let recoveries pass; these only where a policy says so. Holds and protection bind always. */
export const RECOVERY_EXEMPTIONS = ['Window', 'HealthFloor', 'Budget', 'Approval'] as const

const spec = obj('The permitted disruption.', {
  operations: optional(
    setOf('The operations that this policy applies to; all if absent.', choice('An operation.', DISRUPTIONS), {
      min: 1,
      max: 16,
    }),
  ),
  selector: optional(selector('Selects the targets that this policy applies to; all if absent.')),
  protect: optional(list('Targets that must not be disrupted.', protect, { max: 64 })),
  budgets: optional(list('Limits on concurrent disruption; all of them apply.', budget, { max: 16 })),
  rates: optional(list('Rate limits; all of them apply.', rate, { max: 16 })),
  windows: optional(
    list('Disruption is permitted only within these windows; always if absent.', timeWindow('A window.'), { max: 16 }),
  ),
  blackouts: optional(list('No disruption is permitted during these periods.', blackout, { max: 64 })),
  breaker: optional(breaker),
  healthFloor: optional(
    intOrPercent('Number of targets that must remain healthy; a percentage rounds up.', { min: 0, max: 20_000 }),
  ),
  approvals: optional(
    mapList(
      'Operations that need an approval, by risk.',
      obj('The approvers for one risk.', {
        risk: choice('Minimum risk of the operations.', RISKS),
        from: list('Users, or groups with the prefix "group:".', str('A user or group.', { min: 1, max: 253 }), {
          min: 1,
          max: 32,
        }),
        count: fallback(int('Number of different approvers.', { min: 1, max: 5 }), 1),
      }),
      { keys: ['risk'], max: 3 },
    ),
  ),
  rules: optional(
    mapList(
      'Additional rules over facts about the cluster.',
      obj('One rule.', {
        name: dnsLabel('Name of the rule.'),
        when: ruleTree('The rule; an unknown fact counts as true.'),
        effect: fallback(choice('What happens if the rule is true.', ['Deny', 'Wait']), 'Wait'),
        reason: reasonWord('The reason for the verdict.'),
        message: optional(sentence('Why, for people.')),
      }),
      { keys: ['name'], max: 32 },
    ),
  ),
  exemptRecoveries: optional(
    setOf(
      'Gates that do not apply to recoveries. A recovery returns to a version that was healthy before, once an hour per component of a set.',
      choice('A gate.', RECOVERY_EXEMPTIONS),
      { min: 1, max: RECOVERY_EXEMPTIONS.length },
    ),
  ),
  mode: fallback(choice('Enforce applies the decisions; Audit only reports them.', ['Enforce', 'Audit']), 'Enforce'),
})

const status = obj('The observed state of the policy.', {
  observedGeneration: optional(observedGeneration()),
  targets: optional(count('Number of targets that the policy applies to.')),
  decisions: optional(
    obj('Decisions in the last hour.', {
      granted: count('Granted.'),
      waiting: count('Waiting.'),
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
  doc: 'Limits on disruption. Without any policy, a conservative built-in policy applies.',
  spec,
  status,
  columns: [
    text('Mode', '.spec.mode'),
    text('Enforced', statusOf('Enforced')),
    whole('Targets', '.status.targets'),
    text('Breaker', '.status.breaker'),
    wide(whole('Granted', '.status.decisions.granted')),
    wide(whole('Denied', '.status.decisions.denied')),
    AGE,
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
