// A monitor whose file a signed component brings, on a new host with systemd: the agent that joined before the file was there loads it without a restart.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { bundleAgent } from '#agent/join/program-bundle.ts'
import { AgentBench, eventually, MACHINE } from '../../integration/agent-bench.ts'
import { LAMP_MONITOR, lampMonitor } from '../../integration/lamp-monitor.ts'
import { HostMachine, noMachines } from './machine.ts'

const ROOT = join(import.meta.dirname, '../../..')
const ARTIFACTS = '/mnt/artifacts'
const AGENT = '/mnt/agent'
/** A busy machine takes ten times as long as an idle one. */
const PATIENCE_MS = 120_000

const missing = noMachines()
const bench = new AgentBench()
let host: HostMachine | undefined

const machine = (): HostMachine => {
  if (host === undefined) throw new Error('there is no machine')
  return host
}
const agentPid = (): string =>
  machine().run('systemctl', 'show', '-p', 'MainPID', '--value', 'kubenode-agent').out.trim()

beforeAll(async () => {
  if (missing !== undefined) return
  await bench.start()
  const bundle = join(bench.folder, 'agent')
  await bundleAgent({ root: ROOT, out: bundle, prefix: '/opt/kubenode', node: execPath })
  host = new HostMachine([`${join(bench.folder, 'artifacts')}:${ARTIFACTS}`, `${bundle}:${AGENT}`])
  await host.boot()
  await bench.makeMachine()
  bench.machineUid = (await bench.machine())?.metadata.uid
  const join64 = Buffer.from(JSON.stringify(bench.joinBundle(ARTIFACTS))).toString('base64')
  const joined = await host.runAside(`${AGENT}/join.sh`, join64)
  if (joined.code !== 0) throw new Error(joined.out)
  writeFileSync(join(host.root, 'var/lib/kubenode/agent.json'), JSON.stringify({ monitors: [LAMP_MONITOR] }))
}, 300_000)

afterAll(async () => {
  if (missing !== undefined) return
  await host?.remove()
  await bench.stop()
})

beforeEach((context) => {
  if (missing !== undefined) context.skip(missing)
})

const reaches = async (what: string, type: string, state: string): Promise<void> => {
  try {
    await eventually(
      what,
      () => bench.condition(type),
      (c) => c === state,
      PATIENCE_MS,
    )
  } catch (e) {
    const log = machine().run('journalctl', '-u', 'kubenode-agent', '--no-pager', '-n', '40', '-o', 'cat').out
    throw new Error(log, { cause: e })
  }
}

test('a monitor that a signed component brings to a host is loaded by the agent that waited for it', async () => {
  await reaches('the monitor is missed', 'DetectionIncomplete', 'True MonitorNotUsed')
  const before = agentPid()
  await bench.publish(lampMonitor(bench.publisher))
  await bench.order({ name: 'lamp-monitor', version: '1.0.0' })
  await reaches('the condition of the monitor', 'LampBroken', 'True LampIsDark')
  await eventually(
    'detection is whole',
    () => bench.condition('DetectionIncomplete'),
    (c) => c?.startsWith('False') === true,
    PATIENCE_MS,
  )
  // The check had what its contract promises: the name of the Machine, and the root of the host as its folder.
  expect(JSON.stringify(await bench.node())).toContain(`on ${MACHINE} in /"`)
  expect([agentPid(), machine().run('test', '-f', LAMP_MONITOR).code]).toEqual([before, 0])
}, 300_000)
