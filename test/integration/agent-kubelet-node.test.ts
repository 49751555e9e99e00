// An agent on a host whose kubelet has registered the Node: it adds its own conditions there and leaves everything else of it alone, also after a restart.
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { nodeType } from '#agent/node/types.ts'
import { isObject } from '#lib/json.ts'
import { AgentBench, MACHINE, beaconRelease, eventually } from './agent-bench.ts'

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

test('an agent that was told that the Node is not its own makes none, keeps no Lease of it, and says nothing of Ready', async () => {
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
}, 60_000)
