// An attacker with the key of the program of clusters has its rights in namespaces of control planes, and can give itself none elsewhere.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ANNOTATIONS, CLUSTER_LEAVES, CLUSTERS_NAMESPACE, CONTROL_PLANE_ROLE, programUser } from '#api/names.ts'
import { operationalHold, type OperationalHold } from '#api/kinds/operational-hold.ts'
import { namespaceLabels } from '#controlplanes/kubernetes/plane-record.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { outcomeOf } from '#kube/outcome.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { shippedHub } from '#test/support/worlds/shipped-hub.ts'
import { ADMIN } from '#test/support/fleets/holds.ts'

const [NAMESPACES, BINDINGS, SECRETS] = [
  coreKind('Namespace'),
  coreKind<'RoleBinding', KubeObject>('RoleBinding'),
  coreKind('Secret'),
]
const LABELS = { ...namespaceLabels('fleet.prod'), [ANNOTATIONS.controlPlane]: 'true' }
const ENFORCE = 'pod-security.kubernetes.io/enforce'
const apiGroup = 'rbac.authorization.k8s.io'

let hub: Awaited<ReturnType<typeof shippedHub>>
beforeAll(async () => {
  hub = await shippedHub()
  for (const [name, labels] of [
    ['kc-of-a-person', {}],
    ['payroll', LABELS],
  ] as const)
    await hub.admin.create(NAMESPACES, namespace(name, labels))
})
afterAll(() => hub.close())

const namespace = (name: string, labels: Readonly<Record<string, string>> = LABELS): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels },
})
const binding = (place: string, role = CONTROL_PLANE_ROLE, user = programUser('cluster')): KubeObject => ({
  apiVersion: `${apiGroup}/v1`,
  kind: 'RoleBinding',
  metadata: { name: 'mine', namespace: place },
  roleRef: { apiGroup, kind: 'ClusterRole', name: role },
  subjects: [{ kind: 'User', name: user, apiGroup }],
})
const tries = async (work: () => Promise<unknown>): Promise<string> => (await outcomeOf(work)).kind

test('it makes a namespace of a control plane, and has its rights there alone', async () => {
  const { program } = hub
  expect(await tries(() => program.create(NAMESPACES, namespace('kc-one')))).toBe('Applied')
  expect(await tries(() => program.list(SECRETS, { namespace: 'kc-one' }))).toBe('Denied')
  expect(await tries(() => program.create(BINDINGS, binding('kc-one')))).toBe('Applied')
  expect(await tries(() => program.list(SECRETS, { namespace: 'kc-one' }))).toBe('Applied')
  expect(await tries(() => program.list(SECRETS, { namespace: 'kubenode-system' }))).toBe('Denied')
  expect(await tries(() => program.delete(NAMESPACES, { name: 'kc-one' }))).toBe('Applied')
})

test.each<[string, () => Promise<unknown>]>([
  ['a namespace of another name', () => hub.program.create(NAMESPACES, namespace('payroll-2'))],
  ['a namespace without the label', () => hub.program.create(NAMESPACES, namespace('kc-two', {}))],
  [
    'a namespace that admits privileged pods',
    () => hub.program.create(NAMESPACES, namespace('kc-two', { ...LABELS, [ENFORCE]: 'privileged' })),
  ],
  [
    'a namespace without pod security',
    () => hub.program.create(NAMESPACES, namespace('kc-two', { [ANNOTATIONS.controlPlane]: 'true' })),
  ],
  [
    'a namespace with labels of others',
    () => hub.program.create(NAMESPACES, namespace('kc-two', { ...LABELS, 'istio-injection': 'enabled' })),
  ],
  ['a deletion of what a person made', () => hub.program.delete(NAMESPACES, { name: 'kc-of-a-person' })],
  ['a deletion of another namespace', () => hub.program.delete(NAMESPACES, { name: 'kubenode-system' })],
  ['its rights in the system', () => hub.program.create(BINDINGS, binding('kube-system'))],
  ['its rights where a person only has the name', () => hub.program.create(BINDINGS, binding('kc-of-a-person'))],
  ['its rights where a person only has the label', () => hub.program.create(BINDINGS, binding('payroll'))],
])('%s is refused', async (_, work) => {
  expect(await tries(work)).toBe('Denied')
})

