// Whether counted deletions happened: from the caches for Machines and Nodes, by a read for the few others.
import { defenderLedger, LEDGER_NAME } from '#api/kinds/defender-ledger.ts'
import type { KubeClient } from '#kube/client.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import type { Caches } from '../caches.ts'
import type { Reserved } from '../ledger.ts'
import type { Presence, PresenceOf } from './reserved.ts'

const READ: Readonly<Record<string, ResourceType>> = {
  Namespace: coreKind('Namespace'),
  CustomResourceDefinition: coreKind('CustomResourceDefinition'),
}
/** Reads per review, so that it ends in time. The rest follows with the next review. */
const MOST_READS = 10

/** Also counts as deleted if another object has the name now. */
const presenceOf = (found: KubeObject | undefined, uid: string): Presence =>
  found?.metadata.uid === uid && found.metadata.deletionTimestamp === undefined ? 'There' : 'Deleted'

export async function presencesOf(
  client: Pick<KubeClient, 'get'>,
  caches: Pick<Caches, 'machines' | 'nodes'>,
  isKnown: boolean,
): Promise<PresenceOf> {
  const read = new Map<string, Presence>()
  const ledger = await client.get(defenderLedger, { name: LEDGER_NAME })
  for (const r of ledger?.spec.reserved ?? []) {
    const type = READ[r.kind]
    if (type === undefined || read.size >= MOST_READS) continue
    const found = await client.get(type, { name: r.name }).catch(() => 'Unknown' as const)
    read.set(r.uid, found === 'Unknown' ? 'Unknown' : presenceOf(found, r.uid))
  }
  return ({ kind, name, uid }: Pick<Reserved, 'kind' | 'name' | 'uid'>): Presence => {
    if (kind === 'Machine' || kind === 'Node') {
      if (!isKnown) return 'Unknown'
      const found = kind === 'Machine' ? caches.machines.get({ name }) : caches.nodes.get({ name })
      return presenceOf(found, uid)
    }
    return read.get(uid) ?? 'Unknown'
  }
}
