// A failed delivery of a release is a result, never an exception: the caller has a status to write.
import { expect, test } from 'vitest'
import type { KubeClient } from '#kube/client.ts'
import { VirtualClock } from '#test/support/clocks/virtual-clock.ts'
import { deliverRelease } from './deliver-release.ts'

const silent = new Proxy({} as KubeClient, {
  get: () => () => {
    throw new Error('nothing answers')
  },
})
const order = {
  client: silent,
  clock: new VirtualClock(),
  fieldManager: 'kubenode-cluster',
  record: 'kubenode',
  kinds: [],
} as const
const settings = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'shop' } }

test('an API server that does not answer is a failure with its words', async () => {
  expect(await deliverRelease({ ...order, objects: [settings] })).toEqual({
    object: 'Inventory kubenode',
    message: 'nothing answers',
  })
})

test('what was given up is no failure of the release', async () => {
  const signal = AbortSignal.abort()
  await expect(deliverRelease({ ...order, objects: [settings], signal })).rejects.toThrow('nothing answers')
})

test('of a release that has nothing, nothing is read and nothing is deleted', async () => {
  expect(await deliverRelease({ ...order, objects: [] })).toBeUndefined()
})

test('definitions that cannot be asked for are named, and not the Inventory', async () => {
  const kind = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', metadata: { name: 'sets' } }
  const applies = new Proxy({} as KubeClient, {
    get: (_, name) =>
      name === 'apply'
        ? async (_type: unknown, object: object) => object
        : () => {
            throw new Error('nothing answers')
          },
  })
  const failure = await deliverRelease({ ...order, client: applies, kinds: [kind], objects: [] })
  expect(failure).toEqual({ object: 'CustomResourceDefinition sets', message: 'nothing answers' })
})
