// The agent as its own component: the bundled agent under its supervisor switches to a newer copy of itself, and is reverted from one that does not work.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { AGENT_COMPONENT, agentCurrentLink } from '#agent/self/switch-file.ts'
import { agentRelease } from '#test/doubles/node/release.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { bundleAgent } from '#agent/join/program-bundle.ts'
import { AgentBench, MACHINE, beaconRelease, eventually } from './agent-bench.ts'

const ROOT = join(import.meta.dirname, '../..')
const bench = new AgentBench()
const bundle = join(bench.folder, 'agent')
const state = join(bench.nodeFolder, 'state')
let supervisor: ChildProcess
let log = ''

async function order(version: string, attempt: number): Promise<void> {
  const isFirst = attempt === 1
  if (!isFirst) await bench.permit(`p${attempt}`, 'SwitchComponent', 'Granted')
  const own = {
    name: AGENT_COMPONENT,
    version,
    attempt,
    ...(isFirst ? {} : { switch: { attempt, permit: `p${attempt}` } }),
  }
  const object = {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: { name: MACHINE },
    spec: { components: [own, { name: 'beacon', version: '1.0.0', attempt: 1 }] },
  }
  await bench.client.apply(machineType, object, { fieldManager: 'kubenode-machine', force: true })
}

async function reaches(what: string, version: string) {
  try {
    return await eventually(
      `${version} ${what}`,
      () => bench.component(AGENT_COMPONENT),
      (c) => c?.state === what && c.version === version,
      30_000,
    )
  } catch (e) {
    throw new Error(log.slice(-6_000), { cause: e })
  }
}

const agentPid = (): string => readFileSync(`/proc/${supervisor.pid}/task/${supervisor.pid}/children`, 'utf8').trim()

/** What the agent that runs was started from. */
const runningCopy = (): string => readFileSync(`/proc/${agentPid()}/cmdline`, 'utf8').split('\0')[1] ?? ''

const beaconPid = (): number =>
  (JSON.parse(readFileSync(join(state, 'components/beacon/process.json'), 'utf8')) as { id: { pid: number } }).id.pid

beforeAll(async () => {
  await bundleAgent({ root: ROOT, out: bundle, prefix: '/opt/kubenode' })
  await bench.start()
  const program = readFileSync(join(bundle, 'agent.mjs'))
  await bench.publish(beaconRelease(bench.publisher, '1.0.0'))
  await bench.publish(agentRelease(bench.publisher, '1.0.0', program))
  await bench.publish(agentRelease(bench.publisher, '1.1.0', Buffer.concat([program, Buffer.from('\n// newer\n')])))
  await bench.publish(agentRelease(bench.publisher, '1.2.0', 'process.exit(1)\n'))
  bench.writeJoin()
  await order('1.0.0', 1)
  supervisor = supervise()
})

function supervise(): ChildProcess {
  const args = [join(bundle, 'supervisor.mjs'), join(bundle, 'agent.mjs'), '--root', bench.nodeFolder]
  const child = spawn(execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  child.stderr.on('data', (d: Buffer) => (log += d.toString()))
  return child
}

afterAll(async () => {
  supervisor.kill('SIGTERM')
  if (supervisor.exitCode === null) await once(supervisor, 'exit')
  await bench.stop()
})

test('an agent that was joined with goes over to its component, and what it runs goes on', async () => {
  await reaches('Healthy', '1.0.0')
  await eventually(
    'the beacon',
    () => bench.component(),
    (c) => c?.state === 'Healthy',
  )
  const slot = readlinkSync(agentCurrentLink(state))
  expect(runningCopy()).toBe(join(slot, 'tree/agent.mjs'))
})

test('it goes to the next version under a permit, and nothing else is started again', async () => {
  const [beacon, copy] = [beaconPid(), runningCopy()]
  await order('1.1.0', 2)
  await reaches('Healthy', '1.1.0')
  expect(runningCopy()).not.toBe(copy)
  expect(beaconPid()).toBe(beacon)
})

test('it comes back from a version that does not start, says so, and does not try it again', async () => {
  const [beacon, copy] = [beaconPid(), runningCopy()]
  await order('1.2.0', 3)
  const seen = await reaches('RolledBack', '1.1.0')
  expect([seen?.desired, seen?.message]).toEqual(['1.2.0', expect.stringMatching(/ended 3 times during its trial/)])
  expect([runningCopy(), beaconPid()]).toEqual([copy, beacon])
  await order('1.1.0', 4)
  await reaches('Healthy', '1.1.0')
  expect(readdirSync(state)).not.toContain('agent-switch.json.back')
})

test('F40 an agent whose supervisor was killed makes room for that of the next one, and what it runs goes on', async () => {
  const [beacon, orphan] = [beaconPid(), agentPid()]
  supervisor.kill('SIGKILL')
  await once(supervisor, 'exit')
  supervisor = supervise()
  await eventually(
    'the end of the orphan',
    () => existsSync(`/proc/${orphan}`),
    (there) => !there,
  )
  await order('1.0.0', 5)
  await reaches('Healthy', '1.0.0')
  expect([supervisor.exitCode, beaconPid()]).toEqual([null, beacon])
})
