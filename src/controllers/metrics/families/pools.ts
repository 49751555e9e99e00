// Metrics of pools: allocatable, requested and used resources.
import type { ResourceSum } from '#measure/capacity.ts'
import type { Family } from './family.ts'

export interface PoolResources {
  readonly capacity: readonly ResourceSum[]
  readonly allocatable: readonly ResourceSum[]
  /** Undefined if unknown; then there are no series. */
  readonly requested: readonly ResourceSum[] | undefined
  readonly used: readonly ResourceSum[] | undefined
}

/** 100 pools with five resources. */
const MOST = 500

export function poolFamilies({ capacity, allocatable, requested, used }: PoolResources): readonly Family[] {
  const family = (name: string, help: string, sums: readonly ResourceSum[] | undefined): Family => ({
    name,
    help,
    labels: ['pool', 'class', 'resource'],
    samples: (sums ?? [])
      .slice(0, MOST)
      .map(({ pool, class: hardware, resource, value }) => ({ labels: { pool, class: hardware, resource }, value })),
  })
  return [
    family('kubenode_pool_capacity', 'What the nodes of a pool have: cores, bytes, pods, devices.', capacity),
    family('kubenode_pool_allocatable', 'What the nodes of a pool have for pods.', allocatable),
    family(
      'kubenode_pool_requested',
      'What pods on the nodes of a pool request; read every five minutes while metrics are scraped, absent beyond 150,000 pods.',
      requested,
    ),
    family(
      'kubenode_pool_used',
      'What the nodes of a pool use, from metrics.k8s.io; absent where the cluster does not serve it.',
      used,
    ),
  ]
}
