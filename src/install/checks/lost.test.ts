import { expect, test } from 'vitest'
import type { KubeObject } from '#api/schema/object.ts'
import { releaseOf } from '../load.ts'
import { refOf, refText } from '#delivery/object-ref.ts'
import { isKept, lostParts } from './lost.ts'

const binding: KubeObject = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicyBinding',
  metadata: { name: 'kubenode-holds' },
  spec: { policyName: 'kubenode-holds', validationActions: ['Deny'] },
}
const revoked: KubeObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'kubenode-revoked-agents', namespace: 'kubenode-system' },
}
const found = (live: readonly KubeObject[], isSameRelease = true) =>
  lostParts(
    [binding, revoked],
    (o) => live.find((l) => l.kind === o.kind && l.metadata.name === o.metadata.name),
    isSameRelease,
  ).map(({ object, how }) => `${object}: ${how}`)

test('nothing is lost where all is as it was installed, also with what a server fills in', () => {
  const spec = { ...(binding['spec'] as object), matchResources: {} }
  expect(
    found([
      { ...binding, spec },
      { ...revoked, data: { a: 'b' } },
    ]),
  ).toEqual([])
})

test('what was deleted is named', () => {
  expect(found([])).toEqual([
    'ValidatingAdmissionPolicyBinding kubenode-holds: it was deleted',
    'ConfigMap kubenode-system/kubenode-revoked-agents: it was deleted',
  ])
})

test.each<[string, object]>([
  ['that only warns', { validationActions: ['Warn'] }],
  ['that looks at fewer objects', { matchResources: { namespaceSelector: { matchLabels: { a: 'b' } } } }],
])('a binding %s was changed, where the same release is installed', (_, change) => {
  const weaker = { ...binding, spec: { ...(binding['spec'] as object), ...change } }
  expect(found([weaker, revoked])).toEqual([
    'ValidatingAdmissionPolicyBinding kubenode-holds: it is no longer as this release installs it',
  ])
  expect(found([weaker, revoked], false)).toEqual([])
})

test('what an installation is made of is looked for, but for what other checks report and what nothing breaks without', async () => {
  const { objects } = await releaseOf({
    cluster: 'one',
    image: `registry.example.org/kubenode@sha256:${'a'.repeat(64)}`,
    apiServer: { url: 'https://api.example.org:6443' },
    artifacts: { source: { claim: 'artifacts' }, address: 'artifacts.example.org:30844' },
  })
  const recorded = new Set(objects.map((o) => refText(refOf(o))))
  const others = new Set(objects.filter((o) => !isKept(o, recorded, true)).map((o) => o.kind))
  expect([...others].toSorted()).toEqual([
    'Deployment',
    'FlowSchema',
    'Namespace',
    'PodDisruptionBudget',
    'PriorityLevelConfiguration',
    'ResourceQuota',
  ])
})

test('what another tool or release left out is not lost', () => {
  const policy = { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: { namespace: 'n', name: 'p' } }
  expect(isKept(policy, new Set(), true)).toBe(false)
  expect(isKept(binding, new Set(), true)).toBe(true)
})

test('an installation of another release lacks only what it once had', () => {
  const recorded = new Set([refText(refOf(revoked))])
  expect([revoked, binding].map((o) => isKept(o, recorded, false))).toEqual([true, false])
  expect([revoked, binding].map((o) => isKept(o, recorded, true))).toEqual([true, true])
  // Other tools record nothing.
  expect([revoked, binding].map((o) => isKept(o, new Set(), false))).toEqual([true, true])
})
