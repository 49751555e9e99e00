// Sets the one thing on the hub that git cannot: which repository to follow.
import { pathToFileURL } from 'node:url'
import { FIELD_MANAGERS, SYSTEM_NAMESPACE } from '#api/names.ts'
import { fleetSource } from '#api/kinds/fleet-source.ts'
import type { KubeClient } from '#kube/client.ts'
import { DEMO_BRANCH } from './demo-repository.ts'
import type { Layout } from './layout.ts'

const how = { fieldManager: FIELD_MANAGERS.cli, force: true } as const
/** Sync notices a commit in the local repository within this time. */
const INTERVAL = '2s'

export async function declareHub(hub: KubeClient, { repository, follows }: Layout, commit: string): Promise<void> {
  const branch = follows === undefined ? DEMO_BRANCH : follows.branch
  await hub.apply(
    fleetSource,
    {
      apiVersion: 'kubenode.io/v1alpha1',
      kind: 'FleetSource',
      metadata: { name: 'fleet', namespace: SYSTEM_NAMESPACE },
      spec: {
        url: pathToFileURL(repository).href,
        // Without a branch, as in a CI checkout of a pull request, there is no next commit.
        ref: branch === undefined ? { commit } : { branch },
        path: follows?.path ?? '.',
        interval: INTERVAL,
        verify: { mode: 'Off' },
        tracks: [{ name: 'fleet', pipelineRef: { name: 'standard' } }],
      },
    },
    how,
  )
}
