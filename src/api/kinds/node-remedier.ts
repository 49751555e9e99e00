// NodeRemedier: a fault → repair rule with an escalation ladder and limits.
import { choice, fallback, int, intOrPercent, list, mapList, obj, optional, str, time } from '../build.ts'
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

const verify = obj('How the repair is seen to have helped.', {
  conditionCleared: optional(
    str('A condition of the Node that must be gone; absent: the rule itself must be false.', { min: 1, max: 128 }),
  ),
  stableFor: fallback(duration('How long the fault must stay away; longer than the period of its detector.'), '5m'),
  probe: optional(
    obj('A probe of a component that must pass as well.', {
      component: componentName('The component.'),
      name: optional(dnsLabel('The probe; absent means all.')),
    }),
  ),
})

const rung = obj('One step of the ladder.', {
  operations: list('What is done, one after the other.', operation, { min: 1, max: MAX_OPERATIONS_OF_A_RUNG }),
  timeout: fallback(duration('How long the operations may take together.'), '30m'),
  verify: fallback(verify, {}),
  retries: fallback(int('How often the rung is tried again after a failure that may pass.', { min: 0, max: 5 }), 1),
})

const limits = obj('How much this rule may do. The Defender may allow less, never more.', {
  perNodePerDay: fallback(int('Repairs of one node in 24 hours.', { min: 1, max: 100 }), 3),
  perHour: fallback(int('Repairs in an hour.', { min: 1, max: 10_000 }), 10),
  perDay: fallback(int('Repairs in 24 hours.', { min: 1, max: 100_000 }), 50),
  maxInFlight: fallback(
    intOrPercent('Repairs at the same time; a percentage is of the nodes, rounded down, at least one.', {
      min: 1,
      max: 10_000,
    }),
    3,
  ),
})

const spec = obj('When it is a fault, and what helps.', {
  nodeSelector: optional(selector('The nodes that the rule is asked about; absent means all.')),
  when: ruleTree('The rule, over facts about one node.'),
  for: fallback(duration('How long the rule must be true before anything is done.'), '0s'),
  priority: fallback(int('Where two rules hold for a node, the higher one acts.', { min: -1_000, max: 1_000 }), 0),
  ladder: list('What is tried, the mildest first. The next rung follows when the fault is still there.', rung, {
    min: 1,
    max: MAX_RUNGS,
  }),
  cooldown: fallback(duration('How long a node is left alone after a repair.'), '10m'),
  limits: fallback(limits, {}),
  relapseWindow: fallback(
    duration('A fault that comes back within this time starts at the rung after the one that helped.'),
    '24h',
  ),
  mode: fallback(
    choice('Enforce repairs; DryRun makes jobs that end before they ask for a permit; Shadow only counts.', [
      'Enforce',
      'DryRun',
      'Shadow',
    ]),
    'Enforce',
  ),
  share: fallback(
    int('Percentage of nodes that the rule acts on, so that a new rule can be tried on some.', { min: 1, max: 100 }),
    100,
  ),
})

const recent = obj('One node for which the rule is true.', {
  node: objectName('The node.'),
  since: time('Since when.'),
  job: optional(objectName('The job that was made.')),
  reason: optional(reasonWord('Why there is none, as one word.')),
  waitingFor: optional(sentence('Why there is none.')),
})

const status = obj('What the rule does.', {
  observedGeneration: optional(observedGeneration()),
  activeRevision: optional(
    revisionName('The ControllerRevision with the rule that is being asked: the last good one.'),
  ),
  counts: optional(
    obj('Nodes and repairs.', {
      selected: count('Nodes that the rule is asked about.'),
      matching: count('Nodes for which it is true.'),
      unknown: count('Nodes of which nobody can tell.'),
      inFlight: count('Repairs at work.'),
      lastHour: count('Repairs in the last hour.'),
      lastDay: count('Repairs in the last 24 hours.'),
      inhibited: count('Nodes whose repair is held back because a change is blamed.'),
    }),
  ),
  matching: optional(
    mapList('Nodes for which it is true; at most the first 200.', recent, { keys: ['node'], max: 200 }),
  ),
  conditions: optional(conditions()),
})

export const nodeRemedier = defineKind({
  kind: 'NodeRemedier',
  plural: 'noderemediers',
  shortNames: ['kr'],
  namespaced: false,
  doc: 'A fault → repair rule with an escalation ladder and limits.',
  spec,
  status,
  columns: [
    { name: 'Mode', type: 'string', jsonPath: '.spec.mode' },
    { name: 'Active', type: 'string', jsonPath: '.status.conditions[?(@.type=="RuleActive")].status' },
    { name: 'Matching', type: 'integer', jsonPath: '.status.counts.matching' },
    { name: 'In flight', type: 'integer', jsonPath: '.status.counts.inFlight' },
    { name: 'Last day', type: 'integer', jsonPath: '.status.counts.lastDay' },
    { name: 'Priority', type: 'integer', jsonPath: '.spec.priority', priority: 1 },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
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
