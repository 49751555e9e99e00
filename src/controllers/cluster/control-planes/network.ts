// The network of a Cluster, with what it leaves out. Pure.
import type { Cluster } from '#api/kinds/cluster.ts'
import { type ControlPlaneShape, DEFAULT_NETWORK } from '#controlplanes/port.ts'

export const networkOf = ({ network }: Pick<Cluster['spec'], 'network'>): ControlPlaneShape['network'] => ({
  pods: network?.podCIDR ?? DEFAULT_NETWORK.pods,
  services: network?.serviceCIDR ?? DEFAULT_NETWORK.services,
  domain: network?.dnsDomain ?? DEFAULT_NETWORK.domain,
})
