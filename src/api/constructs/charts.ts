// The two types of charts in a fleet: for the hub, and for one cluster. Every object has a label for it.
import { Chart } from 'cdk8s'
import type { Construct } from 'constructs'
import { KubeNodeError } from '#lib/errors.ts'
import { apiErrors } from '../api-errors.ts'
import { HUB_TARGET } from '../names.ts'

/** On every object of a cluster chart: its Cluster's name. Objects without it belong to the hub. */
export const CLUSTER_LABEL = 'kubenode.io/cluster'

/** The default namespace of hub objects. */
export const FLEET_NAMESPACE = 'fleet'

export class HubChart extends Chart {
  constructor(scope: Construct, id = 'hub', { namespace = FLEET_NAMESPACE }: { readonly namespace?: string } = {}) {
    super(scope, id, { namespace })
  }
}

/** A label value that is also a valid Cluster name. */
const CLUSTER_NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/

export class ClusterChart extends Chart {
  readonly cluster: string

  constructor(scope: Construct, cluster: string) {
    if (!CLUSTER_NAME.test(cluster))
      throw new KubeNodeError(apiErrors.KN3097_chart({ cluster: JSON.stringify(cluster) }))
    if (cluster === HUB_TARGET) throw new KubeNodeError(apiErrors.KN3097_hub({ cluster }))
    super(scope, `cluster-${cluster}`, { labels: { [CLUSTER_LABEL]: cluster } })
    this.cluster = cluster
  }
}
