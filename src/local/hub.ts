// What git cannot tell the hub: which repository to follow.
import { FIELD_MANAGERS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import type { KubeClient } from '#kube/client.ts'
import { BRANCH } from './repository.ts'
import type { Layout } from './layout.ts'

const how = { fieldManager: FIELD_MANAGERS.cli, force: true } as const
/** A commit in the local repository is seen within this time. */
const INTERVAL = '2s'

export async function declareHub(hub: KubeClient, layout: Layout): Promise<void> {
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
