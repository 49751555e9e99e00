// A client as a leader has it: it refuses to delete an object without its identity.
import type { KubeClient } from '#kube/client.ts'
import { fencedClient } from '#runtime/fenced-client.ts'

export const asLeader = (client: KubeClient): KubeClient =>
  fencedClient(client, { isLeader: () => true, term: 1, signal: new AbortController().signal })
