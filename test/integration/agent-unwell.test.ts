// A component that runs and is unhealthy: detected by its probes, shown on the Node, reported as an event, left running, and restarted by a permitted repair.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { componentConditionType } from '#api/node-conditions.ts'
import { release } from '#test/doubles/node/release.ts'
import { isObject } from '#lib/json.ts'
import { AgentBench, eventually } from './agent-bench.ts'

const bench = new AgentBench()
const sick = join(bench.folder, 'sick')
const UNWELL = componentConditionType('beacon')

/** Unhealthy as soon as the file exists; a start deletes it. */
const SCRIPT = `#!/usr/bin/env node
const fs = require('node:fs')
fs.rmSync(${JSON.stringify(sick)}, { force: true })
require('node:http').createServer((q, r) => { r.statusCode = fs.existsSync(${JSON.stringify(sick)}) ? 500 : 200; r.end() }).listen(18080, process.env.KUBENODE_ADDRESS)
`

beforeAll(async () => {
  await bench.start()
  await bench.publish(
    release(bench.publisher, {
      version: '1.0.0',
      entries: [{ name: 'bin/beacon', content: SCRIPT, mode: 0o755 }],
      spec: {
        service: { exec: '/opt/beacon/bin/beacon', restart: 'Always', killMode: 'Process' },
        probes: [
          {
            name: 'http',
            http: { port: 18080, path: '/healthz', tls: false },
            interval: '1s',
            timeout: '1s',
            settle: '300ms',
          },
        ],
      },
    }),
  )
  bench.writeJoin()
  bench.writeConfig({ metrics: false, clearAfter: '200ms' })
  await bench.order({ version: '1.0.0' })
  bench.run()
  await state('Healthy')
})

afterAll(() => bench.stop())

const state = (wanted: string) =>
  eventually(
    `the component ${wanted}`,
    () => bench.component(),
    (c) => c?.state === wanted,
  )

const pid = (): number =>
  (
    JSON.parse(readFileSync(join(bench.nodeFolder, 'state/components/beacon/process.json'), 'utf8')) as {
      id: { pid: number }
    }
  ).id.pid

const told = async (reason: string): Promise<boolean> => {
  const type = { group: 'events.k8s.io', version: 'v1', kind: 'Event', plural: 'events', namespaced: true }
  const { items } = await bench.client.list(type)
  return items.some((e) => e['reason'] === reason && isObject(e['regarding']) && e['regarding']['kind'] === 'Node')
}

test('it is shown and reported, and keeps running without an order', async () => {
  const before = pid()
  writeFileSync(sick, '')
  await eventually(
    'the condition',
    () => bench.condition(UNWELL),
    (c) => c === 'True ProbeFailing',
  )
  expect(await bench.condition('ComponentUnhealthy')).toBe('True ComponentUnhealthy')
  const seen = await state('Degraded')
  expect(seen?.message).toMatch(/probe http: HTTP 500/)
  await eventually('the event', () => told('ProbeFailing'), Boolean)
  expect([pid(), existsSync(sick)]).toEqual([before, true])
})

test('a repair with a permit starts it again, and then all is well', async () => {
  const before = pid()
  await bench.permit('again', 'RestartComponent', 'Granted')
  await bench.job('again', [{ restartComponent: { component: 'beacon' } }], 'again')
  await bench.listJobs(['again'])
  await eventually(
    'the step',
    () => bench.steps('again'),
    (s) => s[0]?.outcome === 'Succeeded',
  )
  await state('Healthy')
  await eventually(
    'the end of the condition',
    () => bench.condition(UNWELL),
    (c) => c === 'False ComponentHealthy',
  )
  expect([pid() === before, existsSync(sick)]).toEqual([false, false])
})
