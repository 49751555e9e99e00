// The cost of our policies for the other clients: a server converts an object of a write once for each policy whose rules match, so few may match what nodes write all day.
import { App } from 'cdk8s'
import { expect, test } from 'vitest'
import { PoliciesChart } from './policies.ts'

interface Rule {
  readonly apiGroups: readonly string[]
  readonly operations: readonly string[]
  readonly resources: readonly string[]
}
interface Made {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly spec: {
    readonly matchConstraints?: {
      readonly namespaceSelector?: object
      readonly resourceRules: readonly Rule[]
      readonly excludeResourceRules?: readonly Rule[]
    }
  }
}

/** Whose objects may lie anywhere. They judge by who writes, which no selector can say. */
const BY_WRITER = ['kubenode-agents', 'kubenode-declared', 'kubenode-owners', 'kubenode-revoked-agents']

const policies = (new PoliciesChart(new App()).toJson() as readonly Made[]).filter(
  (o) => o.kind === 'ValidatingAdmissionPolicy',
)
const matches = (pattern: string, resource: string): boolean => {
  const [plural, sub] = pattern.split('/')
  const [wanted, wantedSub] = resource.split('/')
  return (plural === '*' || plural === wanted) && (sub === '*' || sub === wantedSub)
}
const isAbout =
  (group: string, resource: string) =>
  (r: Rule): boolean =>
    r.operations.some((o) => o === '*' || o === 'UPDATE') &&
    r.apiGroups.some((g) => g === '*' || g === group) &&
    r.resources.some((pattern) => matches(pattern, resource))
const lookingAt = (group: string, resource: string): readonly string[] =>
  policies
    .filter(({ spec }) => spec.matchConstraints?.namespaceSelector === undefined)
    .filter(({ spec }) => spec.matchConstraints?.resourceRules.some(isAbout(group, resource)))
    .filter(({ spec }) => spec.matchConstraints?.excludeResourceRules?.some(isAbout(group, resource)) !== true)
    .map((p) => p.metadata.name)
    .sort()

test('a Lease, which kubelets and agents renew all the time, is judged by the policies for agents alone', () => {
  expect(lookingAt('coordination.k8s.io', 'leases')).toEqual(['kubenode-agent-leases', 'kubenode-revoked-agents'])
})

test.each([
  // That status carries annotations, ours among them, which are not the kubelet's to write.
  ['a kubelet writes the status of its Node', '', 'nodes/status', ['kubenode-node-marks']],
  ['a kubelet writes the status of a pod', '', 'pods/status', []],
  ['somebody scales a workload', 'apps', 'deployments', []],
])('%s: judged by those policies alone that go by the writer', (_, group, resource, more) => {
  expect(lookingAt(group, resource)).toEqual([...BY_WRITER, ...more].toSorted())
})
