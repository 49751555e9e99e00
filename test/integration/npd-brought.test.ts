// A monitor whose file a signed component brings: a new machine, whose agent starts before the component is there, uses it without a restart.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { release } from '#test/doubles/node/release.ts'
import { AgentBench, eventually } from './agent-bench.ts'

const bench = new AgentBench()
const FILE = '/etc/lamp-monitor/monitor.json'
const CHECK = '/opt/lamp-monitor/bin/check'

const monitor = {
  plugin: 'custom',
  pluginConfig: { invoke_interval: '1s', timeout: '30s' },
  source: 'lamp-monitor',
  conditions: [{ type: 'LampBroken', reason: 'LampIsLit', message: 'the lamp is lit' }],
  rules: [{ type: 'permanent', condition: 'LampBroken', reason: 'LampIsDark', path: CHECK, timeout: '30s' }],
}
/** It finds what the contract promises, and reports it as the problem. */
const check = '#!/bin/sh\necho "on $KUBENODE_MACHINE in $(pwd)"\nexit 1\n'

beforeAll(async () => {
  await bench.start()
  await bench.makeMachine()
  bench.writeJoin()
  bench.writeConfig({ monitors: [FILE] })
})

afterAll(() => bench.stop())

test('a monitor that a signed component brings is loaded on a new machine, by the agent that waited for it', async () => {
  const agent = bench.run()
  await eventually(
    'the monitor is missed',
    () => bench.condition('DetectionIncomplete'),
    (c) => c === 'True MonitorNotUsed',
  )
  const brought = release(bench.publisher, {
    component: 'lamp-monitor',
    version: '1.0.0',
    entries: [{ name: 'bin/check', content: check, mode: 0o755 }],
    spec: { files: [{ path: FILE, format: 'json', template: JSON.stringify(monitor), onChange: 'None' }] },
  })
  await bench.publish(brought)
  await bench.order({ name: 'lamp-monitor', version: '1.0.0' })
  await eventually(
    'the condition of the monitor',
    () => bench.condition('LampBroken'),
    (c) => c === 'True LampIsDark',
  )
  await eventually(
    'detection is whole',
    () => bench.condition('DetectionIncomplete'),
    (c) => c?.startsWith('False') === true,
  )
  expect(agent.exitCode).toBeNull()
  expect(bench.agents.size).toBe(1)
})
