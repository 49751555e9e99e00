// DefenderPolicy: which disruptions are allowed. Without any, the built-in careful policy applies.
import { statusOf, text, whole, wide } from '../columns.ts'
import * as s from '../build.ts'
import * as f from '../fields.ts'
import { defineKind, type InputOf, type ObjectOf, type SpecOf } from '../kind.ts'
import { ruleTree } from '../rule-tree.ts'
import { MAX_TURNS } from './fleet-brake.ts'
import { DISRUPTIONS } from './operation-permit.ts'

/** One cluster may have its own problem, and two may be a coincidence. */
export const DEFAULT_FAILED_CLUSTERS = 3
/** The built-in policy's hourly limit for one cluster. */
export const DEFAULT_REPAIRS_PER_HOUR = 200

export const RATE_WINDOWS = ['1m', '10m', '1h', '24h'] as const
/** Domains of Cluster targets, which a hub has. */
export const CLUSTER_DOMAINS = ['stage', 'region', 'hub'] as const
export const DOMAINS = ['cluster', 'zone', 'rack', 'pool', 'component', ...CLUSTER_DOMAINS] as const
const SCOPE =
  'Scope of the limit: the whole cluster, or each domain separately. On a hub, stage, region and hub limit operations on Clusters, and nothing else.'
export const RISKS = ['Low', 'Medium', 'High'] as const

const protect = s.union(
  s.obj('Targets that must not be disrupted.', {
    name: s.optional(f.objectName('The target with this name.')),
    selector: s.optional(f.selector('All targets with these labels.')),
    reason: s.optional(f.sentence('Why, for people.')),
  }),
  ['name', 'selector'],
)

const budget = s.obj('Limit on concurrent disruption.', {
  max: s.intOrPercent(
    'The limit; a percentage of the targets of the domain is rounded down, but is at least 1 unless it is 0%.',
    { min: 0, max: 10_000 },
  ),
  of: s.choice('What counts: targets with a grant, or all targets that are unavailable for any cause.', [
    'concurrent',
    'unavailable',
  ]),
  per: s.fallback(s.choice(SCOPE, DOMAINS), 'cluster'),
})

const rate = s.obj('Limit on grants in a time window.', {
  window: s.choice('Length of the sliding window.', RATE_WINDOWS),
  max: s.int('Maximum number of grants in the window.', { min: 0, max: 100_000 }),
  per: s.fallback(s.choice(SCOPE, DOMAINS), 'cluster'),
})

const blackout = s.union(
  s.obj('A period without disruption.', {
    cron: s.optional(f.cron('When it starts: minute, hour, day of month, month, day of week.')),
    from: s.optional(s.time('When it starts, for a blackout that does not recur.')),
    duration: f.duration('How long it lasts.'),
    timeZone: s.fallback(s.str('IANA time zone of the cron fields.', { min: 1, max: 64 }), 'UTC'),
    until: s.optional(s.time('When it stops recurring.')),
  }),
  ['cron', 'from'],
)

