// `kubenode logs` on a host with systemd: the agent reads the journal of the component's unit, and lines that others write under its name are not shown.
import { join } from 'node:path'
import { execPath } from 'node:process'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { machine as machineType } from '#api/kinds/machine.ts'
import { bundleAgent } from '#agent/join/program-bundle.ts'
import { release } from '#test/doubles/node/release.ts'
import { AgentBench, MACHINE, eventually } from '../../integration/agent-bench.ts'
import { askLog, passOn } from '../../integration/log-asker.ts'
import { HostMachine, noMachines } from './machine.ts'

const ROOT = join(import.meta.dirname, '../../..')
const ARTIFACTS = '/mnt/artifacts'
const AGENT = '/mnt/agent'
const SCRIPT = `#!/bin/sh
echo ready
echo "password=very-secret-thing"
while :; do
  if [ -e /run/speak ]; then cat /run/speak; rm /run/speak; fi
  sleep 0.2
done
`

const missing = noMachines()
const bench = new AgentBench()
const stop = new AbortController()
let host: HostMachine | undefined

const machine = (): HostMachine => {
  if (host === undefined) throw new Error('there is no machine')
  return host
}

const speaker = () =>
  release(bench.publisher, {
    component: 'speaker',
    version: '1.0.0',
    entries: [{ name: 'run', content: SCRIPT, mode: 0o755 }],
    spec: {
      install: { unpack: { path: '/opt/speaker' } },
      service: { exec: '/opt/speaker/run', restart: 'Always', killMode: 'Group' },
    },
  })

beforeAll(async () => {
  if (missing !== undefined) return
  await bench.start()
  const bundle = join(bench.folder, 'agent')
  await bundleAgent({ root: ROOT, out: bundle, prefix: '/opt/kubenode', node: execPath })
  host = new HostMachine([`${join(bench.folder, 'artifacts')}:${ARTIFACTS}`, `${bundle}:${AGENT}`])
  await host.boot()
  await bench.publish(speaker())
  const object = {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: { name: MACHINE },
    spec: { components: [{ name: 'speaker', version: '1.0.0', attempt: 1 }] },
  }
  await bench.client.apply(machineType, object, { fieldManager: 'kubenode-machine', force: true })
  bench.machineUid = (await bench.machine())?.metadata.uid
  const join64 = Buffer.from(JSON.stringify(bench.joinBundle(ARTIFACTS))).toString('base64')
  const joined = await host.runAside(`${AGENT}/join.sh`, join64)
  if (joined.code !== 0) throw new Error(joined.out)
  void passOn(bench, stop.signal)
  await eventually(
    'the component',
    () => bench.component('speaker'),
    (c) => c?.state === 'Healthy',
  )
}, 300_000)

afterAll(async () => {
  stop.abort()
  if (missing !== undefined) return
  await host?.remove()
  await bench.stop()
})

beforeEach((context) => {
  if (missing !== undefined) context.skip(missing)
})

test('shows the lines of the unit with their times, masked, and none that others wrote under its name', async () => {
  const forged = 'a line of another program'
  expect(machine().run('systemd-cat', '-t', 'speaker', 'echo', forged).code).toBe(0)
  const { out, problem } = await askLog(bench, { component: 'speaker' })
  expect(problem).toBe('')
  expect(out).toMatch(/^\d{4}-\d\d-\d\dT[\d:]+Z run: ready$/m)
  expect(out).toMatch(/run: password=\[secret\]$/m)
  expect(out).not.toContain(forged)
})

test('--tail and --since choose by lines and by the time of the journal', async () => {
  const last = await askLog(bench, { component: 'speaker', tail: 1 })
  expect(last.out.trim().split('\n')).toHaveLength(1)
  machine().run('sleep', '2')
  const { out, err, problem } = await askLog(bench, { component: 'speaker', sinceSeconds: 1 })
  expect([out, err, problem]).toEqual(['', '', ''])
})

test('-f shows what the unit writes from now on, until its end', async () => {
  const end = new AbortController()
  const following = askLog(bench, {
    component: 'speaker',
    tail: 0,
    follow: true,
    signal: end.signal,
    onOut: (out) => {
      if (out.includes('later')) end.abort(new Error('Ctrl-C'))
    },
  })
  const speak = setInterval(() => void machine().run('sh', '-c', 'echo later token=hunter2 >/run/speak'), 2_000)
  const { out, problem } = await following
  clearInterval(speak)
  expect([out, problem]).toEqual([expect.stringMatching(/^\S+Z run: later token=\[secret\]\n/), 'Ctrl-C'])
})

test('the log of the agent itself is that of its unit', async () => {
  const { out, problem } = await askLog(bench, { component: 'kubenode-agent', tail: 200 })
  expect([problem, out]).toEqual(['', expect.stringContaining('log requested')])
})
