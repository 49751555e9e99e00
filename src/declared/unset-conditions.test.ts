// Which rules can never fire in their fleet, which can, and which conditions no rule reads.
import { describe, expect, test } from 'vitest'
import { defined } from '#lib/defined.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { declaredProblems } from './declared-problems.ts'
import { fleetConditions } from './unset-conditions.ts'

type Annotations = Readonly<Record<string, string>>

const object = (kind: string, name: string, spec: object, annotations?: Annotations): KubeObject => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind,
  metadata: { name, ...defined({ annotations }) },
  spec,
})
const agents = (config: object = {}, annotations?: Annotations): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { namespace: 'kubenode-system', name: 'kubenode-agent-config', ...defined({ annotations }) },
  data: { 'agent.json': JSON.stringify(config) },
})
const watches = (condition: string) => ({
  logs: [{ path: '/var/log/messages', rules: [{ condition, reason: 'Slow', pattern: 'slow' }] }],
})

const status = (type: string, operator = 'equal') => ({
  fact: 'conditions',
  path: `/${type}/status`,
  operator,
  ...(operator === 'equal' && { value: 'True' }),
})
interface RuleOptions {
  readonly annotations?: Annotations
  readonly pool?: string
}
const ruleOf = (when: object, { annotations, pool }: RuleOptions = {}) =>
  object(
    'NodeRemedier',
    'mend',
    {
      when,
      ladder: [{ operations: [{ cordon: {} }] }],
      ...(pool !== undefined && { nodeSelector: { matchLabels: { 'kubenode.io/pool': pool } } }),
    },
    annotations,
  )
const reads = (type: string, options: RuleOptions = {}) => ruleOf({ all: [status(type)] }, options)

const FILE = '/etc/kubenode/monitors/ntp.json'
const ntpMonitor = { plugin: 'kmsg', source: 's', conditions: [{ type: 'NTPProblem', reason: 'Fine' }], rules: [] }
const watch = object('MachineComponent', 'watch.1.0.0', {
  component: 'watch',
  version: '1.0.0',
  artifacts: [{ arch: 'any', url: 'x.tar', sha256: 'ab'.repeat(32), size: 1 }],
  install: { unpack: { path: '/opt/x' } },
  disruption: 'None',
  files: [{ path: FILE, template: JSON.stringify(ntpMonitor) }],
})
const installs = (pool: string) =>
  object('MachineComponentSet', pool, {
    selector: { matchLabels: { 'kubenode.io/pool': pool } },
    components: [{ name: 'watch', version: '1.0.0' }],
  })
const pool = (name: string) =>
  object('MachineSet', name, {
    replicas: 1,
    selector: { matchLabels: { 'kubenode.io/pool': name } },
    template: {
      metadata: { labels: { 'kubenode.io/pool': name } },
      spec: { provider: { name: 'process' }, pool: name },
    },
  })

const said = (objects: readonly KubeObject[], agentConfigs: readonly string[] = []) =>
  declaredProblems(objects, { agentConfigs }).map((p) => `${p.isNote === true ? 'note ' : ''}${p.code}: ${p.message}`)

const NEVER = /^KN3066: rule mend can never fire: nothing in this fleet sets condition /

describe('a rule can never fire:', () => {
  test.each<[string, readonly KubeObject[], string]>([
    [
      'its condition is one of node-problem-detector, without a monitor',
      [agents(), reads('NTPProblem')],
      'NTPProblem;',
    ],
    [
      'its log rule is missing',
      [agents(watches('LogProblem-b')), reads('LogProblem-a'), reads('LogProblem-b')],
      'LogProblem-a;',
    ],
    [
      'its detector is switched off',
      [agents({ detectors: { clock: false } }), reads('ClockSkewed')],
      'ClockSkewed (agent.json switches detector clock off);',
    ],
    [
      'its component is not declared',
      [agents(), watch, reads('ComponentUnhealthy-other')],
      'ComponentUnhealthy-other;',
    ],
    [
      'its other condition is set, but it needs both',
      [agents(), ruleOf({ all: [status('Ready'), status('NTPProblem')] })],
      'NTPProblem;',
    ],
    [
      'it asks for the opposite: unknown is not false',
      [agents(), ruleOf({ not: status('NTPProblem') })],
      'NTPProblem;',
    ],
    [
      'the monitor file of a component is not in agent.json',
      [agents(), watch, installs('a'), reads('NTPProblem')],
      `NTPProblem (component watch would, but agent.json does not list its file ${FILE} in monitors);`,
    ],
    [
      'the component with the monitor is installed nowhere',
      [
        agents({ monitors: [FILE] }),
        watch,
        object('MachineComponentSet', 'x', { selector: {}, components: [] }),
        reads('NTPProblem'),
      ],
      'NTPProblem (component watch would, but no MachineComponentSet installs it on the nodes of this rule);',
    ],
    [
      'the monitor is installed in another pool',
      [agents({ monitors: [FILE] }), watch, installs('a'), pool('a'), pool('b'), reads('NTPProblem', { pool: 'b' })],
      'NTPProblem (component watch would, but no MachineComponentSet installs it on the nodes of this rule);',
    ],
  ])('%s', (_, objects, seen) => {
    const found = said(objects).filter((text) => NEVER.test(text))
    expect(found).toEqual([expect.stringContaining(`sets condition ${seen}`)])
  })
})

