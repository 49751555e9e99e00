import type { Machine } from '#api/kinds/machine.ts'
import { expect, test } from 'vitest'
import { orderOf } from './machine-order.ts'

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
