import { expect, test } from 'vitest'
import { systemClock } from '#lib/system-clock.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { InstallContext } from '../context.ts'
import { remove } from './remove.ts'

const namespaceType = coreKind('Namespace')
const namespace = (uid: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: 'kubenode-system', uid },
})

/** A server on which a namespace goes after a while. */
function contextWith(seen: readonly (KubeObject | undefined)[]): InstallContext & { readonly deleted: unknown[] } {
  const left = [...seen]
  const deleted: unknown[] = []
  const client = {
    get: async () => left.shift(),
    delete: async (_type: unknown, _key: unknown, options: unknown) => {
      deleted.push(options)
      return 'Deleting'
    },
  } as unknown as KubeClient
  const clock = { ...systemClock, sleep: async () => undefined }
  return { client, types: {} as never, clock, print: () => undefined, timeoutMs: 60_000, deleted }
}

test('what another run made since by the same name is not waited for, and not deleted', async () => {
  const context = contextWith([namespace('a'), namespace('a'), namespace('b')])
  await remove(context, namespaceType, { name: 'kubenode-system' }, 'namespace kubenode-system')
  expect(context.deleted).toEqual([{ propagationPolicy: 'Background', preconditions: { uid: 'a' } }])
})

test('what is not there is not deleted', async () => {
  const context = contextWith([undefined])
  await remove(context, namespaceType, { name: 'kubenode-system' }, 'namespace kubenode-system')
  expect(context.deleted).toEqual([])
})
