// One cluster as sync reaches it: its client, and what was learnt about its kinds.
import type { KubeClient } from '#kube/client.ts'
import { ResourceTypes } from './resource-types.ts'

export interface ClusterConnection {
  readonly name: string
  /** For the objects of a source: acts as that source where it has an identity of its own. */
  readonly client: KubeClient
  /** Sync itself: for Inventories and for readings that keep others safe, whatever the source may read. */
  readonly program: KubeClient
  readonly types: ResourceTypes
}

export const connectTo = (
  name: string,
  program: KubeClient,
  now: () => number,
  client: KubeClient = program,
): ClusterConnection => ({ name, client, program, types: new ResourceTypes(client, now) })
