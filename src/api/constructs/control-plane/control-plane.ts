// All objects of one control plane on the hub, in its own namespace. A pure function of its settings; the owner of the keys fills the Secrets.
import { plainObject } from '#api/schema/object-meta.ts'
import { k8s } from 'cdk8s-plus-27'
import type { KubeObject } from '../../schema/object.ts'
import { apiserverObjects } from './apiserver.ts'
import { etcdObjects } from './etcd.ts'
import { commonLabels } from './labels.ts'
import { managerObjects } from './managers.ts'
import { networkObjects } from './network.ts'
import { PARTS, type ControlPlaneSettings } from './settings.ts'

/** Room for a complete replacement at once, and for the Jobs that take and open snapshots. */
const SPARE_PODS = 4

export function controlPlaneObjects(settings: ControlPlaneSettings): readonly KubeObject[] {
  return [
    namespaceOf(settings),
    quotaOf(settings),
    ...networkObjects(settings),
    ...etcdObjects(settings),
    ...apiserverObjects(settings),
    ...managerObjects(settings),
  ].map(plainObject)
}

const namespaceOf = (settings: ControlPlaneSettings): object =>
  k8s.KubeNamespace.manifest({
    metadata: {
      name: settings.namespace,
      labels: {
        ...commonLabels(settings),
        ...Object.fromEntries(
          ['enforce', 'audit', 'warn'].map((mode) => [`pod-security.kubernetes.io/${mode}`, 'restricted']),
        ),
      },
    },
  })

/** The quota is the control plane's maximum need, so that a fault here cannot exhaust the hub. */
function quotaOf(settings: ControlPlaneSettings): object {
  const { replicas, etcd, endpoint, namespace } = settings
  const pods = 2 * (etcd.members + (PARTS.length - 1) * (replicas + 1)) + SPARE_PODS
  const hard = {
    pods: pods,
    persistentvolumeclaims: etcd.members + 1,
    'services.loadbalancers': endpoint.type === 'LoadBalancer' ? 1 : 0,
    'services.nodeports': endpoint.type === 'ClusterIP' ? 0 : 1,
  }
  return k8s.KubeResourceQuota.manifest({
    metadata: { name: 'control-plane', namespace, labels: commonLabels(settings) },
    spec: {
      hard: Object.fromEntries(Object.entries(hard).map(([what, most]) => [what, k8s.Quantity.fromNumber(most)])),
    },
  })
}
