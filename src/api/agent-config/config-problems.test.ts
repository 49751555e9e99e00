import { expect, test } from 'vitest'
import { agentConfigText, isAgentConfigMap } from './agent-config-map.ts'
import { agentConfigProblems, conditionsReportedBy } from './config-problems.ts'

const rule = { condition: 'LogProblem', reason: 'Bad', pattern: 'bad' }
const logs = (...rules: readonly object[]) => ({ logs: [{ path: '/var/log/messages', rules }] })
const found = (config: unknown) =>
  agentConfigProblems(JSON.stringify(config)).map(({ pointer, why }) => `${pointer} ${why}`)

test.each<[string, unknown, readonly unknown[]]>([
  ['nothing', {}, []],
  ['what agents can use', { lease: '5s', metrics: false, detectors: { disk: { everyMs: '10s' } }, ...logs(rule) }, []],
  ['a list', [], ['/agent/json agent.json is not a JSON object']],
  [
    'a typo in a key',
    { leese: '5s' },
    [
      '/leese leese is not a known key (did you mean lease?); use registerNode, address, allowedOrigins, trustUrl, lease, frozenAfter, frozenGrace, clearAfter, logs, monitors, detectors, metrics',
    ],
  ],
  ['a wrong type', { lease: 5 }, ['/lease lease is not a duration such as "10s"']],
  [
    'a typo in a rule',
    logs({ ...rule, clearafter: '3s' }),
    [
      '/logs/0/rules/0/clearafter logs[0].rules[0].clearafter is not a known key (did you mean clearAfter?); use condition, reason, pattern, clearPattern, clearAfter',
    ],
  ],
  [
    'a pattern that is none',
    logs(rule, { ...rule, pattern: '(' }),
    [expect.stringMatching(/^\/logs\/0\/rules\/1 logs\[0\]\.rules\[1\]: /)],
  ],
  [
    'more logs than agents follow',
    { logs: Array.from({ length: 17 }, () => ({ path: '/var/log/x', rules: [] })) },
    ['/logs logs has 17 entries (limit 16); the others are ignored'],
  ],
  [
    'a threshold that is none',
    { detectors: { disk: { minFreePercent: 'x' } } },
    ['/detectors/disk/minFreePercent detectors.disk.minFreePercent is not a number of at least 0'],
  ],
  [
    'a threshold that no detector has',
    { detectors: { disk: { minFreePercnt: 5 }, clock: { maxSkewMs: 10 } } },
    [
      '/detectors/disk/minFreePercnt detectors.disk.minFreePercnt is not a known key (did you mean minFreePercent?); use isOn, everyMs, paths, minFreePercent, minFreeInodesPercent, hysteresisPercent, fullWithinMs, maxFreePercentForRate',
      '/detectors/clock/maxSkewMs detectors.clock.maxSkewMs is not a duration such as "10s"',
    ],
  ],
  [
    'a rule without a reason',
    logs({ ...rule, reason: undefined }),
    ['/logs/0/rules/0 logs[0].rules[0]: reason is missing'],
  ],
  [
    'a condition with a space',
    logs({ ...rule, condition: 'Lamp Dark' }),
    ['/logs/0/rules/0 logs[0].rules[0]: condition is not a word such as DiskSpaceLow'],
  ],
  [
    'a repair that is none beside one that is',
    { monitors: [{ file: '/etc/x.json', clearedBy: { LampDark: ['reinstallComponent', 'restart'] } }] },
    [expect.stringMatching(/clearedBy\.LampDark is not a list of operations; use .*reinstallComponent/)],
  ],
  [
    'allowed firmware without a model',
    { detectors: { firmware: { allowed: ['nvme X=1', 'nvme=1'] } } },
    [expect.stringMatching(/detectors\.firmware\.allowed is not a list of texts such as "nvme MODEL/)],
  ],
  [
    'parts of a class that are none',
    { detectors: { parts: { expected: ['h100-8 gpu=8', 'h100-8 lamps=8'] } } },
    [expect.stringMatching(/detectors\.parts\.expected is not a list of texts such as "CLASS\* gpu=8/)],
  ],
  [
    'a detector that is none',
    { detectors: { disc: false } },
    [expect.stringMatching(/detectors\.disc .*did you mean disk\?/)],
  ],
  [
    'what only the host may say',
    { trustUrl: 'https://evil.example' },
    ['/trustUrl trustUrl is only for the host to set'],
  ],
  [
    'a path behind dots, once',
    { monitors: ['/etc/../tmp/m.json'] },
    [expect.stringMatching(/^\/monitors\/0 .*without \.\./)],
  ],
  [
    'a monitor in place with a mistake',
    { monitors: [{ config: { plugin: 'kmsg', source: 's', rules: [{ type: 'sometimes', reason: 'R' }] } }] },
    [expect.stringMatching(/^\/monitors\/0\/config monitors\[0\]\.config: rules\[0\] must be temporary or permanent/)],
  ],
])('%s', (_, config, problems) => {
  expect(found(config)).toEqual(problems)
})

test('the conditions of log rules and of monitors in place are known; a file on the node is not read', () => {
  const config = {
    ...logs({ ...rule, condition: 'DatabaseSlow' }, { ...rule, condition: 'not a type' }),
    monitors: [
      '/etc/x.json',
      {
        config: {
          plugin: 'kmsg',
          source: 's',
          conditions: [{ type: 'RaidDegraded', reason: 'RaidIsWell' }],
          rules: [],
        },
      },
    ],
  }
  expect([...conditionsReportedBy(JSON.stringify(config))]).toEqual(['DatabaseSlow', 'RaidDegraded'])
  for (const text of ['', '{', '[]', 'null', '{"logs":1,"monitors":{"a":1}}'])
    expect([...conditionsReportedBy(text)]).toEqual([])
})

const map = (data: unknown) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: {}, data })
test.each<[string, unknown, string]>([
  ['no data', undefined, 'it has no key agent.json'],
  ['another key', { 'agent.yaml': '{}' }, 'it has no key agent.json'],
  ['half a file', { 'agent.json': '{ "logs": [' }, 'it is not a JSON object of at most 32 levels'],
  [
    'a bomb',
    { 'agent.json': `{"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}` },
    'it is not a JSON object of at most 32 levels',
  ],
  ['too much', { 'agent.json': `{"a":"${'x'.repeat(300_000)}"}` }, 'it has 300008 characters (limit 262144)'],
])('%s is nothing to give to agents', (_, data, why) => {
  expect(agentConfigText(map(data))).toEqual({ kind: 'Unusable', why })
})

test('only the one object of our own namespace is the configuration of agents', () => {
  const named = (namespace: string, name: string) =>
    isAgentConfigMap({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name } })
  expect(named('kubenode-system', 'kubenode-agent-config')).toBe(true)
  expect(named('default', 'kubenode-agent-config')).toBe(false)
  expect(named('kubenode-system', 'other')).toBe(false)
})
