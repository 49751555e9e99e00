// Sync's connection to one cluster: its client, and the discovered kinds.
import type { KubeClient } from '#kube/client.ts'
import { ResourceTypes } from './resource-types.ts'

export interface ClusterConnection {
  readonly name: string
  /** For the objects of a source. Acts as that source if it has its own identity. */
  readonly client: KubeClient
  /** Sync itself: for Inventories and for safety-related reads, whatever the source may read. */
  readonly program: KubeClient
  readonly types: ResourceTypes
}

export const connectTo = (
  name: string,
  program: KubeClient,
  now: () => number,
  client: KubeClient = program,
): ClusterConnection => ({ name, client, program, types: new ResourceTypes(client, now) })
