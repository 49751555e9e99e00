import { expect, test } from 'vitest'
import { laneOf } from './lane.ts'

const path = (resource: string, subresource = '') => {
  const at = resource.lastIndexOf('/')
  return { group: resource.slice(0, at), plural: resource.slice(at + 1), subresource, namespace: 'kubenode-system' }
}
const agent = { name: 'kubenode:agent:sync', groups: ['kubenode:agents'] }

test.each([
  ['a lease that is renewed', path('coordination.k8s.io/leases'), 'update', 'vital'],
  ['the status of a node', path('/nodes', 'status'), 'patch', 'vital'],
  ['the status of a machine', path('kubenode.io/machines', 'status'), 'patch', 'vital'],
  ['a node itself', path('/nodes'), 'patch', 'ordinary'],
  ['the list of all leases', path('coordination.k8s.io/leases'), 'list', 'ordinary'],
  ['leases of a stranger', path('example.org/leases'), 'update', 'ordinary'],
  ['the status of a pod', path('/pods', 'status'), 'patch', 'ordinary'],
] as const)('%s', (_, at, verb, lane) => expect(laneOf(at, verb, agent)).toBe(lane))

const lease = path('coordination.k8s.io/leases')
test.each([
  ['a program', lease, 'update', 'kubenode:controllers', 'leaders'],
  ['a program that runs as a pod', lease, 'get', 'system:serviceaccount:kubenode-system:kubenode-sync', 'leaders'],
  ['a program, elsewhere', { ...lease, namespace: 'default' }, 'update', 'kubenode:controllers', 'vital'],
  ['a program that lists', lease, 'list', 'kubenode:controllers', 'ordinary'],
  ['an agent named like one', lease, 'update', 'kubenode:agent:controllers', 'vital'],
  ['an account of another namespace', lease, 'update', 'system:serviceaccount:other:kubenode-sync', 'vital'],
] as const)('S24 leases in kubenode-system, by %s', (_, at, verb, name, lane) =>
  expect(laneOf(at, verb, { name, groups: [] })).toBe(lane),
)
