// The built-in kinds that the agent writes beside our own.
import type { ResourceType } from '#schema/resource.ts'

export const nodeType: ResourceType = { group: '', version: 'v1', kind: 'Node', plural: 'nodes', namespaced: false }

export const leaseType: ResourceType = {
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
}
