// Whether counted deletions happened: from the caches for Machines and Nodes, by a read for the few others.
import { defenderLedger, LEDGER_NAME } from '#api/kinds/defender-ledger.ts'
import type { KubeClient } from '#kube/client.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import type { Caches } from '../caches.ts'
import type { Reserved } from '../ledger.ts'
import type { Fate, FateOf } from './reserved.ts'

const READ: Readonly<Record<string, ResourceType>> = {
  Namespace: coreKind('Namespace'),
  CustomResourceDefinition: coreKind('CustomResourceDefinition'),
}
/** Reads per review, so that it ends in time. The rest follows with the next review. */
const MOST_READS = 10

/** Also counts as deleted if another object has the name now. */
const fateOf = (found: KubeObject | undefined, uid: string): Fate =>
  found?.metadata.uid === uid && found.metadata.deletionTimestamp === undefined ? 'There' : 'Deleted'

export async function fatesOf(
  client: Pick<KubeClient, 'get'>,
  caches: Pick<Caches, 'machines' | 'nodes'>,
  isKnown: boolean,
): Promise<FateOf> {
  const read = new Map<string, Fate>()
  const ledger = await client.get(defenderLedger, { name: LEDGER_NAME })
  for (const r of ledger?.spec.reserved ?? []) {
    const type = READ[r.kind]
    if (type === undefined || read.size >= MOST_READS) continue
    const found = await client.get(type, { name: r.name }).catch(() => 'Unknown' as const)
    read.set(r.uid, found === 'Unknown' ? 'Unknown' : fateOf(found, r.uid))
  }
  return ({ kind, name, uid }: Pick<Reserved, 'kind' | 'name' | 'uid'>): Fate => {
    if (kind === 'Machine' || kind === 'Node') {
      if (!isKnown) return 'Unknown'
      const found = kind === 'Machine' ? caches.machines.get({ name }) : caches.nodes.get({ name })
      return fateOf(found, uid)
    }
    return read.get(uid) ?? 'Unknown'
  }
}
