// An agent on a host whose kubelet has registered the Node: it adds its own conditions there and leaves everything else of it alone, also after a restart.
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { machine as machineType } from '#api/kinds/machine.ts'
import { nodeType } from '#agent/node/types.ts'
import { release } from '#test/doubles/node/release.ts'
import { isObject } from '#lib/json.ts'
import { AgentBench, MACHINE, beaconRelease, beaconScript, eventually } from './agent-bench.ts'

const bench = new AgentBench()

beforeAll(async () => {
  await bench.start()
  await bench.publish(beaconRelease(bench.publisher, '1.0.0'))
  await bench.order({ version: '1.0.0' })
  writeFileSync(join(bench.nodeFolder, 'join.json'), JSON.stringify({ ...bench.joinBundle(), registerNode: false }))
  bench.writeConfig({ lease: '1s', logs: [] })
})
afterAll(() => bench.stop())

const leases = (namespace: string) =>
  bench.server.requests.filter((r) => r.path.includes(`/namespaces/${namespace}/leases`)).length

const registrations = () => bench.server.requests.filter((r) => r.method === 'POST' && /\/nodes(\?|$)/.test(r.path))

const statusOfNode = async (): Promise<Readonly<Record<string, unknown>>> => {
  const status = (await bench.node())?.['status']
  return isObject(status) ? status : {}
}
const conditionTypes = async (): Promise<readonly string[]> => {
  const { conditions } = await statusOfNode()
  return Array.isArray(conditions) ? conditions.filter(isObject).map((c) => String(c['type'])) : []
}

async function agentAtWork(): Promise<ReturnType<AgentBench['run']>> {
  const before = leases('kubenode-system')
  const agent = bench.run()
  await eventually(
    'its own lease',
    () => leases('kubenode-system'),
    (n) => n > before + 1,
  )
  return agent
}

test('an agent whose Node is not its own creates none, keeps no Lease of it, and does not report Ready', async () => {
  const first = await agentAtWork()
  expect(registrations()).toEqual([])
  expect(await bench.node()).toBeUndefined()

  const ready = { type: 'Ready', status: 'False', reason: 'KubeletNotReady', message: 'no network yet' }
  await bench.client.create(nodeType, { apiVersion: 'v1', kind: 'Node', metadata: { name: MACHINE } })
  await bench.client.apply(
    nodeType,
    {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: MACHINE },
      status: { capacity: { cpu: '3' }, conditions: [ready] },
    },
    { fieldManager: 'kubelet', subresource: 'status', force: true },
  )
  await eventually('its conditions', conditionTypes, (types) => types.length > 1)

  first.kill('SIGKILL')
  await once(first, 'exit')
  await agentAtWork()
  const writes = () =>
    bench.server.requests.filter((r) => r.method === 'PATCH' && r.path.includes(`/nodes/${MACHINE}`)).length
  const before = writes()
  await eventually('a look after the restart', writes, (n) => n > before || before > 1)
  expect(await bench.condition('Ready')).toBe('False KubeletNotReady')
  expect(await statusOfNode()).toMatchObject({ capacity: { cpu: '3' } })
  expect(Object.keys(await statusOfNode()).toSorted()).toEqual(['capacity', 'conditions'])
  expect(registrations()).toEqual([])
  expect(leases('kube-node-lease')).toBe(0)
})

/** The machine controller's report when the Node was deleted, or exists again. */
const report = (reason: 'NodeMissing' | 'AllHealthy') => {
  const ready = { type: 'Ready', status: reason === 'AllHealthy' ? 'True' : 'False', reason, message: 'm' }
  const status = {
    nodeRef: { name: MACHINE, uid: 'gone' },
    conditions: [{ ...ready, lastTransitionTime: new Date().toISOString() }],
  }
  const object = { apiVersion: 'kubenode.io/v1alpha1', kind: 'Machine', metadata: { name: MACHINE }, status }
  return bench.client.apply(machineType, object, {
    fieldManager: 'kubenode-machine',
    subresource: 'status',
    force: true,
  })
}
const kubelet = () => bench.component('kubelet')
const drift = async () => (await kubelet())?.drifted ?? ''

test('a kubelet whose Node was deleted is reported to need a restart, and restarted by an order only', async () => {
  const spec = { service: { exec: '/opt/kubelet/bin/beacon', restart: 'Always', killMode: 'Process' } }
  const entries = [{ name: 'bin/beacon', content: beaconScript('1.0.0'), mode: 0o755 }]
  await bench.publish(release(bench.publisher, { component: 'kubelet', version: '1.0.0', entries, spec }))
  await bench.permit('first', 'SwitchComponent', 'Granted')
  await bench.order({ name: 'kubelet', version: '1.0.0', switch: { attempt: 1, permit: 'first' } })
  const state = async () => (await kubelet())?.state
  await eventually('the kubelet', state, (s) => s === 'Healthy')
  expect(await drift()).toBe('')
  await report('NodeMissing')
  await eventually('its drift', drift, (d) =>
    d.startsWith(`Node ${MACHINE} was deleted; the kubelet registers it again at its next start`),
  )
  expect(registrations()).toEqual([])

  await bench.permit('second', 'SwitchComponent', 'Granted')
  await bench.order({ name: 'kubelet', version: '1.0.0', attempt: 2, switch: { attempt: 2, permit: 'second' } })
  await eventually(
    'the second attempt',
    async () => (await kubelet())?.attempt,
    (a) => a === 2,
  )
  await eventually('no drift', drift, (d) => d === '')
  await report('AllHealthy')
})
