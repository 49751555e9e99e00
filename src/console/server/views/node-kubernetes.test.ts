// What Kubernetes says of a node: pods that are not ready with the reason, and facts for people.
import { expect, test } from 'vitest'
import type { Node, Pod } from '#nodes/objects.ts'
import { nodeFacts, podRows } from './node-kubernetes.ts'

const pod = (name: string, status: object): Pod =>
  ({ metadata: { namespace: 'shop', name, creationTimestamp: '2026-01-01T00:00:00Z' }, status }) as unknown as Pod

const READY = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] }
const CRASHING = {
  phase: 'Running',
  conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: '2026-01-02T00:00:00Z' }],
  containerStatuses: [{ name: 'cart', restartCount: 4, state: { waiting: { reason: 'CrashLoopBackOff' } } }],
}
const UNSCHEDULED = {
  phase: 'Pending',
  conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'no CPU' }],
}
const PODS = [pod('a', READY), pod('b', CRASHING), pod('c', { phase: 'Succeeded' }), pod('d', UNSCHEDULED)]

const NODE = {
  metadata: { name: 'n-1' },
  spec: { unschedulable: true, taints: [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }] },
  status: { allocatable: { cpu: '16', memory: '64Gi', pods: '110' }, nodeInfo: { kubeletVersion: 'v1.34.2' } },
} as unknown as Node

test('a pod that is neither ready nor completed is listed with its reason, since when, and its restarts', () => {
  expect(podRows(PODS)).toEqual([
    {
      id: 'Pod/shop/b',
      row: 'Pod',
      namespace: 'shop',
      name: 'b',
      phase: 'Running',
      restarts: 4,
      since: Date.parse('2026-01-02T00:00:00Z'),
      why: 'cart: CrashLoopBackOff',
    },
    expect.objectContaining({ name: 'd', restarts: 0, why: 'Unschedulable: no CPU' }),
  ])
})

test('the facts count pods and say what the node has and takes', () => {
  expect(nodeFacts(NODE, PODS)).toEqual({
    kubelet: 'v1.34.2',
    isCordoned: true,
    isCordonedByKubeNode: false,
    taints: ['gpu=yes:NoSchedule'],
    cpu: '16',
    memory: '64Gi',
    mostPods: '110',
    pods: 4,
    podsNotReady: 2,
  })
})

test('the cordon of KubeNode is a taint and leaves the field of users alone', () => {
  const spec = { taints: [{ key: 'kubenode.io/cordon', effect: 'NoSchedule' }] }
  expect(nodeFacts({ ...NODE, spec }, PODS)).toMatchObject({
    isCordoned: false,
    isCordonedByKubeNode: true,
  })
})

test('for a user who may not list pods their number is unknown, not zero', () => {
  const facts = nodeFacts(NODE, undefined)
  expect(facts).not.toHaveProperty('pods')
  expect(podRows(undefined)).toEqual([])
})
