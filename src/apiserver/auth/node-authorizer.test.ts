import { expect, test } from 'vitest'
import { nodeRules } from '../bootstrap/roles.ts'
import { encodedAt } from '../storage/internal-write.ts'
import { memoryStorage } from '../storage/memory.ts'
import { Store } from '../storage/store.ts'
import type { Attributes } from './authorizer.ts'
import { NodeAuthorizer, nodeOf } from './node-authorizer.ts'
import { referencesOf } from './node-pods.ts'

const asked: Attributes = { verb: 'get', group: '', resource: 'pods', subresource: '', namespace: 'x', name: 'p' }
const kubelet = (node: string) => ({ name: `system:node:${node}`, groups: ['system:nodes'] })

async function world() {
  const store = new Store(memoryStorage())
  const put = (resource: string, namespace: string, name: string, rest: object = {}) =>
    store.put(
      { resource, namespace, name },
      store.latest({ resource, namespace, name }),
      encodedAt({ apiVersion: 'v1', kind: 'K', metadata: { name, namespace }, ...rest }),
    )
  const pod = (name: string, nodeName: string | undefined, volumes: readonly object[] = []) =>
    put('/pods', 'x', name, { spec: { ...(nodeName === undefined ? {} : { nodeName }), volumes } })
  const authorizer = new NodeAuthorizer(store, nodeRules)
  const may = (node: string, more: Partial<Attributes>) =>
    authorizer.verdict(kubelet(node), { ...asked, ...more }) === true
  return { store, put, pod, may, authorizer }
}

test.each([
  ['system:node:a', ['system:nodes'], 'a'],
  ['system:node:a', ['system:authenticated'], undefined],
  ['system:node:', ['system:nodes'], undefined],
  ['somebody', ['system:nodes'], undefined],
])('%s in %j is the kubelet of %s', (name, groups, node) => expect(nodeOf({ name, groups })).toBe(node))

test('the graph follows pods that come, are bound, and go', async () => {
  const { store, pod, may } = await world()
  const volumes = [{ name: 'v', secret: { secretName: 's' } }]
  const secret = { resource: 'secrets', name: 's' }
  expect(may('a', secret)).toBe(false)
  await pod('p', undefined, volumes)
  expect(may('a', secret)).toBe(false)
  await pod('p', 'a', volumes)
  await pod('q', 'a', volumes)
  expect([may('a', secret), may('b', secret), may('a', { ...secret, namespace: 'y' })]).toEqual([true, false, false])
  const remove = (name: string) => {
    const stored = store.latest({ resource: '/pods', namespace: 'x', name })
    return stored === undefined ? undefined : store.delete(stored, stored, encodedAt(stored.value))
  }
  await remove('p')
  expect(may('a', secret)).toBe(true)
  await remove('q')
  expect([may('a', secret), may('a', { name: 'q' })]).toEqual([false, false])
})

test('a volume is read by the nodes whose pods use its claim, and both must name each other', async () => {
  const { put, pod, may } = await world()
  await pod('p', 'a', [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }])
  const volume = { resource: 'persistentvolumes', namespace: '', name: 'pv' }
  await put('/persistentvolumes', '', 'pv', { spec: { claimRef: { namespace: 'x', name: 'c' } } })
  await put('/persistentvolumeclaims', 'x', 'c', { spec: { volumeName: 'other' } })
  expect(may('a', volume)).toBe(false)
  await put('/persistentvolumeclaims', 'x', 'c', { spec: { volumeName: 'pv' } })
  expect([may('a', volume), may('b', volume), may('a', { ...volume, verb: 'list' })]).toEqual([true, false, false])
  expect(may('a', { resource: 'persistentvolumeclaims', name: 'c' })).toBe(true)
})

const VERBS = [
  'get',
  'list',
  'watch',
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
  'escalate',
  'bind',
  '*',
]
const KINDS = [
  ['', 'secrets'],
  ['', 'configmaps'],
  ['', 'serviceaccounts'],
  ['', 'persistentvolumeclaims'],
  ['', 'persistentvolumes'],
  ['', 'pods'],
  ['', 'nodes'],
  ['', 'namespaces'],
  ['', '*'],
  ['*', '*'],
  ['apps', 'deployments'],
  ['coordination.k8s.io', 'leases'],
  ['resource.k8s.io', 'resourceclaims'],
  ['resource.k8s.io', 'resourceslices'],
  ['rbac.authorization.k8s.io', 'clusterroles'],
  ['storage.k8s.io', 'csinodes'],
  ['storage.k8s.io', 'volumeattachments'],
  ['kubenode.io', 'machines'],
] as const
const SUBRESOURCES = ['', 'status', 'token', 'binding', 'eviction', 'exec', 'log', 'proxy', 'ephemeralcontainers', '*']

test('S1 on an object of another node no verb and no subresource is allowed', async () => {
  const { put, pod, may } = await world()
  await pod('p', 'b')
  await put('storage.k8s.io/volumeattachments', '', 'p', { spec: { nodeName: 'b' } })
  const allowed = KINDS.flatMap(([group, resource]) =>
    VERBS.flatMap((verb) =>
      SUBRESOURCES.filter((subresource) =>
        may('a', { group, resource, verb, subresource, namespace: 'x', name: 'p' }),
      ).map((subresource) => `${verb} ${resource}/${subresource}`),
    ),
  )
  // admission checks the name in the body
  expect(allowed).toEqual(['create pods/'])
})

test('every way in which a pod refers to Secrets and ConfigMaps counts', () => {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
    spec: {
      serviceAccountName: 'account',
      imagePullSecrets: [{ name: 'pull' }],
      ephemeralContainers: [{ env: [{ valueFrom: { secretKeyRef: { name: 'ephemeral' } } }] }],
      initContainers: [{ envFrom: [{ configMapRef: { name: 'initial' } }] }],
      containers: [{ envFrom: [{ secretRef: { name: 'environment' } }] }, {}],
      volumes: [
        { name: 'a', azureFile: { secretName: 'azure' } },
        { name: 'b', csi: { nodePublishSecretRef: { name: 'csi' } } },
        { name: 'c', iscsi: { secretRef: { name: 'iscsi' } } },
        { name: 'd', projected: { sources: [{ configMap: { name: 'projected' } }, { secret: { name: 'kept' } }] } },
        { name: 'e', ephemeral: {} },
        { name: 'f', hostPath: { path: '/secret' } },
        null,
      ],
    },
  }
  expect([...referencesOf(pod)].toSorted()).toEqual(
    [
      'serviceaccounts/account',
      ...['pull', 'ephemeral', 'environment', 'azure', 'csi', 'iscsi', 'kept'].map((s) => `secrets/${s}`),
      ...['initial', 'projected'].map((c) => `configmaps/${c}`),
      'persistentvolumeclaims/p-e',
    ].toSorted(),
  )
})
