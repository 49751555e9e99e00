import type { Machine } from '#api/kinds/machine.ts'
import { expect, test } from 'vitest'
import { MemoryFiles } from '#test/doubles/files/memory-files.ts'
import { keepOrder, orderOf } from './machine-order.ts'

test('an agent leaves components alone that run as pods', () => {
  const components = [
    { name: 'cni', version: '1.0.0', attempt: 1, workload: true },
    { name: 'kubelet', version: '1.34.2', attempt: 2 },
  ]
  const machine: Machine = {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: { name: 'm', uid: 'u', generation: 3 },
    spec: { channel: 'Agent', components },
  }
  expect(orderOf(machine).components).toEqual([{ name: 'kubelet', version: '1.34.2', attempt: 2 }])
})

test('an order is written when it is another one, and not each time that the Machine is heard of', async () => {
  const files = new MemoryFiles()
  const order = { format: 1, name: 'm', uid: 'u', generation: 3, components: [], jobs: [] } as const
  await keepOrder(files, '/state/machine.json', order)
  const { changes } = files
  await keepOrder(files, '/state/machine.json', order)
  expect(files.changes).toBe(changes)
  await keepOrder(files, '/state/machine.json', { ...order, generation: 4 })
  expect((await files.read('/state/machine.json'))?.toString()).toContain('"generation":4')
})
