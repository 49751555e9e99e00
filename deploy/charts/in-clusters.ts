// What a hub deploys into a Cluster whose programs run in it: the workloads of `kubenode install`, in one ConfigMap that role cluster reads. Nothing of the hub's
// own settings that a Cluster's administrator must not read is in there: no provider, no Secret, no address that only the hub calls.
import { App, Chart } from 'cdk8s'
import { k8s } from 'cdk8s-plus-27'
import type { Construct } from 'constructs'
import { CLUSTER_PROGRAMS, IN_CLUSTER, SYSTEM_NAMESPACE } from '#api/names.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { defined } from '#lib/defined.ts'
import { asServersWrite } from './as-servers-write.ts'
import { commonLabels } from './labels.ts'
import { clusterArtifactsOf, IN_CLUSTERS_FILE } from './programs.ts'
import { readSettings, type InstallSettings } from './settings.ts'
import { WorkloadsChart } from './workloads.ts'

export class InClustersChart extends Chart {
  constructor(scope: Construct, settings: InstallSettings) {
    super(scope, 'in-clusters', { disableResourceNameHashes: true })
    if (!settings.roles.includes('hub') || settings.clusterPrograms === undefined) return
    new k8s.KubeConfigMap(this, 'objects', {
      metadata: { name: CLUSTER_PROGRAMS, namespace: SYSTEM_NAMESPACE, labels: commonLabels(settings.version) },
      data: { [IN_CLUSTERS_FILE]: `${JSON.stringify(inClusterObjects(settings))}\n` },
    })
  }
}

/** Kinds, namespaces, accounts, roles and policies are addons of every Cluster and not among them. */
export function inClusterObjects(settings: InstallSettings): readonly KubeObject[] {
  const own = ofClusters(settings)
  return own === undefined
    ? []
    : (new WorkloadsChart(new App(), own).toJson() as readonly KubeObject[]).map(asServersWrite)
}

/** Named one by one: a setting that is added to the hub's stays on the hub until it is named here. */
function ofClusters(settings: InstallSettings): InstallSettings | undefined {
  const { version, image, registry, imagePullSecrets, resources, agents, certificateLife, trust, logLevel } = settings
  const { clusterPrograms } = settings
  if (clusterPrograms === undefined) return undefined
  const read = readSettings({ cluster: 'c', roles: ['hub'], version, image })
  if (read.kind !== 'Value') throw new Error('the defaults of the settings are valid')
  return {
    ...read.value,
    ...(registry !== undefined && { registry }),
    imagePullSecrets,
    resources,
    agents,
    ...(certificateLife !== undefined && { certificateLife }),
    ...(trust !== undefined && { trust }),
    logLevel,
    clusterPrograms: { ...clusterPrograms, ...defined({ artifacts: artifactsIn(settings) }) },
    roles: ['business'],
    cluster: IN_CLUSTER.name,
    replicas: clusterPrograms.inClusters.replicas,
    apiServer: { url: IN_CLUSTER.server },
    // API servers of Clusters do not reach pods of their own cluster.
    webhook: { enabled: false },
    // Where an API server of a Cluster is reached, no policy of the hub knows.
    networkPolicies: { ...read.value.networkPolicies, enabled: false },
  }
}

/** The authority of the hub's own servers is not known here: role cluster, which has it, puts it in. */
function artifactsIn(settings: InstallSettings): NonNullable<InstallSettings['clusterPrograms']>['artifacts'] {
  const from = clusterArtifactsOf(settings)
  if (from?.authority !== 'Own') return settings.clusterPrograms?.artifacts
  const { base, joinScript } = from
  return { base, ca: IN_CLUSTER.artifactsAuthority, ...(joinScript !== undefined && { joinScript }) }
}
