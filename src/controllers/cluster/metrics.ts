// Metrics of control planes on the hub, for alerts. Computed from the objects at scrape time.
import { Gauge, type Registry } from 'prom-client'
import type { Cluster } from '#api/kinds/cluster.ts'
import { findCondition } from '#kube/conditions.ts'
import type { Part } from '#runtime/manager.ts'

interface Figure {
  readonly name: string
  readonly help: string
  readonly counts: (cluster: Cluster) => boolean
}

const FIGURES: readonly Figure[] = [
  {
    name: 'kubenode_snapshots_overdue',
    help: 'Clusters with a schedule of snapshots of which none was taken and opened for too long.',
    counts: ({ status }) => findCondition(status?.conditions, 'SnapshotsCurrent')?.reason === 'SnapshotOverdue',
  },
  {
    name: 'kubenode_control_planes_without_quorum',
    help: 'Clusters of which etcd has lost its quorum.',
    counts: ({ status }) => status?.waitingFor?.predicate === 'QuorumLost',
  },
  {
    name: 'kubenode_control_planes_with_full_store',
    help: 'Clusters of which etcd takes no writes because it is full.',
    counts: ({ status }) => findCondition(status?.conditions, 'Ready')?.reason === 'EtcdFull',
  },
]

export function clusterFigures(registry: Registry, clusters: () => readonly Cluster[]): Part {
  const end = (): void => FIGURES.forEach(({ name }) => registry.removeSingleMetric(name))
  return {
    name: 'cluster-figures',
    start: () => {
      end()
      for (const { name, help, counts } of FIGURES)
        registry.registerMetric(
          new Gauge({
            name,
            help,
            registers: [],
            collect() {
              this.set(clusters().filter(counts).length)
            },
          }),
        )
    },
    stop: end,
  }
}
