// The plan of an installation: order, prune, rewrites of stored versions, and what a step back leaves alone.
import { expect, test } from 'vitest'
import type { KubeObject } from '#api/schema/object.ts'
import type { Live, LiveObject } from '#delivery/diff.ts'
import { refsAfter } from '#delivery/inventory.ts'
import { type ObjectRef, refOf, refText } from '#delivery/object-ref.ts'
import { planInstall, type InstallSeen } from './plan.ts'
import { labelled, type Release } from './release.ts'
import { defined } from '#lib/defined.ts'

const object = (apiVersion: string, kind: string, name: string, namespace?: string): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name, ...defined({ namespace }), labels: { 'app.kubernetes.io/component': name } },
})
const found = (more: Partial<LiveObject>): LiveObject => ({
  uid: 'u-1',
  resourceVersion: '1',
  commit: undefined,
  source: 'install',
  matches: true,
  isDeleting: false,
  ...more,
})
const present = (refs: readonly ObjectRef[]) => new Map(refs.map((ref) => [refText(ref), found({})]))
const RBAC = 'rbac.authorization.k8s.io/v1'

function definition(versions: readonly string[], stored: readonly string[] = [], kind = 'Machine'): KubeObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'machines.kubenode.io' },
    spec: {
      group: 'kubenode.io',
      scope: 'Cluster',
      names: { kind, plural: 'machines' },
      versions: versions.map((name, i) => ({ name, storage: i === versions.length - 1 })),
    },
    status: { storedVersions: stored },
  }
}

const release = (version: string, definitions: readonly KubeObject[] = [definition(['v1'])]): Release => ({
  version,
  definitions: definitions.map((d) => labelled(d, version)),
  objects: [
    object('apps/v1', 'Deployment', 'sync', 'kubenode-system'),
    object('apps/v1', 'Deployment', 'defender', 'kubenode-system'),
    object('apps/v1', 'Deployment', 'artifacts', 'kubenode-system'),
    object('apps/v1', 'Deployment', 'controllers', 'kubenode-system'),
    object(RBAC, 'ClusterRoleBinding', 'b'),
    object(RBAC, 'ClusterRole', 'r'),
    object('admissionregistration.k8s.io/v1', 'ValidatingAdmissionPolicyBinding', 'p'),
    object('admissionregistration.k8s.io/v1', 'ValidatingAdmissionPolicy', 'p'),
    object('v1', 'Service', 's', 'kubenode-system'),
    object('v1', 'Namespace', 'kubenode-system'),
  ],
})
const nothing: InstallSeen = { inventory: [], definitions: [], installed: undefined, live: new Map() }

test('what holds the programs is in force before them, and the Defender is replaced first', () => {
  const { phases } = planInstall(nothing, release('1.0.0'))
  expect(phases.map((p) => [p.name, p.groups.flat().map((o) => `${o.kind} ${o.metadata.name}`)])).toEqual([
    ['Namespaces', ['Namespace kubenode-system']],
    ['Definitions', ['CustomResourceDefinition machines.kubenode.io']],
    ['Policies', ['ValidatingAdmissionPolicy p', 'ValidatingAdmissionPolicyBinding p']],
    ['Rights', ['ClusterRole r', 'ClusterRoleBinding b']],
    ['Settings', ['Service s']],
    ['Workloads', ['Deployment defender', 'Deployment controllers', 'Deployment artifacts', 'Deployment sync']],
  ])
})

test('what a release no longer has is removed, but never a namespace, a definition or a volume', () => {
  const refs = [
    object('v1', 'Namespace', 'kubenode-old'),
    object('v1', 'PersistentVolumeClaim', 'data', 'kubenode-system'),
    object(RBAC, 'ClusterRole', 'old'),
    object(RBAC, 'ClusterRole', 'r'),
  ].map(refOf)
  const { prunes, delivery } = planInstall({ ...nothing, inventory: refs, live: present(refs) }, release('1.1.0'))
  expect(prunes.map(({ ref }) => refText(ref))).toEqual(['ClusterRole.rbac.authorization.k8s.io/old'])
  const left = refsAfter(refs, delivery, { applied: new Map(), pruned: new Set(prunes.map(({ ref }) => refText(ref))) })
  expect(left.map(refText)).toEqual(
    expect.arrayContaining(['Namespace/kubenode-old', 'PersistentVolumeClaim/kubenode-system/data']),
  )
  expect(left.map(refText)).not.toContain('ClusterRole.rbac.authorization.k8s.io/old')
})

test.each<[string, Live, number, boolean]>([
  ['is there is deleted', found({}), 1, true],
  ['is gone already is forgotten', 'Absent', 0, false],
  ['cannot be read is remembered', 'Unknown', 0, true],
  ['is being deleted is remembered', found({ isDeleting: true }), 0, true],
  ['others made again stays, and is forgotten', found({ uid: 'u-2' }), 0, false],
  ['a source has taken over stays, and is forgotten', found({ source: 'fleet/own' }), 0, false],
])('an object that a release no longer has and that %s', (_, there, deletions, isRemembered) => {
  const ref = { ...refOf(object(RBAC, 'ClusterRole', 'old')), uid: 'u-1' }
  const seen = { ...nothing, inventory: [ref], live: new Map([[refText(ref), there]]) }
  const { prunes, delivery } = planInstall(seen, release('1.1.0'))
  expect(prunes).toHaveLength(deletions)
  const after = refsAfter([ref], delivery, { applied: new Map(), pruned: new Set() })
  expect(after.map(refText).includes(refText(ref))).toBe(isRemembered)
})

test('a step back leaves the definitions of the later release, which have all fields', () => {
  const found = [labelled(definition(['v1']), '1.1.0')]
  const names = (version: string) =>
    planInstall({ ...nothing, definitions: found, installed: '1.1.0' }, release(version)).phases.map((p) => p.name)
  expect(names('1.0.0')).not.toContain('Definitions')
  expect(names('1.1.0')).toContain('Definitions')
  expect(names('1.2.0')).toContain('Definitions')
})

test.each<[string, KubeObject, object]>([
  ['objects in the storage version', definition(['v1'], ['v1']), { rewrites: [], problems: [] }],
  [
    'objects of an older version that the release dropped',
    definition(['v0', 'v1'], ['v0', 'v1']),
    { rewrites: [{ to: 'v1' }], problems: [] },
  ],
  [
    'a storage version that the release does not have',
    definition(['v0'], ['v0']),
    { rewrites: [], problems: [{ kind: 'Vanishes', stored: 'v0' }] },
  ],
  [
    'a definition of the same name for another kind',
    definition(['v1'], ['v1'], 'Engine'),
    { rewrites: [], problems: [{ kind: 'Foreign', why: 'its kind is Engine, ours is Machine' }] },
  ],
])('%s', (_, found, expected) => {
  expect(planInstall({ ...nothing, definitions: [found] }, release('1.0.0'))).toMatchObject(expected)
})

test('a definition of our group that no release of ours made is reported, one with our label is an older kind', () => {
  const other = { ...definition(['v1']), metadata: { name: 'gadgets.kubenode.io' } }
  const problems = (d: KubeObject) => planInstall({ ...nothing, definitions: [d] }, release('1.0.0')).problems
  expect(problems(other)).toMatchObject([{ kind: 'Foreign', name: 'gadgets.kubenode.io' }])
  expect(problems(labelled(other, '0.9.0'))).toEqual([])
})
