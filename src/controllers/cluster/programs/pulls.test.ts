import { describe, expect, test } from 'vitest'
import type { KubeObject } from '#api/schema/object.ts'
import { pullTrouble } from './pulls.ts'

const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { namespace: 'kubenode-system', name: 'kubenode-approver' },
  spec: {
    selector: { matchLabels: { a: 'b', c: 'd' } },
    template: { spec: { imagePullSecrets: [{ name: 'there' }, { name: 'pull' }] } },
  },
} as KubeObject
const podThat = (reason: string): object => ({
  metadata: { name: 'p' },
  spec: { containers: [{ name: 'c', image: 'r.example.org/k@sha256:1' }] },
  status: { containerStatuses: [{ name: 'c', state: { waiting: { reason, message: 'access\ndenied' } } }] },
})

describe('a program whose pods wait', () => {
  const selectors: unknown[] = []
  const troubleOf = (pods: readonly object[]) => {
    const client = {
      list: async (_: unknown, { labelSelector }: { labelSelector: string }) => {
        selectors.push(labelSelector)
        return { items: pods }
      },
      get: async (_: unknown, { name }: { name: string }) => (name === 'there' ? {} : undefined),
    } as never
    return pullTrouble(client, deployment, AbortSignal.timeout(60_000))
  }

  test('for their image names it, the answer of the kubelet in one line, and the Secrets that are missing', async () => {
    expect(await troubleOf([{ metadata: { name: 'other' } }, podThat('ImagePullBackOff')])).toEqual({
      why: expect.stringMatching(
        /^image r\.example\.org\/k@sha256:1 cannot be pulled: access.*denied; there is no Secret pull in kubenode-system$/,
      ),
      missingSecrets: ['pull'],
    })
    expect(selectors).toEqual(['a=b,c=d'])
  })

  test.each([['ErrImagePull'], ['ContainerCreating']])('for %s has no such trouble yet', async (reason) => {
    expect(await troubleOf([podThat(reason)])).toBeUndefined()
  })
})
