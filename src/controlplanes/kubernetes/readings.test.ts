// The preconditions of an upgrade: API server metrics in their real format, and the room on the hub's nodes and in its quotas.
import { expect, test } from 'vitest'
import type { KubeClient } from '#kube/client.ts'
import { DEFAULT_SHAPE } from './plane-settings.ts'
import { removedApis, surgeTrouble, usedOfQuota } from './readings.ts'

const METRICS = `# HELP apiserver_requested_deprecated_apis [STABLE] Gauge of deprecated APIs
# TYPE apiserver_requested_deprecated_apis gauge
apiserver_requested_deprecated_apis{group="flowcontrol.apiserver.k8s.io",removed_release="1.32",resource="flowschemas",subresource="",version="v1beta3"} 1
apiserver_requested_deprecated_apis{group="",removed_release="",resource="componentstatuses",subresource="",version="v1"} 1
apiserver_requested_deprecated_apis{group="policy",removed_release="1.37",resource="things",subresource="",version="v1beta1"} 1
apiserver_storage_size_bytes{storage_cluster_id="etcd-0"} 1.6106127e+09
apiserver_storage_size_bytes{storage_cluster_id="etcd-1"} 5.36870912e+08
`

test('APIs in use count once the wanted minor no longer serves them', () => {
  expect(removedApis(METRICS, 36)).toEqual(['flowschemas.v1beta3.flowcontrol.apiserver.k8s.io'])
  expect(removedApis(METRICS, 37)).toHaveLength(2)
  expect(removedApis('', 37)).toEqual([])
})

test('the fullest member of etcd counts, and an unknown size is not an empty store', () => {
  const shape = { ...DEFAULT_SHAPE, etcd: { members: 3, storage: '4Gi' } }
  expect(usedOfQuota(METRICS, { shape })).toBeCloseTo(0.5, 3)
  expect(() => usedOfQuota('', { shape })).toThrow('does not tell')
})

/** A hub of one node with 1 processor and 2Gi, of which a pod has half. */
function hubOf(lists: Readonly<Record<string, readonly object[]>>): {
  readonly client: KubeClient
  readonly asked: string[]
} {
  const asked: string[] = []
  const all: Readonly<Record<string, readonly object[]>> = {
    Node: [{ metadata: { name: 'n-1' }, spec: {}, status: { allocatable: { cpu: '1', memory: '2Gi' } } }],
    Pod: [
      {
        metadata: { name: 'p' },
        spec: { nodeName: 'n-1', containers: [{ resources: { requests: { cpu: '500m', memory: '1Gi' } } }] },
        status: { phase: 'Running' },
      },
    ],
    ...lists,
  }
  const list = async ({ kind }: { readonly kind: string }, options: { readonly namespace?: string } = {}) => {
    asked.push(`${kind} ${options.namespace ?? '*'}`)
    return { items: all[kind] ?? [], metadata: {} }
  }
  return { client: { list } as unknown as KubeClient, asked }
}

const quota = (hard: object, used: object) => ({ metadata: { name: 'team' }, status: { hard, used } })
const record = (resources: object = {}) => ({ id: 'fleet.one', shape: { ...DEFAULT_SHAPE, resources } })

test.each<[string, Readonly<Record<string, readonly object[]>>, object, string | undefined]>([
  ['room everywhere', {}, {}, undefined],
  ['a node without room for what the Cluster requests', {}, { cpu: '600m' }, 'no node has it free'],
  ['no node', { Node: [] }, {}, 'no node has it free'],
  [
    'a quota with room for exactly one',
    { ResourceQuota: [quota({ pods: '10', 'requests.cpu': '4' }, { pods: '9', 'requests.cpu': '3800m' })] },
    {},
    undefined,
  ],
  [
    'a quota of pods that is full',
    { ResourceQuota: [quota({ pods: '10' }, { pods: '10' })] },
    {},
    'ResourceQuota team has 10 of 10 pods in use',
  ],
  [
    'a quota of processors without room',
    { ResourceQuota: [quota({ 'requests.cpu': '4' }, { 'requests.cpu': '3900m' })] },
    {},
    'ResourceQuota team has 3900m of 4 requests.cpu in use',
  ],
  [
    'a quota of memory without room',
    { ResourceQuota: [quota({ memory: '4Gi' }, { memory: '3900Mi' })] },
    {},
    'ResourceQuota team has 3900Mi of 4Gi memory in use',
  ],
  [
    'the second of two quotas',
    { ResourceQuota: [quota({ pods: '9' }, { pods: '1' }), quota({ 'count/pods': '1' }, { 'count/pods': '1' })] },
    {},
    'ResourceQuota team has 1 of 1 count/pods in use',
  ],
  [
    'a quota of something else',
    { ResourceQuota: [quota({ persistentvolumeclaims: '1' }, { persistentvolumeclaims: '1' })] },
    {},
    undefined,
  ],
  ['a quota that was not counted yet', { ResourceQuota: [{ metadata: { name: 'new' } }] }, {}, undefined],
])('one API server more: %s', async (_, lists, resources, trouble) => {
  const { client, asked } = hubOf(lists)
  expect(await surgeTrouble(client, record(resources))).toBe(trouble)
  expect(asked).toContain('ResourceQuota kc-fleet-one')
})