test('S25 of the Secrets of sync it writes and deletes kubeconfigs alone, not the credentials for git beside them', async () => {
  const { admin, program } = hub
  const secret = (name: string): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: CLUSTERS_NAMESPACE },
  })
  const key = (name: string) => ({ name, namespace: CLUSTERS_NAMESPACE })
  const value = { data: { password: 'eA==' } }
  await admin.create(SECRETS, secret('git-credentials'))
  expect(await tries(() => program.create(SECRETS, secret('push-token')))).toBe('Denied')
  expect(await tries(() => program.patch(SECRETS, key('git-credentials'), { type: 'merge', value }))).toBe('Denied')
  expect(await tries(() => program.delete(SECRETS, key('git-credentials')))).toBe('Denied')
  expect(await tries(() => program.create(SECRETS, secret('cluster-pre')))).toBe('Applied')
  expect(await tries(() => program.patch(SECRETS, key('cluster-pre'), { type: 'merge', value }))).toBe('Applied')
  expect(await tries(() => program.delete(SECRETS, key('cluster-pre')))).toBe('Applied')
})

test('a label that it puts on a namespace of a person is refused', async () => {
  const live = await hub.admin.get(NAMESPACES, { name: 'kc-of-a-person' })
  const labels = { ...live?.metadata.labels, ...LABELS }
  const labelled = { ...(live as KubeObject), metadata: { ...live?.metadata, labels } }
  expect(await tries(() => hub.program.update(NAMESPACES, labelled))).toBe('Denied')
})

test('another role, or another user, is refused in its own namespace too', async () => {
  const { program } = hub
  expect(await tries(() => program.create(NAMESPACES, namespace('kc-three')))).toBe('Applied')
  expect(await tries(() => program.create(BINDINGS, binding('kc-three', 'cluster-admin')))).toBe('Denied')
  expect(await tries(() => program.create(BINDINGS, binding('kc-three', CONTROL_PLANE_ROLE, 'mallory')))).toBe('Denied')
})

test('its role is bound to itself as it runs, not to a group or an account of another namespace that only has its name', async () => {
  const { program } = hub
  expect(await tries(() => program.create(NAMESPACES, namespace('kc-four')))).toBe('Applied')
  const [name, account] = [programUser('cluster'), 'kubenode-cluster']
  for (const subject of [
    { kind: 'Group', name, apiGroup },
    { kind: 'ServiceAccount', name: account, namespace: 'kc-four' },
    { kind: 'User', name: account, apiGroup },
  ])
    expect(await tries(() => program.create(BINDINGS, { ...binding('kc-four'), subjects: [subject] }))).toBe('Denied')
  const subject = { kind: 'ServiceAccount', name: account, namespace: 'kubenode-system' }
  expect(await tries(() => program.create(BINDINGS, { ...binding('kc-four'), subjects: [subject] }))).toBe('Applied')
})

test('labels of a namespace of a control plane never change: not by its program, nor by another that may label namespaces', async () => {
  const { program, admin, as } = hub
  expect(await tries(() => program.create(NAMESPACES, namespace('kc-five')))).toBe('Applied')
  const key = { name: 'kc-five' }
  const merging = (metadata: object) => ({ type: 'merge', value: { metadata } }) as Parameters<typeof admin.patch>[2]
  const sync = as(programUser('sync'))
  for (const labels of [{ [ENFORCE]: 'privileged' }, { [ENFORCE]: null }, { [ANNOTATIONS.controlPlane]: null }])
    for (const client of [program, sync])
      expect(await tries(() => client.patch(NAMESPACES, key, merging({ labels })))).toBe('Denied')
  const team = merging({ labels: { team: 'a' } })
  expect(await tries(() => program.patch(NAMESPACES, key, team))).toBe('Denied')
  expect(await tries(() => admin.patch(NAMESPACES, key, team))).toBe('Applied')
  const annotated = async (annotations: Readonly<Record<string, string>>) => {
    const live = (await admin.get(NAMESPACES, key)) as KubeObject
    return tries(() => program.update(NAMESPACES, { ...live, metadata: { ...live.metadata, annotations } }))
  }
  expect(await annotated({ [ANNOTATIONS.controlPlane]: '{}' })).toBe('Applied')
  expect(await annotated({ 'scheduler.alpha.kubernetes.io/node-selector': 'a=b' })).toBe('Denied')
})

const lifting = (name: string): OperationalHold => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'OperationalHold',
  metadata: { name },
  spec: {
    target: { kind: 'Cluster', selector: {} },
    effect: 'Unprotect',
    reason: 'a test',
    author: ADMIN,
    until: soon(),
  },
})
const soon = (): string => new Date(Date.now() + 3_600_000).toISOString().replace(/\.\d+/, '')

test('a hold that lets the last machines of a cluster go is refused to an administrator, who may lift protections', async () => {
  const { admin } = hub
  expect(await tries(() => admin.create(operationalHold, lifting('night-work')))).toBe('Applied')
  expect(await tries(() => admin.create(operationalHold, lifting(CLUSTER_LEAVES)))).toBe('Denied')
  const generated = { ...lifting(''), metadata: { generateName: 'cluster-leaves' } }
  expect(await tries(() => admin.create(operationalHold, generated as OperationalHold))).toBe('Applied')
})
