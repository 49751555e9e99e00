// An agent on a host with systemd switches to another copy of itself and is reverted from copies that do not work: its unit and its components are not touched.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { execPath } from 'node:process'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { machine as machineType } from '#api/kinds/machine.ts'
import { AGENT_COMPONENT } from '#agent/self/switch-file.ts'
import { REPORT_WITHIN_MS } from '#agent/self/supervision.ts'
import { agentRelease, release } from '#test/doubles/node/release.ts'
import { bundleAgent } from '#agent/join/program-bundle.ts'
import { AgentBench, MACHINE, eventually } from '../../integration/agent-bench.ts'
import { HostMachine, noMachines } from './machine.ts'
import { isFull } from '#test/support/tools/full.ts'

const ROOT = join(import.meta.dirname, '../../..')
const ARTIFACTS = '/mnt/artifacts'
const AGENT = '/mnt/agent'
const UNIT = 'kubenode-agent.service'
const SLEEPER = 'kubenode-sleeper.service'
/** A copy that is silent is given up after minutes, so that is tried in full runs alone. */

const missing = noMachines()
const bench = new AgentBench()
let host: HostMachine | undefined
let attempt = 0

const machine = (): HostMachine => {
  if (host === undefined) throw new Error('there is no machine')
  return host
}
const show = (unit: string, property: string): string =>
  machine().run('systemctl', 'show', '-p', property, '--value', unit).out.trim()

const sleeperRelease = () =>
  release(bench.publisher, {
    component: 'sleeper',
    version: '1.0.0',
    entries: [{ name: 'run', content: '#!/bin/sh\nexec sleep 100000\n', mode: 0o755 }],
    spec: {
      install: { unpack: { path: '/opt/sleeper' } },
      service: { exec: '/opt/sleeper/run', restart: 'Always', killMode: 'Group' },
    },
  })

async function order(version: string): Promise<void> {
  attempt++
  const permit = `p${attempt}`
  if (attempt > 1) await bench.permit(permit, 'SwitchComponent', 'Granted')
  const own = {
    name: AGENT_COMPONENT,
    version,
    attempt,
    ...(attempt > 1 ? { switch: { attempt, permit } } : {}),
  }
  const object = {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: { name: MACHINE },
    spec: { components: [own, { name: 'sleeper', version: '1.0.0', attempt: 1 }] },
  }
  await bench.client.apply(machineType, object, { fieldManager: 'kubenode-machine', force: true })
}

async function reaches(state: string, version: string, withinMs = 200_000) {
  try {
    return await eventually(
      `the agent ${version} ${state}`,
      () => bench.component(AGENT_COMPONENT),
      (c) => c?.state === state && c.version === version,
      withinMs,
    )
  } catch (e) {
    throw new Error(machine().run('journalctl', '-u', UNIT, '--no-pager', '-n', '60', '-o', 'cat').out, { cause: e })
  }
}

/** The agent below the unit's main process, and its program's path. */
const runningCopy = (): string => machine().run('pgrep', '-a', '-P', show(UNIT, 'MainPID')).out.trim()

/** What must be the same after every switch of the agent. */
const untouched = () => ({
  supervisor: show(UNIT, 'MainPID'),
  restarts: show(UNIT, 'NRestarts'),
  state: show(UNIT, 'ActiveState'),
  sleeper: show(SLEEPER, 'MainPID'),
})

beforeAll(async () => {
  if (missing !== undefined) return
  await bench.start()
  const bundle = join(bench.folder, 'agent')
  await bundleAgent({ root: ROOT, out: bundle, prefix: '/opt/kubenode', node: execPath })
  host = new HostMachine([`${join(bench.folder, 'artifacts')}:${ARTIFACTS}`, `${bundle}:${AGENT}`])
  await host.boot()
  const program = readFileSync(join(bundle, 'agent.mjs'))
  await bench.publish(sleeperRelease())
  await bench.publish(agentRelease(bench.publisher, '1.0.0', program))
  await bench.publish(agentRelease(bench.publisher, '1.1.0', Buffer.concat([program, Buffer.from('\n// newer\n')])))
  await bench.publish(agentRelease(bench.publisher, '1.2.0', 'process.exit(1)\n'))
  await bench.publish(agentRelease(bench.publisher, '1.3.0', 'setInterval(() => undefined, 1_000)\n'))
  await order('1.0.0')
  const join64 = Buffer.from(JSON.stringify(bench.joinBundle(ARTIFACTS))).toString('base64')
  const joined = await host.runAside(`${AGENT}/join.sh`, join64)
  if (joined.code !== 0) throw new Error(joined.out)
})

afterAll(async () => {
  if (missing !== undefined) return
  await host?.remove()
  await bench.stop()
})

beforeEach((context) => {
  if (missing !== undefined) context.skip(missing)
})

test('the agent that the host was joined with goes over to its component', async () => {
  await reaches('Healthy', '1.0.0')
  await eventually(
    'the sleeper',
    () => bench.component('sleeper'),
    (c) => c?.state === 'Healthy',
  )
  expect(runningCopy()).toMatch(/\/components\/kubenode-agent\/slots\/[0-9a-f]{16}-\d+\/tree\/agent\.mjs /)
})

test('it goes to the next version under a permit; its unit and what it runs are not started again', async () => {
  const [before, copy] = [untouched(), runningCopy()]
  await order('1.1.0')
  await reaches('Healthy', '1.1.0')
  expect(runningCopy()).not.toBe(copy)
  expect(untouched()).toEqual({ ...before, state: 'active' })
})

test.for([
  ['does not start', '1.2.0', /ended 3 times during its trial/],
  ['is silent', '1.3.0', /did not report within/],
] as const)('it comes back from a version that %s, and says why', async ([what, version, message], context) => {
  if (what === 'is silent' && !isFull) context.skip('it takes minutes: KUBENODE_TEST_FULL=1')
  const [before, copy] = [untouched(), runningCopy().replace(/^\d+ /, '')]
  await order(version)
  const seen = await reaches('RolledBack', '1.1.0', what === 'is silent' ? REPORT_WITHIN_MS + 45_000 : 45_000)
  expect([seen?.desired, seen?.message]).toEqual([version, expect.stringMatching(message)])
  expect(runningCopy().replace(/^\d+ /, '')).toBe(copy)
  expect(untouched()).toEqual({ ...before, state: 'active' })
  await order('1.1.0')
  await reaches('Healthy', '1.1.0')
})

test('after a reboot of the host the copy that was switched to is the one that runs', async () => {
  const copy = runningCopy().replace(/^\d+ /, '')
  const boot = (await bench.machine())?.status?.bootID
  machine().run('systemctl', 'reboot')
  await eventually(
    'another boot',
    async () => (await bench.machine())?.status?.bootID,
    (b) => b !== undefined && b !== boot,
    60_000,
  )
  await reaches('Healthy', '1.1.0')
  expect(runningCopy().replace(/^\d+ /, '')).toBe(copy)
})
