// A real agent on a node that is a folder reboots for a component: this test is the provider that restarts it with another boot ID.
import { type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { AgentBench, beaconRelease, eventually } from './agent-bench.ts'

const bench = new AgentBench()
const bootId = join(bench.nodeFolder, 'boot-id')
const BAD = '1.2.0'
let agent: ChildProcess
let boots = 0

function boot(): void {
  boots++
  writeFileSync(bootId, `boot-${boots}\n`)
  agent = bench.run()
}

/** The agent ends for a reboot, and the provider has not served it yet. */
async function ended(): Promise<unknown> {
  const [code] = (await once(agent, 'exit')) as [number]
  const { bootId: from, component } = JSON.parse(readFileSync(join(bench.nodeFolder, 'reboot-requested'), 'utf8'))
  const content = readFileSync(join(bench.nodeFolder, 'root/opt/beacon/bin/beacon'), 'utf8')
  const version = /end\('([\d.]+)'\)/.exec(content)?.[1]
  return { code, from, component, version }
}

const reported = (version: string, state: string) =>
  eventually(
    `${version} ${state}`,
    () => bench.component(),
    (c) => c?.version === version && c.state === state,
    60_000,
  )

beforeAll(async () => {
  await bench.start()
  bench.writeJoin()
  bench.writeConfig({ metrics: false })
  for (const version of ['1.0.0', '1.1.0']) await bench.publish(beaconRelease(bench.publisher, version, 200, 'Reboot'))
  await bench.publish(beaconRelease(bench.publisher, BAD, 500, 'Reboot'))
  boot()
  await bench.order({ version: '1.0.0' })
  await reported('1.0.0', 'Healthy')
  await bench.permit('p', ['SwitchComponent', 'Drain', 'Reboot'], 'Granted')
})

afterAll(() => bench.stop())

test('F36 a new version: one reboot, reported before the agent ends, and the version is healthy in the next boot', async () => {
  await bench.order({ version: '1.1.0', attempt: 2, switch: { attempt: 2, permit: 'p' } })
  expect(await ended()).toEqual({ code: 75, from: 'boot-1', component: 'beacon', version: '1.1.0' })
  expect(await bench.component()).toMatchObject({ state: 'Switching', message: 'rebooting', version: '1.0.0' })
  expect((await bench.component())?.rebootingSince).toBeDefined()
  boot()
  const { rebootingSince } = (await reported('1.1.0', 'Healthy')) ?? {}
  expect([rebootingSince, boots, agent.exitCode]).toEqual([undefined, 2, null])
})

test('F36 a bad version: the old one is in place before the second reboot, and runs after it', async () => {
  await bench.order({ version: BAD, attempt: 3, switch: { attempt: 3, permit: 'p' } })
  expect(await ended()).toMatchObject({ code: 75, from: 'boot-2', version: BAD })
  boot()
  expect(await ended()).toMatchObject({ code: 75, from: 'boot-3', version: '1.1.0' })
  boot()
  await reported('1.1.0', 'RolledBack')
  expect([boots, agent.exitCode]).toEqual([4, null])
})

test('a folder that no provider restarts refuses before anything is switched', async () => {
  agent.kill('SIGTERM')
  await once(agent, 'exit')
  rmSync(bootId)
  agent = bench.run()
  await bench.order({ version: '1.0.0', attempt: 4, switch: { attempt: 4, permit: 'p' } })
  const component = await eventually(
    'the refusal',
    () => bench.component(),
    (c) => c?.attempt === 4 && c.reason === 'RequirementUnmet',
    60_000,
  )
  expect(component).toMatchObject({
    state: 'Staged',
    version: '1.1.0',
    message:
      'this version needs a reboot, which this node cannot do: this node is a folder without a provider that restarts it',
  })
})
