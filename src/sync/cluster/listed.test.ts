import { expect, test } from 'vitest'
import type { KubeClient } from '#kube/client.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { refOf } from '#delivery/object-ref.ts'
import type { DesiredObject } from '#delivery/desired.ts'
import { withoutUnlisted } from './listed.ts'
import { defined } from '#lib/defined.ts'
import { sha256OfJson } from '#lib/sha256.ts'

const desired = (object: KubeObject): DesiredObject => ({ ref: refOf(object), object, digest: sha256OfJson(object) })
const workload = (namespace: string, pod: object, kind = 'DaemonSet') =>
  desired({
    apiVersion: 'apps/v1',
    kind,
    metadata: { namespace, name: 'cni' },
    spec: { template: { spec: { containers: [{ name: 'a', image: 'a' }], ...pod } } },
  })
const core = (kind: string, name: string, namespace?: string) =>
  desired({ apiVersion: 'v1', kind, metadata: { name, ...defined({ namespace }) } })

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
  ]
  const target = await withoutUnlisted(client, { objects, rejected: [] })
  expect(target.objects).toEqual(objects.slice(0, 2))
  expect(target.rejected.map((r) => r.problem)).toEqual([
    'KN3094: cannot apply DaemonSet.apps/kubenode-system/cni: it names service account kubenode-defender, and the cluster does not list it for git; if a commit may declare it, grant sync the verb declare on daemonsets/kubenode-defender of API group kubenode.io, resource name cni in namespace kubenode-system; see docs/operations/security.md',
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
