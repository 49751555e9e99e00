import { describe, expect, test } from 'vitest'
import type { KubeObject } from '#api/schema/object.ts'
import { isNamespaceNeverDeclared, listingsOf, listingsOfSource } from './listings.ts'
import { defined } from '#lib/defined.ts'

const workload = (namespace: string, pod: object, kind = 'DaemonSet', more: object = {}): KubeObject => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { namespace, name: 'cni' },
  spec: { template: { spec: { containers: [{ name: 'a', image: 'a' }], ...pod }, ...more } },
})
const container = (more: object) => ({ containers: [{ name: 'a', image: 'a', ...more }] })
const core = (kind: string, name: string, namespace?: string, more: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind,
  metadata: { name, ...defined({ namespace }) },
  ...more,
})
const HOST = ['declare-host daemonsets cni']
const SECRET = ['declare secrets tls']

describe('S25 which objects of a commit the installer must have listed', () => {
  test.each([
    ['a workload of a tenant', workload('shop', {}), []],
    ['one with a priority class', workload('shop', { priorityClassName: 'high' }), HOST],
    ['one with a priority', workload('shop', { priority: 1 }), HOST],
    ['one with the priority of all', workload('shop', { priority: 0 }), []],
    ['one with a runtime of its own', workload('shop', { runtimeClassName: 'kata' }), HOST],
    [
      'one with a token for another audience',
      workload('shop', {
        volumes: [{ name: 'a', projected: { sources: [{ serviceAccountToken: { audience: 'sts', path: 't' } }] } }],
      }),
      HOST,
    ],
    [
      'one with a token for the API server',
      workload('shop', { volumes: [{ name: 'a', projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }] }),
      [],
    ],
    ...['k8s.v1.cni.cncf.io/networks', 'cdi.k8s.io/gpu', 'io.kubernetes.cri-o.Devices'].map(
      (annotation): [string, KubeObject, readonly string[]] => [
        `one with annotation ${annotation}`,
        workload('shop', {}, 'DaemonSet', { metadata: { annotations: { [annotation]: 'a' } } }),
        HOST,
      ],
    ),
    [
      'one with annotations that nothing on a node acts on',
      workload('shop', {}, 'DaemonSet', { metadata: { annotations: { 'checksum/config': 'a' } } }),
      [],
    ],
    ['one that names the account that every namespace has', workload('shop', { serviceAccountName: 'default' }), []],
    ['one that names another account', workload('shop', { serviceAccountName: 'x' }), ['declare daemonsets/x cni']],
    ['one that names it in the old field', workload('shop', { serviceAccount: 'x' }), ['declare daemonsets/x cni']],
    [
      'one that names two',
      workload('shop', { serviceAccountName: 'x', serviceAccount: 'y' }),
      ['declare daemonsets/x cni', 'declare daemonsets/y cni'],
    ],
    ['one in a namespace of Kubernetes', workload('kube-system', {}, 'Deployment'), ['declare deployments cni']],
    ['one in ours', workload('kubenode-system', { serviceAccountName: 'x' }), ['declare daemonsets/x cni']],
    [
      'one of Kubernetes with the power of its node',
      workload('kube-system', { serviceAccountName: 'x', hostNetwork: true }),
      ['declare daemonsets/x cni', ...HOST],
    ],
    ['one in the network of its node', workload('shop', { hostNetwork: true }), HOST],
    ['one that says that it is not', workload('shop', { hostNetwork: false, securityContext: null }), []],
    ['one that mounts a folder of its node', workload('shop', { volumes: [{ hostPath: {} }] }), HOST],
    ['one that mounts what a driver makes', workload('shop', { volumes: [{ name: 'a', csi: {} }] }), HOST],
    ['one with an unknown field', workload('shop', { hostEverything: {} }), HOST],
    ['one with a field that is inherited', workload('shop', { constructor: {} }), HOST],
    [
      'one whose first container is privileged',
      workload('shop', { initContainers: [{ securityContext: { privileged: true } }] }),
      HOST,
    ],
    ['one with capabilities', workload('shop', container({ securityContext: { capabilities: { add: ['A'] } } })), HOST],
    ['one without seccomp', workload('shop', { securityContext: { seccompProfile: { type: 'Unconfined' } } }), HOST],
    [
      'one that only drops',
      workload('shop', container({ securityContext: { capabilities: { drop: ['ALL'] }, privileged: false } })),
      [],
    ],
    ['one with a port of its node', workload('shop', container({ ports: [{ containerPort: 1, hostPort: 1 }] })), HOST],
    [
      'one without AppArmor',
      workload('shop', {}, 'DaemonSet', {
        metadata: { annotations: { 'container.apparmor.security.beta.kubernetes.io/a': 'unconfined' } },
      }),
      HOST,
    ],
    ['one that mounts a Secret', workload('shop', { volumes: [{ name: 'a', secret: { secretName: 'tls' } }] }), SECRET],
    [
      'one that mounts it among others',
      workload('shop', { volumes: [{ name: 'a', projected: { sources: [{ secret: { name: 'tls' } }] } }] }),
      SECRET,
    ],
    [
      'one that has it in its environment',
      workload('shop', container({ envFrom: [{ secretRef: { name: 'tls' } }] })),
      SECRET,
    ],
    [
      'one that names it twice',
      workload('shop', {
        imagePullSecrets: [{ name: 'tls' }],
        ...container({ env: [{ valueFrom: { secretKeyRef: { name: 'tls' } } }] }),
      }),
      SECRET,
    ],
    [
      'the pod of a CronJob',
      {
        apiVersion: 'batch/v1',
        kind: 'CronJob',
        metadata: { namespace: 'shop', name: 'cni' },
        spec: { jobTemplate: { spec: { template: { spec: { hostPID: true } } } } },
      },
      ['declare-host cronjobs cni'],
    ],
    ['settings of Kubernetes', core('ConfigMap', 'coredns', 'kube-system'), ['declare configmaps coredns']],
    ['settings of a tenant', core('ConfigMap', 'x', 'shop'), []],
    ['whom pods trust', core('ConfigMap', 'kube-root-ca.crt', 'shop'), ['declare configmaps kube-root-ca.crt']],
    ['an account in our namespace', core('ServiceAccount', 'x', 'kubenode-system'), ['declare serviceaccounts x']],
    [
      'an account with the key of a registry',
      core('ServiceAccount', 'x', 'shop', { imagePullSecrets: [{ name: 'tls' }] }),
      SECRET,
    ],
    [
      'an account with an identity of the cloud',
      core('ServiceAccount', 'x', 'shop', {
        metadata: { namespace: 'shop', name: 'x', annotations: { 'eks.amazonaws.com/role-arn': 'a' } },
      }),
      ['declare serviceaccounts x'],
    ],
    ['the address of the API server', core('Service', 'kubernetes', 'default'), ['declare services kubernetes']],
    ['a Service of a tenant', core('Service', 'x', 'shop', { spec: { type: 'LoadBalancer' } }), []],
    [
      'one that takes over addresses',
      core('Service', 'x', 'shop', { spec: { externalIPs: ['10.0.0.1'] } }),
      ['declare-host services x'],
    ],
    [
      'a part of a control plane',
      core('ConfigMap', 'etcd-founding', 'kc-fleet-prod'),
      ['declare configmaps etcd-founding'],
    ],
    [
      'a kind that needs no list elsewhere, in the namespace of a control plane',
      core('PersistentVolumeClaim', 'x', 'kc-fleet-prod'),
      ['declare persistentvolumeclaims x'],
    ],
    ['such a kind in an ordinary namespace', core('PersistentVolumeClaim', 'x', 'shop'), []],
    [
      'one that opens a system namespace',
      core('Service', 'x', 'kube-system', { spec: { type: 'NodePort' } }),
      ['declare services x', 'declare-host services x'],
    ],
  ] as const)('%s', (_, object, needed) => {
    expect(listingsOf(object as KubeObject).map(({ verb, resource, name }) => `${verb} ${resource} ${name}`)).toEqual(
      needed,
    )
  })
})

