import { expect, test } from 'vitest'
import { ResourceTypes } from '#delivery/resource-types.ts'
import { ApiError } from '#kube/errors.ts'
import type { KubeClient } from '#kube/client.ts'
import type { InstallContext } from '../context.ts'
import type { Installed } from '../observe.ts'
import { remainsOf } from './remains.ts'

/** A server without KubeNode objects, whose discovery pages return this status. */
function contextWith(status: number): InstallContext {
  const client = {
    raw: async () => ({ status, text: '{}', headers: {} }),
    list: async () => ({ items: [], resourceVersion: '1' }),
  } as unknown as KubeClient
  return { client, types: new ResourceTypes(client, () => 0) } as unknown as InstallContext
}

const installed = { inventory: [] } as unknown as Installed

test('a kind that the server does not serve has no objects', async () => {
  expect(await remainsOf(contextWith(404), installed)).toContainEqual(expect.objectContaining({ kind: 'Namespace' }))
})

test.each([403, 503])('what a server does not tell (%i) is not taken for gone', async (status) => {
  await expect(remainsOf(contextWith(status), installed)).rejects.toThrow(ApiError)
})
