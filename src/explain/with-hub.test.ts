import { expect, test } from 'vitest'
import { ANNOTATIONS } from '#api/names.ts'
import type { KubeClient } from '#kube/client.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { storyLines, type Story } from './finding.ts'
import { withHub } from './with-hub.ts'

type Reader = Pick<KubeClient, 'get' | 'list'>

const REVERT = 'git revert --no-edit c0ffee12 && git push'

const set = {
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'MachineComponentSet',
  metadata: { name: 'base', annotations: { [ANNOTATIONS.source]: 'kubenode-system/fleet' } },
}
const release = {
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Release',
  metadata: { name: 'fleet-1', namespace: 'kubenode-system' },
  spec: { source: 'fleet' },
}

const hubOf = (url: string): Reader => ({
  get: (async () => ({ metadata: { name: 'fleet' }, spec: { url } })) as unknown as Reader['get'],
  list: () => Promise.reject(new Error('nothing is listed')),
})

const story = (object: KubeObject): Story => ({
  object: `x/${object.metadata.name ?? ''}`,
  text: 'it is Blocked',
  below: [{ text: 'a cluster', below: [{ text: 'RevisionFailed', urgency: 'Blocked', command: { line: REVERT } }] }],
})

const linesFor = async (object: KubeObject, url: string) =>
  storyLines(await withHub(story(object), object, hubOf(url), () => Promise.resolve([]))).join('\n')

test.each([set, release])(
  'a commit alone is advised for a $kind of a repository that sync reads in place',
  async (object) => {
    for (const url of ['/home/ada/fleet', 'file:///home/ada/fleet']) {
      const lines = await linesFor(object, url)
      expect(lines).toContain('git revert --no-edit c0ffee12')
      expect(lines).not.toContain('git push')
    }
  },
)

test.each([set, release])('for a $kind of a repository elsewhere it is pushed too', async (object) => {
  for (const url of ['https://git.example.org/fleet.git', 'ssh://git@git.example.org/fleet.git'])
    expect(await linesFor(object, url)).toContain(REVERT)
})
