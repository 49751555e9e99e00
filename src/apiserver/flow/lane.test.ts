import { expect, test } from 'vitest'
import { laneOf } from './lane.ts'

const path = (resource: string, subresource = '') => {
  const at = resource.lastIndexOf('/')
  return { group: resource.slice(0, at), plural: resource.slice(at + 1), subresource }
}

test.each([
  ['a lease that is renewed', path('coordination.k8s.io/leases'), 'update', 'vital'],
  ['the status of a node', path('/nodes', 'status'), 'patch', 'vital'],
  ['the status of a machine', path('kubenode.io/machines', 'status'), 'patch', 'vital'],
  ['a node itself', path('/nodes'), 'patch', 'ordinary'],
  ['the list of all leases', path('coordination.k8s.io/leases'), 'list', 'ordinary'],
  ['leases of a stranger', path('example.org/leases'), 'update', 'ordinary'],
  ['the status of a pod', path('/pods', 'status'), 'patch', 'ordinary'],
] as const)('%s', (_, at, verb, lane) => expect(laneOf(at, verb)).toBe(lane))
