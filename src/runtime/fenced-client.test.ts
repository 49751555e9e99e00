import { expect, test } from 'vitest'
import type { KubeClient } from '#kube/client.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { fencedClient } from './fenced-client.ts'

const typeOf = (kind: string, group: string): ResourceType => ({
  group,
  version: 'v1',
  kind,
  plural: `${kind.toLowerCase()}s`,
  namespaced: true,
})

test.each([
  ['a pod by its UID alone', typeOf('Pod', ''), { uid: 'u' }, 'deleted'],
  ['a pod by its name alone', typeOf('Pod', ''), {}, 'refused'],
  ['a Job by its UID alone', typeOf('Job', 'batch'), { uid: 'u' }, 'deleted'],
  ['a Job by its name alone', typeOf('Job', 'batch'), {}, 'refused'],
  ['anything else by its UID alone', typeOf('Release', 'kubenode.io'), { uid: 'u' }, 'refused'],
  ['anything else by UID and version', typeOf('Release', 'kubenode.io'), { uid: 'u', resourceVersion: '7' }, 'deleted'],
  ['a kind of another group that is called Pod', typeOf('Pod', 'example.org'), { uid: 'u' }, 'refused'],
] as const)('a leader deletes %s: %s', async (_what, type, preconditions, expected) => {
  const deleted: string[] = []
  const client = { delete: async (_type: unknown, { name }: { name: string }) => void deleted.push(name) }
  const fence = {
    signal: new AbortController().signal,
    isLeader: () => true,
  }
  const fenced = fencedClient(client as unknown as KubeClient, fence as unknown as Parameters<typeof fencedClient>[1])
  const outcome = await fenced.delete(type, { name: 'x', namespace: 'n' }, { preconditions }).then(
    () => 'deleted',
    (error: unknown) => (String(error).includes('KN1000') ? 'refused' : String(error)),
  )
  expect(outcome).toBe(expected)
})
