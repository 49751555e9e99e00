// Translates the control plane settings of a Cluster into a request to a control plane host. Pure.
import type { Cluster } from '#api/kinds/cluster.ts'
import type { ControlPlaneShape, UpgradeTerms } from '#controlplanes/port.ts'
import { defined } from '#lib/defined.ts'
import { durationMs } from '#lib/duration.ts'
import type { ControlPlaneSpec } from '../seen.ts'
import { networkOf } from './network.ts'

const DEFAULT_SOAK_MS = 3_600_000

export function shapeOf({ spec }: Cluster, controlPlane: ControlPlaneSpec): Partial<ControlPlaneShape> {
  const { replicas, etcd, endpoint, resources, extraArgs } = controlPlane
  return {
    ...defined({ replicas }),
    ...(etcd !== undefined && {
      etcd: {
        members: etcd.replicas,
        storage: etcd.storage,
        ...defined({ storageClass: etcd.storageClass }),
      },
    }),
    endpoint: { type: endpoint?.type ?? 'ClusterIP', ...defined({ host: endpoint?.host }) },
    ...(spec.network !== undefined && { network: networkOf(spec) }),
    resources: resources ?? {},
    extraArgs: extraArgs ?? {},
  }
}

export const upgradeTerms = ({ upgrade, accept }: ControlPlaneSpec): UpgradeTerms => ({
  ...defined({ accepts: accept }),
  soakMs: durationMs(upgrade?.soak ?? '') ?? DEFAULT_SOAK_MS,
  walksMinors: upgrade?.chain ?? false,
})