test('S25 namespaces that no list lets a commit declare', () => {
  const names = ['kube-system', 'kubenode-system', 'kubenode-clusters', 'default', 'kc-fleet-prod', 'shop', 'kubeshop']
  expect(names.filter(isNamespaceNeverDeclared)).toEqual(names.slice(0, 5))
})

test('S13 each Secret that a FleetSource of a commit names is listed, where sync reads it', () => {
  const source = (namespace: string): KubeObject => ({
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'FleetSource',
    metadata: { name: 'shop', namespace },
    spec: {
      secretRef: { name: 'git' },
      webhook: { secretRef: { name: 'hook' } },
      push: { secretRef: { name: 'git' } },
      decryption: { provider: 'sops', secretRef: { name: 'age' } },
      notify: [
        { name: 'a', slack: { secretRef: { name: 'slack' } } },
        { name: 'b', webhook: { secretRef: { name: 'hooks' } } },
        { name: 'c', commitStatus: { secretRef: { name: 'status' } } },
      ],
    },
  })
  const found = (namespace: string) => listingsOfSource(source(namespace)).map((l) => `${l.namespace}/${l.name}`)
  const names = ['git', 'hook', 'age', 'slack', 'hooks', 'status']
  expect(found('shop')).toEqual(names.map((name) => `shop/${name}`))
  expect(found('kubenode-system')).toEqual(names.map((name) => `kubenode-clusters/${name}`))
  expect(listingsOfSource({ ...source('shop'), spec: {} })).toEqual([])
  expect(listingsOfSource({ ...source('shop'), kind: 'Cluster' })).toEqual([])
})