const breaker = s.rule(
  s.obj('Stops everything except recoveries if operations fail.', {
    failures: s.fallback(
      s.int('Number of failures among the last results that opens the breaker.', { min: 1, max: 1_000 }),
      3,
    ),
    of: s.fallback(s.int('Number of last results that count.', { min: 1, max: 1_000 }), 10),
    window: s.fallback(f.duration('Age after which results no longer count.'), '1h'),
    halfOpenAfter: s.fallback(f.duration('Time after which a few operations are tried.'), '15m'),
    widen: s.fallback(
      s.int(
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

/** Rates and the breaker always let recoveries pass; these do only if a policy allows it. Holds and protection always apply. */
export const RECOVERY_EXEMPTIONS = ['Window', 'HealthFloor', 'Budget', 'Approval'] as const

const spec = s.obj('The permitted disruption.', {
  owner: s.optional(
    f.sentence(
      'Whom to ask about this policy: a team, a channel, an address. Shown where the policy makes people wait.',
      80,
    ),
  ),
  operations: s.optional(
    s.setOf(
      'The operations that this policy applies to; all if absent. The built-in policy decides those that no policy names.',
      s.choice('An operation.', DISRUPTIONS),
      {
        min: 1,
        max: 16,
      },
    ),
  ),
  selector: s.optional(f.selector('Selects the targets that this policy applies to; all if absent.')),
  protect: s.optional(s.list('Targets that must not be disrupted.', protect, { max: 64 })),
  budgets: s.optional(s.list('Limits on concurrent disruption; all of them apply.', budget, { max: 16 })),
  rates: s.optional(s.list('Rate limits; all of them apply.', rate, { max: 16 })),
  windows: s.optional(
    s.list('Disruption is permitted only within these windows; always if absent.', f.timeWindow('A window.'), {
      max: 16,
    }),
  ),
  rebootDeadline: s.optional(
    f.duration(
      'How long a Node may ask for a reboot (its condition RebootRequired). Repairs that reboot it then wait for no window any more, only for blackouts and everything else. If absent, windows hold them forever.',
    ),
  ),
  blackouts: s.optional(s.list('No disruption is permitted during these periods.', blackout, { max: 64 })),
  breaker: s.optional(breaker),
  healthFloor: s.optional(
    s.intOrPercent(
      'Number of targets that must remain healthy. A percentage rounds up, but below 100% it leaves room for one where all targets are healthy; a number binds as written. Operations during which the target keeps serving pass.',
      { min: 0, max: 20_000 },
    ),
  ),
  approvals: s.optional(
    s.mapList(
      'Operations that need an approval, by risk.',
      s.obj('The approvers for one risk.', {
        risk: s.choice('Minimum risk of the operations.', RISKS),
        from: s.list('Users, or groups with the prefix "group:".', s.str('A user or group.', { min: 1, max: 253 }), {
          min: 1,
          max: 32,
        }),
        count: s.fallback(s.int('Number of different approvers.', { min: 1, max: 5 }), 1),
      }),
      { keys: ['risk'], max: 3 },
    ),
  ),
  rules: s.optional(
    s.mapList(
      'Additional rules over facts about the cluster.',
      s.obj('One rule.', {
        name: f.dnsLabel('Name of the rule.'),
        when: ruleTree('The rule; an unknown fact counts as true.'),
        effect: s.fallback(s.choice('What happens if the rule is true.', ['Deny', 'Wait']), 'Wait'),
        reason: f.reasonWord('The reason for the verdict.'),
        message: s.optional(f.sentence('Why, for people.')),
      }),
      { keys: ['name'], max: 32 },
    ),
  ),
  exemptRecoveries: s.optional(
    s.setOf(
      'Gates that do not apply to recoveries. A recovery returns to a version that was healthy before, once an hour per component of a set.',
      s.choice('A gate.', RECOVERY_EXEMPTIONS),
      { min: 1, max: RECOVERY_EXEMPTIONS.length },
    ),
  ),
  clusters: s.optional(
    s.obj('Limits on Clusters with a control plane on the hub; of several policies the lowest limit applies.', {
      maxTtl: s.optional(f.duration('Longest time to live, and longest extension at once.')),
      maxEphemeral: s.optional(
        s.int('Clusters with a time to live that run at once; younger ones wait.', { min: 0, max: 10_000 }),
      ),
      maxCreating: s.optional(s.int('Clusters that are created at once; younger ones wait.', { min: 0, max: 10_000 })),
    }),
  ),
  fleet: s.optional(
    s.obj('Limits over all clusters, in a policy of the hub; of several policies the lowest limit applies.', {
      maxChanging: s.optional(
        s.int(
          'Clusters that change at once: with an open slice, in a stage of a Release, or with a control plane that is upgraded. No limit if absent.',
          {
            min: 0,
            max: MAX_TURNS,
          },
        ),
      ),
      failedClusters: s.optional(
        s.int(
          `Clusters in which a version of a component failed before it is stopped everywhere; ${DEFAULT_FAILED_CLUSTERS} if absent.`,
          {
            min: 1,
            max: 1_000,
          },
        ),
      ),
      repairsPerHour: s.optional(
        s.int(
          `Repairs of one rule in all clusters in an hour before the rule is stopped everywhere; ${DEFAULT_REPAIRS_PER_HOUR} if absent.`,
          {
            min: 1,
            max: 1_000_000,
          },
        ),
      ),
    }),
  ),
  maintenance: s.optional(
    s.obj('How events about the hosts of selected machines are answered; if several policies differ, they are not.', {
      answer: s.fallback(
        s.choice(
          'What a drained node is given to: Wait for the source, Accept or Start what it announced, or Reboot by way of the provider.',
          ['Wait', 'Accept', 'Start', 'Reboot'],
        ),
        'Wait',
      ),
      postpone: s.fallback(
        s.bool('Whether an event that comes before the next window is postponed, where the source takes that answer.'),
        false,
      ),
      podWait: s.optional(
        f.duration(
          'The longest time that the drain leaves pods that ask for it with the annotation kubenode.io/drain-wait, until their work is saved: never more than half of the time until the event. Of several policies the shortest applies. If absent: none are waited for.',
        ),
      ),
    }),
  ),
  mode: s.fallback(
    s.choice('Enforce applies the decisions; Audit only reports them.', ['Enforce', 'Audit']),
    'Enforce',
  ),
})

const status = f.status('The observed state of the policy.', {
  targets: s.optional(f.count('Number of targets that the policy applies to.')),
  decisions: s.optional(
    s.obj('Decisions in the last hour.', {
      granted: f.count('Granted.'),
      waiting: f.count('Waiting.'),
      denied: f.count('Denied.'),
    }),
  ),
  breaker: s.optional(s.choice('State of the breaker.', ['Closed', 'Open', 'HalfOpen'])),
})

export const defenderPolicy = defineKind('DefenderPolicy', 'kdp', {
  doc: 'Limits on disruption. Where no policy applies, a conservative built-in one does.',
  spec,
  status,
  columns: [
    text('Mode', '.spec.mode'),
    text('Enforced', statusOf('Enforced')),
    whole('Targets', '.status.targets'),
    text('Breaker', '.status.breaker'),
    wide(whole('Granted', '.status.decisions.granted')),
    wide(whole('Denied', '.status.decisions.denied')),
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
      maintenance: { answer: 'Start' },
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
