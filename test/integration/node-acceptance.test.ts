// A real agent runs the signed script that accepts a new Node: once for each order and never an unsigned one. A restart while it runs is not a pass.
import type { ChildProcess } from 'node:child_process'
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { machine as machineType } from '#api/kinds/machine.ts'
import { acceptanceRun } from '#api/protocol/acceptance.ts'
import { defined } from '#lib/defined.ts'
import type { Json } from '#lib/json.ts'
import { newPublisher, release } from '#test/doubles/node/release.ts'
import { AgentBench, eventually, MACHINE } from './agent-bench.ts'

const bench = new AgentBench()
const ran = join(bench.folder, 'ran')
const goOn = join(bench.folder, 'go-on')
let agent: ChildProcess | undefined
const NODE_UID = '00000000-0000-4000-8000-000000000001'

const scriptOf = (component: string, content: string, publisher = bench.publisher) =>
  release(publisher, {
    component,
    version: '1.0.0',
    entries: [{ name: component, content, mode: 0o755 }],
    spec: { type: 'Script', script: { command: [`/opt/${component}/${component}`], timeout: '60s' } },
  })

beforeAll(async () => {
  await bench.start()
  bench.writeJoin()
  bench.writeConfig({ metrics: false })
  await bench.publish(scriptOf('memtest', `#!/bin/sh\necho "$1" >> ${ran}; echo testing; echo "all pages good"\n`))
  await bench.publish(scriptOf('slow', `#!/bin/sh\necho slow >> ${ran}; while [ ! -e ${goOn} ]; do sleep 0.1; done\n`))
  await bench.publish(scriptOf('stray', `#!/bin/sh\necho stray >> ${ran}\n`, newPublisher()))
  await bench.makeMachine()
})

afterAll(() => {
  // Ends the slow script, wherever it may still run.
  writeFileSync(goOn, '')
  return bench.stop()
})

/** As the machine controller orders it. */
async function order(component: string, attempt = 1): Promise<string> {
  const acceptance = { script: { component, version: '1.0.0', args: ['--quick'] }, timeout: '1m', retries: 1 }
  const run = acceptanceRun(acceptance, NODE_UID, attempt)
  const record = { run, node: NODE_UID, wanted: 'it', phase: 'Running', attempt, since: new Date().toISOString() }
  const patch = (value: Json, subresource?: 'status') =>
    bench.client.patch(
      machineType,
      { name: MACHINE },
      { type: 'merge', value },
      { fieldManager: 'kubenode-machine', ...defined({ subresource }) },
    )
  await patch({ spec: { acceptance } })
  await patch({ status: { acceptance: record } }, 'status')
  return run
}

const reportOf = async () => (await bench.machine())?.status?.acceptanceReport

const ended = (run: string) =>
  eventually('the result', reportOf, (r) => r?.run === run && r.outcome !== undefined, 60_000)

test('an ordered script runs once, and its last lines are reported', async () => {
  agent = bench.run()
  const run = await order('memtest')
  expect(await ended(run)).toMatchObject({ outcome: 'Succeeded', output: 'testing\nall pages good' })
  const again = await order('memtest', 2)
  await ended(again)
  expect(readFileSync(ran, 'utf8')).toBe('--quick\n--quick\n')
})

test('an unsigned script is not run', async () => {
  const report = await ended(await order('stray'))
  expect(report).toMatchObject({ outcome: 'Failed', output: expect.stringMatching(/sign|key/) })
  expect(readFileSync(ran, 'utf8')).not.toContain('stray')
})

test('an agent that is killed while the script runs reports no result, and its script is ended', async () => {
  const run = await order('slow')
  await eventually('the start', () => existsSync(ran) && readFileSync(ran, 'utf8').includes('slow'), Boolean, 60_000)
  agent?.kill('SIGKILL')
  appendFileSync(ran, 'killed\n')
  bench.run()
  expect(await ended(run)).toMatchObject({ outcome: 'Unknown', output: 'the agent was restarted while the script ran' })
  writeFileSync(goOn, '')
  const next = await order('slow', 2)
  expect(await ended(next)).toMatchObject({ outcome: 'Succeeded' })
  expect(readFileSync(ran, 'utf8').split('killed\n')[1]).toBe('slow\n')
})
