// Finds objects that definitely do not exist: they are not in the caches, and the server confirms it by name. A cache alone may be stale or
// incomplete.
import { cluster } from '#api/kinds/cluster.ts'
import { machine } from '#api/kinds/machine.ts'
import { operationPermit } from '#api/kinds/operation-permit.ts'
import type { KubeClient } from '#kube/client.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { nodeType } from './caches.ts'
import type { FleetView, Target } from './fleet.ts'
import type { Grant } from './ledger.ts'
import { defined } from '#lib/defined.ts'

/** Lookups per cycle. The rest waits for the next cycle. */
const MOST_LOOKUPS = 100
const AT_ONCE = 8

interface Suspect {
  readonly uid: string
  readonly type: ResourceType
  readonly namespace?: string | undefined
  readonly name: string
}

const TYPES: Readonly<Record<Target['kind'], ResourceType>> = {
  Machine: machine,
  Node: nodeType,
  Cluster: cluster,
}

export class DeletedWatch {
  readonly #client: KubeClient
  readonly permits = new Set<string>()
  readonly targets = new Set<string>()

  constructor(client: KubeClient) {
    this.#client = client
  }

  /** A UID is never reused, so a result is kept as long as anything refers to it. */
  async observe(
    grants: readonly Grant[],
    asked: readonly Target[],
    isKnown: (permitUid: string) => boolean,
    fleet: FleetView,
  ): Promise<void> {
    const missingPermits = grants
      .filter((g) => !isKnown(g.permitUid))
      .map((g): Suspect => ({ uid: g.permitUid, type: operationPermit as unknown as ResourceType, name: g.permit }))
    const targets = [...grants.map((g): Target => ({ ...g, uid: g.target })), ...asked]
    const missingTargets = targets
      .filter((t) => fleet.find(t).kind !== 'Found')
      .map((t): Suspect => ({ uid: t.uid, type: TYPES[t.kind], namespace: t.namespace, name: t.name }))
    await this.#update(this.permits, missingPermits)
    await this.#update(this.targets, missingTargets)
  }

  async #update(deleted: Set<string>, suspects: readonly Suspect[]): Promise<void> {
    const byUid = new Map(suspects.map((s) => [s.uid, s]))
    for (const uid of deleted) if (!byUid.has(uid)) deleted.delete(uid)
    const open = [...byUid.values()].filter((s) => !deleted.has(s.uid)).slice(0, MOST_LOOKUPS)
    for (let i = 0; i < open.length; i += AT_ONCE)
      await Promise.all(
        open.slice(i, i + AT_ONCE).map(async (s) => ((await this.#isDeleted(s)) ? deleted.add(s.uid) : undefined)),
      )
  }

  /** A missing answer does not prove a deletion. */
  async #isDeleted({ type, namespace, name, uid }: Suspect): Promise<boolean> {
    try {
      const object = await this.#client.get(type, { name, ...defined({ namespace }) })
      return object === undefined || object.metadata.uid !== uid
    } catch {
      return false
    }
  }
}
