import { describe, expect, test } from 'vitest'
import { parseProgramObjects } from './objects.ts'

const object = (apiVersion: string, kind: string, name: string, namespace = 'kubenode-system') => ({
  apiVersion,
  kind,
  metadata: { name, namespace },
})
const OWN = [
  object('apps/v1', 'Deployment', 'kubenode-approver'),
  object('policy/v1', 'PodDisruptionBudget', 'kubenode-approver'),
  object('v1', 'Secret', 'kubenode-config'),
]

test('the programs and what belongs to them are taken', () => {
  expect(parseProgramObjects(JSON.stringify(OWN))).toEqual(OWN)
})

describe('a file with anything else is refused as a whole', () => {
  test.each<[string, unknown]>([
    ['no list', { kind: 'List' }],
    ['an object without a name', [...OWN, { kind: 'Secret' }]],
    ['no object', [...OWN, 7]],
    ['a grant', [...OWN, object('rbac.authorization.k8s.io/v1', 'ClusterRoleBinding', 'kubenode-approver')]],
    ['another workload', [object('apps/v1', 'Deployment', 'kubenode-sync')]],
    ['another kind of workload', [object('apps/v1', 'DaemonSet', 'kubenode-approver')]],
    ['another namespace', [object('apps/v1', 'Deployment', 'kubenode-approver', 'kube-system')]],
    ['another Secret', [object('v1', 'Secret', 'kubenode-ca')]],
  ])('%s', (_, found) => expect(() => parseProgramObjects(JSON.stringify(found))).toThrow(/no list|is not part of/))
})
