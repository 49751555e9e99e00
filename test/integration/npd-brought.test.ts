// A monitor whose file a signed component brings: a new machine, whose agent starts before the component is there, uses it without a restart.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { AgentBench, eventually } from './agent-bench.ts'
import { LAMP_MONITOR, lampMonitor } from './lamp-monitor.ts'

const bench = new AgentBench()

beforeAll(async () => {
  await bench.start()
  await bench.makeMachine()
  bench.writeJoin()
  bench.writeConfig({ monitors: [LAMP_MONITOR] })
})

afterAll(() => bench.stop())

test('a monitor that a signed component brings is loaded on a new machine, by the agent that waited for it', async () => {
  const agent = bench.run()
  await eventually(
    'the monitor is missed',
    () => bench.condition('DetectionIncomplete'),
    (c) => c === 'True MonitorNotUsed',
  )
  await bench.publish(lampMonitor(bench.publisher))
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