describe('a rule may fire:', () => {
  test.each<[string, readonly KubeObject[]]>([
    ...['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure', 'NetworkUnavailable'].map(
      (type): [string, readonly KubeObject[]] => [`Kubernetes sets ${type}`, [agents(), reads(type)]],
    ),
    ['the agent detects its condition', [agents(), reads('ClockSkewed')]],
    ['controllers set its condition', [agents(), reads('MaintenancePlanned')]],
    ['a log rule sets its condition', [agents(watches('LogProblem-a')), reads('LogProblem-a')]],
    ['its component is declared', [agents(), watch, reads('ComponentUnhealthy-watch')]],
    [
      'its component comes from elsewhere',
      [
        agents(),
        watch,
        reads('ComponentUnhealthy-etcd', { annotations: { 'kubenode.io/declared-elsewhere': 'etcd' } }),
      ],
    ],
    [
      'something outside of the fleet sets its condition',
      [agents(), reads('NTPProblem', { annotations: { 'kubenode.io/conditions-elsewhere': 'X, NTPProblem' } })],
    ],
    ['one of two conditions is enough', [agents(), ruleOf({ any: [status('Ready'), status('NTPProblem')] })]],
    ['it asks whether the condition exists', [agents(), ruleOf({ all: [status('NTPProblem', 'absent')] })]],
    ['agents are not configured in git', [reads('NTPProblem')]],
    ['a monitor file is on the nodes only', [agents({ monitors: ['/etc/npd/ntp.json'] }), reads('NTPProblem')]],
    [
      'a component brings the monitor to its pool',
      [agents({ monitors: [FILE] }), watch, installs('a'), pool('a'), pool('b'), reads('NTPProblem', { pool: 'a' })],
    ],
    [
      'a component brings the monitor to machines with labels that are unknown here',
      [agents({ monitors: [FILE] }), watch, installs('a'), reads('NTPProblem')],
    ],
  ])('%s', (_, objects) => {
    expect(said(objects)).toEqual([])
  })
})

test('an agent.json beside the objects counts as one among them', () => {
  expect(said([reads('NTPProblem')], ['{}'])).toEqual([expect.stringMatching(NEVER)])
})

describe('a condition of a monitor that no rule reads', () => {
  const other = reads('Ready')

  test('is named, for information', () => {
    expect(said([agents(watches('LampDark')), other])).toEqual([
      expect.stringMatching(/^note KN3077: condition LampDark has no rule: /),
    ])
  })

  test.each<[string, readonly KubeObject[]]>([
    ['with a rule', [agents(watches('LampDark')), reads('LampDark')]],
    [
      'with a written reason',
      [agents(watches('LampDark'), { 'kubenode.io/without-rule': 'A: b; LampDark: for people' }), other],
    ],
    ['in a fleet without rules', [agents(watches('LampDark'))]],
    [
      'that stops rollouts',
      [
        agents(watches('LampDark')),
        other,
        object('MachineComponentSet', 'base', {
          selector: {},
          components: [],
          rollout: { inspections: [{ name: 'lamp', conditionAbsent: { type: 'LampDark' } }] },
        }),
      ],
    ],
  ])('%s is not', (_, objects) => {
    expect(said(objects)).toEqual([])
  })

  test('is named when its reason is empty', () => {
    const annotations = { 'kubenode.io/without-rule': 'LampDark:' }
    expect(said([agents(watches('LampDark'), annotations), other])).toHaveLength(1)
  })
})

test('as data: what nothing sets, what has a reason, and what stops a rollout', () => {
  const set = object('MachineComponentSet', 'base', {
    selector: { matchLabels: {} },
    components: [{ name: 'watch', version: '1.0.0' }],
    rollout: { inspections: [{ conditionAbsent: { type: 'SlowDisk' } }] },
  })
  const config = agents({}, { 'kubenode.io/without-rule': 'Slow: only logged' })
  const all = [reads('NTPProblem'), watch, set, config]
  expect(fleetConditions(all)).toEqual({
    unset: new Map([['mend', [{ type: 'NTPProblem', hint: expect.stringContaining('component watch would') }]]]),
    excused: new Set(['Slow']),
    watched: new Set(['SlowDisk']),
  })
  expect(fleetConditions([reads('NTPProblem')]).unset).toBeUndefined()
})
