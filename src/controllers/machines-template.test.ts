// A changed template of a set reaches the Node of a machine that exists: from the set over the Machine to the Node.
import { machineSet } from '#api/kinds/machine-set.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { type OperationPermit, operationPermit } from '#api/kinds/operation-permit.ts'
import { type Node, nodeType } from '#nodes/objects.ts'
import { endWorlds, grant, machineWorld, readyMachine, type TestWorld } from '#test/support/worlds/machine-world.ts'
import { afterEach, expect, test } from 'vitest'

afterEach(endWorlds)

const template = (w: TestWorld, spec: object) =>
  w.fake.poke(machineSet, { name: 'workers' }, { spec: { template: { spec } } })
const node = (w: TestWorld, name: string) => w.fake.peek(nodeType, { name }) as Node
const permits = (w: TestWorld) => w.fake.all(operationPermit) as readonly OperationPermit[]
const DISK = 'example.org/disk'
const BATCH = { key: 'example.org/batch', effect: 'NoSchedule' }

test('labels, annotations and taints arrive in place without a permit, and go with the template', async () => {
  const w = await machineWorld()
  const name = await readyMachine(w)
  const { uid } = node(w, name).metadata
  template(w, { labels: { [DISK]: 'nvme' }, annotations: { 'example.org/a': 'x' }, taints: [BATCH] })
  await w.clock.advance(2_000)
  expect(node(w, name).metadata).toMatchObject({
    uid,
    labels: { [DISK]: 'nvme' },
    annotations: { 'example.org/a': 'x' },
  })
  expect(node(w, name).spec?.taints).toEqual([BATCH])
  template(w, { labels: null, annotations: null, taints: [] })
  await w.clock.advance(2_000)
  expect(node(w, name).metadata.labels).not.toHaveProperty(DISK)
  expect(node(w, name).metadata.annotations).not.toHaveProperty('example.org/a')
  expect(node(w, name).spec?.taints).toEqual([])
  expect(permits(w)).toEqual([])
})

test('what people set stays: on the Node, on the Machine, and under a template that declares it and drops it again', async () => {
  const w = await machineWorld()
  const name = await readyMachine(w)
  w.fake.poke(nodeType, { name }, { metadata: { labels: { 'people/node': '1' } } })
  w.fake.poke(machineType, { name }, { spec: { labels: { 'people/machine': '1' } } })
  await w.clock.advance(2_000)
  template(w, { labels: { [DISK]: 'nvme', 'people/machine': '2' } })
  await w.clock.advance(2_000)
  const kept = { 'people/node': '1', 'people/machine': '1' }
  expect(node(w, name).metadata.labels).toMatchObject({ ...kept, [DISK]: 'nvme' })
  expect(w.fake.peek(machineSet, { name: 'workers' })).toMatchObject({ status: { outdatedReplicas: 1 } })
  template(w, { labels: null })
  await w.clock.advance(2_000)
  expect(node(w, name).metadata.labels).toMatchObject(kept)
  expect(node(w, name).metadata.labels).not.toHaveProperty(DISK)
})

test('a taint that evicts pods waits for its permit, and the permit ends once the Node has the taint', async () => {
  const w = await machineWorld()
  const name = await readyMachine(w)
  const gone = { key: 'example.org/gone', effect: 'NoExecute' }
  template(w, { taints: [gone] })
  await w.clock.advance(2_000)
  expect(node(w, name).spec?.taints).toEqual([])
  const [permit] = permits(w)
  expect(permit?.spec).toMatchObject({ operations: ['Drain'], targets: [{ name }] })
  grant(w, permit?.metadata.name ?? '')
  await w.clock.advance(3_000)
  expect(node(w, name).spec?.taints).toEqual([gone])
  expect(permits(w)[0]?.spec.results).toEqual({ [w.machine(name)?.metadata.uid ?? '']: 'Succeeded' })
})
