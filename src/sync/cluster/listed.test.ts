import { describe, expect, test } from 'vitest'
import type { KubeClient } from '#kube/client.ts'
import type { KubeObject } from '#schema/object.ts'
import { refOf } from '../object-ref.ts'
import { digestOf, type DesiredObject } from '../render/rendered.ts'
import { listingsOf, withoutUnlisted } from './listed.ts'

const desired = (object: KubeObject): DesiredObject => ({ ref: refOf(object), object, digest: digestOf(object) })
const workload = (namespace: string, pod: object, kind = 'DaemonSet') =>
  desired({
    apiVersion: 'apps/v1',
    kind,
    metadata: { namespace, name: 'cni' },
    spec: { template: { spec: { containers: [{ name: 'a', image: 'a' }], ...pod } } },
  })
const core = (kind: string, name: string, namespace?: string) =>
  desired({ apiVersion: 'v1', kind, metadata: { name, ...(namespace !== undefined && { namespace }) } })

describe('S25 which objects of a commit the installer must have listed', () => {
  test.each([
    ['a workload of a tenant', workload('shop', {}), []],
    ['one that names the account that every namespace has', workload('shop', { serviceAccountName: 'default' }), []],
    ['one that names another account', workload('shop', { serviceAccountName: 'x' }), ['daemonsets/x']],
    ['one that names it in the old field', workload('shop', { serviceAccount: 'x' }), ['daemonsets/x']],
    [
      'one that names two',
      workload('shop', { serviceAccountName: 'x', serviceAccount: 'y' }),
      ['daemonsets/x', 'daemonsets/y'],
    ],
    ['one in a namespace of Kubernetes', workload('kube-system', {}, 'Deployment'), ['deployments']],
    ['one in ours', workload('kubenode-system', { serviceAccountName: 'x' }), ['daemonsets/x']],
    ['one in the network of its node', workload('shop', { hostNetwork: true }), ['daemonsets']],
    ['one that mounts a folder of its node', workload('shop', { volumes: [{ hostPath: {} }] }), ['daemonsets']],
    [
      'one whose first container is privileged',
      workload('shop', { initContainers: [{ securityContext: { privileged: true } }] }),
      ['daemonsets'],
    ],
    [
      'one with capabilities',
      workload('shop', { containers: [{ securityContext: { capabilities: { add: ['SYS_ADMIN'] } } }] }),
      ['daemonsets'],
    ],
    ['settings of Kubernetes', core('ConfigMap', 'coredns', 'kube-system'), ['configmaps']],
    ['settings of a tenant', core('ConfigMap', 'x', 'shop'), []],
    ['an account in our namespace', core('ServiceAccount', 'x', 'kubenode-system'), ['serviceaccounts']],
  ] as const)('%s', (_, object, resources) => {
    expect(listingsOf(object).map((l) => l.resource)).toEqual(resources)
  })
})

test('what is not listed is rejected with the right to grant, and costs nothing else of the commit', async () => {
  const asked: unknown[] = []
  const client = {
    create: async (_: unknown, review: KubeObject) => {
      const attributes = (review['spec'] as { resourceAttributes: { name: string; namespace: string } })
        .resourceAttributes
      asked.push(attributes)
      return { ...review, status: { allowed: attributes.namespace === 'kube-system' } }
    },
  } as unknown as Pick<KubeClient, 'create'>
  const objects = [
    core('ConfigMap', 'settings', 'shop'),
    workload('kube-system', { serviceAccountName: 'cni' }),
    workload('kubenode-system', { serviceAccountName: 'kubenode-defender' }),
    core('Namespace', 'kubenode-system'),
  ]
  const target = await withoutUnlisted(client, { objects, rejected: [] })
  expect(target.objects).toEqual(objects.slice(0, 2))
  expect(target.rejected.map((r) => r.problem)).toEqual([
    'KN7202: cannot apply DaemonSet.apps/kubenode-system/cni: it names service account kubenode-defender, and the cluster does not list it for git; if a commit may declare it, grant sync the verb declare on daemonsets/kubenode-defender of API group kubenode.io, resource name cni in namespace kubenode-system; see docs/security.md',
    expect.stringMatching(/^KN7203: cannot apply Namespace\/kubenode-system: /),
  ])
  expect(asked).toContainEqual({
    verb: 'declare',
    group: 'kubenode.io',
    resource: 'daemonsets',
    subresource: 'cni',
    namespace: 'kube-system',
    name: 'cni',
  })
})
