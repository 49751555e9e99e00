// The two sorts of charts of a fleet: what belongs on the hub, and what belongs on one cluster. The label says it on every object.
import { Chart } from 'cdk8s'
import type { Construct } from 'constructs'
import { KubeNodeError } from '#lib/errors.ts'
import { apiErrors } from '../api-errors.ts'
import { HUB_TARGET } from '../names.ts'

/** On every object of a cluster chart: the name of the Cluster it is for. Objects without it belong on the hub. */
export const CLUSTER_LABEL = 'kubenode.io/cluster'

/** Where objects of the hub live unless they say otherwise. */
export const FLEET_NAMESPACE = 'fleet'

export class HubChart extends Chart {
  constructor(scope: Construct, id = 'hub', { namespace = FLEET_NAMESPACE }: { readonly namespace?: string } = {}) {
    super(scope, id, { namespace })
  }
}

/** A label value that is also the name of a Cluster. */
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
