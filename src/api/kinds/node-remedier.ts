// NodeRemedier: a fault → repair rule with an escalation ladder and limits.
import { AGE, statusOf, text, whole, wide } from '../columns.ts'
import { choice, fallback, int, intOrPercent, list, mapList, obj, optional, str, time, unserved } from '../build.ts'
import {
  componentName,
  conditions,
  count,
  dnsLabel,
  duration,
  objectName,
  observedGeneration,
  reasonWord,
  revisionName,
  selector,
  sentence,
} from '../fields.ts'
import { defineKind, type InputOf, type ObjectOf, type SpecOf } from '../kind.ts'
import { ruleTree } from '../rule-tree.ts'
import { operation } from './operations.ts'

export const MAX_RUNGS = 8
const MAX_OPERATIONS_OF_A_RUNG = 8

const verify = obj('How the repair is verified.', {
  conditionCleared: optional(
    str('A condition of the Node that must clear; if absent, the rule itself must become false.', { min: 1, max: 128 }),
  ),
  stableFor: fallback(duration('How long the fault must be absent; longer than the period of its detector.'), '5m'),
  probe: optional(
    obj('A component probe that must pass as well.', {
      component: componentName('The component.'),
      name: optional(
        unserved(dnsLabel('The probe; all probes if absent.'), 'all probes of the component are waited for'),
      ),
    }),
  ),
})

const rung = obj('One step of the ladder.', {
  operations: list('The operations, executed in order.', operation, { min: 1, max: MAX_OPERATIONS_OF_A_RUNG }),
  timeout: fallback(duration('Timeout of all operations together.'), '30m'),
  verify: fallback(verify, {}),
  retries: fallback(int('Number of retries of the rung after a transient failure.', { min: 0, max: 5 }), 1),
})

const limits = obj('Limits of this rule. The Defender can reduce them further.', {
  perNodePerDay: fallback(int('Maximum number of repairs of one node in 24 hours.', { min: 1, max: 100 }), 3),
  perHour: fallback(int('Maximum number of repairs in an hour.', { min: 1, max: 10_000 }), 10),
  perDay: fallback(int('Maximum number of repairs in 24 hours.', { min: 1, max: 100_000 }), 50),
  maxInFlight: fallback(
    intOrPercent('Maximum number of concurrent repairs; a percentage of the nodes is rounded down to at least one.', {
      min: 1,
      max: 10_000,
    }),
    3,
  ),
})

const spec = obj('The fault and its repairs.', {
  nodeSelector: optional(selector('Selects the nodes that the rule applies to; all nodes if absent.')),
  when: ruleTree('The rule, evaluated over facts about one node.'),
  for: fallback(duration('How long the rule must be true before a repair starts.'), '0s'),
  priority: fallback(
    int('If two rules are true for a node, the one with the higher priority acts.', { min: -1_000, max: 1_000 }),
    0,
  ),
  ladder: list('Repairs to try, mildest first. The next rung follows if the fault persists.', rung, {
    min: 1,
    max: MAX_RUNGS,
  }),
  cooldown: fallback(duration('Minimum time between two repairs of a node.'), '10m'),
  limits: fallback(limits, {}),
  relapseWindow: fallback(
    duration('If the fault returns within this time, the repair starts with the rung after the one that helped.'),
    '24h',
  ),
  mode: fallback(
    choice('Enforce: repair. DryRun: create jobs that end before they request a permit. Shadow: only count.', [
      'Enforce',
      'DryRun',
      'Shadow',
    ]),
    'Enforce',
  ),
  share: fallback(int('Percentage of nodes that the rule acts on, to try out a new rule.', { min: 1, max: 100 }), 100),
})

const recent = obj('One node for which the rule is true.', {
  node: objectName('The node.'),
  since: time('Since when.'),
  job: optional(objectName('The repair job.')),
  reason: optional(reasonWord('Reason why there is no job.')),
  waitingFor: optional(sentence('Why there is no job.')),
})

const status = obj('The observed state of the rule.', {
  observedGeneration: optional(observedGeneration()),
  activeRevision: optional(revisionName('The ControllerRevision of the active rule: the last valid revision.')),
  counts: optional(
    obj('Nodes and repairs.', {
      selected: count('Nodes that the rule applies to.'),
      matching: count('Nodes for which the rule is true.'),
      unknown: count('Nodes for which the rule is unknown.'),
      inFlight: count('Running repairs.'),
      lastHour: count('Repairs in the last hour.'),
      lastDay: count('Repairs in the last 24 hours.'),
      inhibited: count('Nodes whose repair is suspended because a change is blamed.'),
    }),
  ),
  matching: optional(mapList('Nodes for which the rule is true; at most 200.', recent, { keys: ['node'], max: 200 })),
  conditions: optional(conditions()),
})

export const nodeRemedier = defineKind({
  kind: 'NodeRemedier',
  plural: 'noderemediers',
  shortNames: ['kr'],
  namespaced: false,
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
    AGE,
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
