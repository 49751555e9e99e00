// What git cannot tell the hub: how to reach each cluster, and which repository to follow.
import { readFileSync } from 'node:fs'
import { CLUSTERS_NAMESPACE, FIELD_MANAGERS, kubeconfigSecretName, SYSTEM_NAMESPACE } from '#api/names.ts'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { BRANCH } from './repository.ts'
import type { Layout } from './layout.ts'

const secrets = coreKind('Secret')

const KUBECONFIG_KEY = 'kubeconfig'

const how = { fieldManager: FIELD_MANAGERS.cli, force: true } as const
/** A commit in the local repository is seen within this time. */
const INTERVAL = '2s'

export async function declareHub(
  hub: KubeClient,
  layout: Layout,
  clusters: readonly string[],
  kubeconfigOf: (cluster: string) => string,
): Promise<void> {
  for (const name of clusters) {
    await hub.apply(
      secrets,
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: kubeconfigSecretName(name), namespace: CLUSTERS_NAMESPACE },
        data: { [KUBECONFIG_KEY]: readFileSync(kubeconfigOf(name)).toString('base64') },
      },
      how,
    )
  }
  await hub.apply(
    fleetSource,
    {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'FleetSource',
      metadata: { name: 'fleet', namespace: SYSTEM_NAMESPACE },
      spec: {
        url: `file://${layout.repository}`,
        ref: { branch: BRANCH },
        interval: INTERVAL,
        verify: { mode: 'Off' },
        tracks: [{ name: 'fleet', pipelineRef: { name: 'standard' } }],
      },
    },
    how,
  )
}
