// A real agent with monitors in node-problem-detector's format: from a line to the Node, the events and the metrics; and through a storm with little
// memory and few open files.
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process, { getuid } from 'node:process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loopbackAddress } from '#agent/node/address.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { AgentBench, eventually, MACHINE } from './agent-bench.ts'
import { freePort } from '#test/support/servers/free-port.ts'

const EVENT: ResourceType = { group: 'events.k8s.io', version: 'v1', kind: 'Event', plural: 'events', namespaced: true }

const bench = new AgentBench()
const address = loopbackAddress(bench.cluster, MACHINE)
const log = join(bench.nodeFolder, 'root/var/log/kern.log')
let port = 0
let agent: ReturnType<AgentBench['run']>

const monitor = {
  plugin: 'filelog',
  pluginConfig: { timestamp: '^(\\S+)', message: 'kernel: (.*)', timestampFormat: '2006-01-02T15:04:05Z07:00' },
  logPath: '/var/log/kern.log',
  lookback: '5m',
  source: 'kernel-monitor',
  conditions: [{ type: 'KernelDeadlock', reason: 'KernelHasNoDeadlock', message: 'kernel has no deadlock' }],
  rules: [
    { type: 'temporary', reason: 'OOMKilling', pattern: 'Killed process \\d+ (.+) total-vm:\\d+kB.*' },
    { type: 'permanent', condition: 'KernelDeadlock', reason: 'DockerHung', pattern: 'task docker:\\w+ blocked .*' },
  ],
}

const line = (text: string): string => `${new Date().toISOString().slice(0, 19)}Z node kernel: ${text}\n`

const metrics = async (): Promise<string> =>
  fetch(`http://${address}:${port}/metrics`).then(
    (r) => r.text(),
    () => 'no answer',
  )

beforeAll(async () => {
  await bench.start()
  await bench.makeMachine()
  bench.writeJoin()
  port = await freePort(address)
  bench.writeConfig({ monitors: [{ config: monitor }, '/etc/missing.json'] })
  bench.writeHostConfig({ metrics: { port } })
  mkdirSync(join(log, '..'), { recursive: true })
  writeFileSync(log, '')
  agent = bench.run()
})

afterAll(() => bench.stop())

test('a line becomes a condition of the Node, an event and a count', async () => {
  await eventually(
    'the first condition',
    () => bench.condition('KernelDeadlock'),
    (c) => c === 'False KernelHasNoDeadlock',
  )
  appendFileSync(log, line('INFO: task docker:7 blocked for long'))
  await eventually(
    'the condition',
    () => bench.condition('KernelDeadlock'),
    (c) => c === 'True DockerHung',
  )
  expect(await bench.condition('DetectionIncomplete')).toBe('True MonitorNotUsed')
  const events = await eventually(
    'the event',
    async () => (await bench.client.list(EVENT)).items.filter((e) => e['reason'] === 'DockerHung'),
    (found) => found.length > 0,
  )
  expect(events.map((e) => [e['type'], e['reportingController'], e['note']])).toEqual([
    [
      'Warning',
      'agent.kubenode.io/kernel-monitor',
      'Node condition KernelDeadlock is now: True, reason: DockerHung, message: "INFO: task docker:7 blocked for long"',
    ],
  ])
  const text = await metrics()
  expect(text).toContain('problem_counter{reason="DockerHung"} 1\n')
  expect(text).toContain('problem_gauge{reason="DockerHung",type="KernelDeadlock"} 1\n')
  expect(text).toContain('kubenode_node_condition{type="KernelDeadlock",reason="DockerHung"} 1\n')
  expect(text).toMatch(/^memory_bytes_used\{state="free"\} \d+$/m)
})

test('F37 a restart of the agent tells nothing twice and forgets nothing', async () => {
  await eventually(
    'the position on the disk',
    () => existsSync(join(bench.nodeFolder, 'state/monitor-positions.json')),
    Boolean,
  )
  await new Promise((resolve) => setTimeout(resolve, 300))
  const count = async (): Promise<number> => (await bench.client.list(EVENT)).items.length
  const before = await count()
  agent.kill('SIGKILL')
  await once(agent, 'exit')
  appendFileSync(log, line('Killed process 1 (a) total-vm:1kB, while the agent was stopped'))
  agent = bench.run()
  await eventually('the event', count, (n) => n === before + 1)
  expect(await bench.condition('KernelDeadlock')).toBe('True DockerHung')
  await eventually('the count', metrics, (t) => t.includes('problem_counter{reason="OOMKilling"} 1\n'))
})

const MEMORY = '/sys/fs/cgroup/memory'

test('F39 a storm with 64 open files, and with 96 MiB where a cgroup can be made, neither kills nor deafens it', async () => {
  agent.kill('SIGTERM')
  await once(agent, 'exit')
  const group = join(MEMORY, `kubenode-storm-${process.pid}`)
  const isBounded = getuid?.() === 0 && existsSync(join(MEMORY, 'cgroup.procs'))
  const home = /:memory:(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1] ?? ''
  const move = (to: string): void => {
    if (isBounded) writeFileSync(join(to, 'cgroup.procs'), String(process.pid))
  }
  if (isBounded) {
    mkdirSync(group)
    writeFileSync(join(group, 'memory.limit_in_bytes'), String(96 * 2 ** 20))
  }
  // A child is born where its parent is: all that it ever uses counts.
  move(group)
  agent = bench.run()
  move(join(MEMORY, home))
  try {
    execFileSync('prlimit', [`--pid=${agent.pid}`, '--nofile=64:64'])
    await eventually('the agent', metrics, (t) => t.includes('problem_counter'))
    let written = 0
    for (let round = 0; round < 10; round++) {
      let text = ''
      for (let n = 0; n < 900; n++)
        text += line(`Killed process ${written++} (java) total-vm:8127328kB, anon-rss:6306328kB`)
      appendFileSync(log, text)
      await metrics()
    }
    const wanted = `problem_counter{reason="OOMKilling"} ${written}\n`
    const text = await eventually('every line counted', metrics, (t) => t.includes(wanted))
    expect(text).toMatch(/^kubenode_events_lost_total [1-9]/m)
    expect(agent.exitCode).toBeNull()
    if (isBounded) expect(readFileSync(join(group, 'memory.oom_control'), 'utf8')).toContain('oom_kill 0')
  } finally {
    agent.kill('SIGKILL')
    if (agent.exitCode === null && agent.signalCode === null) await once(agent, 'exit')
    if (isBounded) rmdirSync(group)
  }
})
