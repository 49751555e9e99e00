// The cluster that a simulation assumes without an inventory.
import { expect, test } from 'vitest'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { POOL, componentSet } from '#test/support/fleets/rollout-fleet.ts'
import { readInventory } from '../inventory.ts'
import { assumedCluster, declaredReplicas } from './assumed-cluster.ts'

const machineSet = (name: string, replicas: number) => ({
  apiVersion: API_GROUP_VERSION,
  kind: 'MachineSet',
  metadata: { name },
  spec: {
    replicas,
    selector: { matchLabels: POOL },
    template: { metadata: { labels: POOL }, spec: { provider: { name: 'static' }, zone: 'a', rack: 'r' } },
  },
})

const after = [machineSet('x', 2), machineSet('y', 1)]
const assumed = (more: object = {}) =>
  assumedCluster({ cluster: 'hub', base: undefined, after, machines: undefined, ...more })

test('each declared MachineSet has its machines, in the places of its template, with nothing installed', () => {
  const made = assumed()
  expect(made.machines.map((m) => m.metadata.name)).toEqual(['x-0', 'x-1', 'y-0'])
  expect(made.machines[0]).toMatchObject({ metadata: { labels: POOL }, spec: { zone: 'a', rack: 'r', components: [] } })
  expect(made.nodes.map((n) => n.metadata.name)).toEqual(['x-0', 'x-1', 'y-0'])
  expect(readInventory(JSON.parse(JSON.stringify(made)))).toEqual(JSON.parse(JSON.stringify(made)))
  expect(assumed()).toEqual(made)
})

test('a number of machines replaces the replicas of each set', () => {
  expect(assumed({ machines: 5 }).machines).toHaveLength(10)
  expect(declaredReplicas(after, 5)).toEqual([5, 5])
  expect(declaredReplicas(after, undefined)).toEqual([2, 1])
})

test('with a base the machines run what its sets give them; the set of the higher priority wins', () => {
  const base = [
    componentSet({ beacon: '1.0.0', scribe: '1.0.0' }),
    componentSet({ beacon: '2.0.0' }, {}, { name: 'first', priority: 5 }),
    componentSet({ other: '1.0.0' }, {}, { name: 'elsewhere', selector: { matchLabels: { no: 'machine' } } }),
  ]
  const [machine] = assumed({ base }).machines
  expect(machine?.status?.components?.map(({ name, version, state }) => [name, version, state])).toEqual([
    ['beacon', '2.0.0', 'Healthy'],
    ['scribe', '1.0.0', 'Healthy'],
  ])
})
