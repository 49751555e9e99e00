// NodeRemedier: a fault → repair rule with an escalation ladder and limits.
import { statusOf, text, whole, wide } from '../columns.ts'
import * as s from '../build.ts'
import * as f from '../fields.ts'
import { defineKind, type InputOf, type ObjectOf, type SpecOf } from '../kind.ts'
import { ruleTree } from '../rule-tree.ts'
import { acceptance, acceptancePod, operation } from './operations.ts'

export const MAX_RUNGS = 8
const MAX_OPERATIONS_OF_A_RUNG = 8

const verifyFields = s.obj('How the repair is verified.', {
  conditionCleared: s.optional(
    s.str('A condition of the Node that must clear; if absent, the rule itself must become false.', {
      min: 1,
      max: 128,
    }),
  ),
  stableFor: s.fallback(f.duration('How long the fault must be absent; longer than the period of its detector.'), '5m'),
  probe: s.optional(
    s.obj('A component probe that must pass as well.', {
      component: f.componentName('The component.'),
      name: s.optional(
        s.unserved(f.dnsLabel('The probe; all probes if absent.'), 'all probes of the component are waited for'),
      ),
    }),
  ),
  script: s.optional(acceptance),
  pod: s.optional(
    s.obj(
      'A pod that must succeed on the node after the operations, instead of a script. If it fails, the repair has failed, and the cordon of the node stays. Needs no agent.',
      acceptancePod,
    ),
  ),
})

const verify = s.rule(verifyFields, {
  cel: '!has(self.script) || !has(self.pod)',
  message: 'only one of script, pod may be set',
  fieldPath: '.pod',
  holds: ({ script, pod }) => script === undefined || pod === undefined,
})

const rung = s.obj('One step of the ladder.', {
  operations: s.list('The operations, executed in order.', operation, { min: 1, max: MAX_OPERATIONS_OF_A_RUNG }),
  timeout: s.fallback(f.duration('Timeout of all operations together.'), '30m'),
  verify: s.fallback(verify, {}),
  retries: s.fallback(s.int('Number of retries of the rung after a transient failure.', { min: 0, max: 5 }), 1),
})

const limits = s.obj('Limits of this rule. The Defender can reduce them further.', {
  perNodePerDay: s.fallback(s.int('Maximum number of repairs of one node in 24 hours.', { min: 1, max: 100 }), 3),
  perHour: s.fallback(s.int('Maximum number of repairs in an hour.', { min: 1, max: 10_000 }), 10),
  perDay: s.fallback(s.int('Maximum number of repairs in 24 hours.', { min: 1, max: 100_000 }), 50),
  maxInFlight: s.fallback(
    s.intOrPercent('Maximum number of concurrent repairs; a percentage of the nodes is rounded down to at least one.', {
      min: 1,
      max: 10_000,
    }),
    3,
  ),
})

const spec = s.obj('The fault and its repairs.', {
  nodeSelector: s.optional(f.selector('Selects the nodes that the rule applies to; all nodes if absent.')),
  when: ruleTree('The rule, evaluated over facts about one node.'),
  for: s.fallback(f.duration('How long the rule must be true before a repair starts.'), '0s'),
  priority: s.fallback(
    s.int('If two rules are true for a node, the one with the higher priority acts.', { min: -1_000, max: 1_000 }),
    0,
  ),
  ladder: s.list('Repairs to try, mildest first. The next rung follows if the fault persists.', rung, {
    min: 1,
    max: MAX_RUNGS,
  }),
  cooldown: s.fallback(f.duration('Minimum time between two repairs of a node.'), '10m'),
  limits: s.fallback(limits, {}),
  relapseWindow: s.fallback(
    f.duration('If the fault returns within this time, the repair starts with the rung after the one that helped.'),
    '24h',
  ),
  mode: s.fallback(
    s.choice('Enforce: repair. DryRun: create jobs that end before they request a permit. Shadow: only count.', [
      'Enforce',
      'DryRun',
      'Shadow',
    ]),
    'Enforce',
  ),
  share: s.fallback(
    s.int('Percentage of nodes that the rule acts on, to try out a new rule.', { min: 1, max: 100 }),
    100,
  ),
})

const recent = s.obj('One node for which the rule is true.', {
  node: f.objectName('The node.'),
  since: s.time('Since when.'),
  job: s.optional(f.objectName('The repair job.')),
  reason: s.optional(f.reasonWord('Reason why there is no job.')),
  waitingFor: s.optional(f.sentence('Why there is no job.')),
})

const status = f.status('The observed state of the rule.', {
  activeRevision: s.optional(f.revisionName('The ControllerRevision of the active rule: the last valid revision.')),
  counts: s.optional(
    s.obj('Nodes and repairs.', {
      selected: f.count('Nodes that the rule applies to.'),
      matching: f.count('Nodes for which the rule is true.'),
      unknown: f.count('Nodes for which the rule is unknown.'),
      inFlight: f.count('Running repairs.'),
      lastHour: f.count('Repairs in the last hour.'),
      lastDay: f.count('Repairs in the last 24 hours.'),
      inhibited: f.count('Nodes whose repair is suspended because a change is blamed.'),
    }),
  ),
  matching: s.optional(
    s.mapList('Nodes for which the rule is true; at most 200.', recent, { keys: ['node'], max: 200 }),
  ),
})

export const nodeRemedier = defineKind('NodeRemedier', 'kr', {
  doc: 'A rule that maps a fault to repairs, with an escalation ladder and limits.',
  spec,
  status,
  columns: [
    text('Mode', '.spec.mode'),
    text('Active', statusOf('RuleActive')),
    whole('Matching', '.status.counts.matching'),
    whole('In flight', '.status.counts.inFlight'),
    whole('Last day', '.status.counts.lastDay'),
    wide(whole('Priority', '.spec.priority')),
  ],
  conditions: ['Ready', 'Stalled', 'RuleActive', 'Inhibited', 'LimitReached', 'Paused', 'UncommittedChange'],
  example: {
    metadata: { name: 'kernel-deadlock' },
    spec: {
      when: {
        all: [{ fact: 'conditions', path: '/KernelDeadlock/status', operator: 'equal', value: 'True' }],
      },
      for: '30s',
      ladder: [
        {
          operations: [{ collectEvidence: {} }, { cordon: {} }, { reboot: {} }],
          verify: { conditionCleared: 'KernelDeadlock' },
        },
        { operations: [{ drain: { timeout: '20m' } }, { replace: {} }], timeout: '1h' },
      ],
      limits: { perNodePerDay: 2, maxInFlight: 2 },
      mode: 'DryRun',
    },
  },
})

export type NodeRemedier = ObjectOf<typeof nodeRemedier>
export type NodeRemedierInput = InputOf<typeof nodeRemedier>
export type NodeRemedierSpec = SpecOf<typeof nodeRemedier>
