// Decides which Clusters one replica runs programs for. Pure. Every replica comes to the same answer from the same Leases, and none tells another what to do.
import { sha256Hex } from '#lib/sha256.ts'

export interface Replica {
  readonly name: string
  /** Clusters that it says it runs programs for. */
  readonly hosts: ReadonlySet<string>
}

export interface ShardSeen {
  readonly clusters: readonly string[]
  /** Those alive, this one included. */
  readonly replicas: readonly Replica[]
  readonly self: string
  /** Clusters that this replica runs programs for now. */
  readonly running: ReadonlySet<string>
}

/** The highest digest wins: when a replica comes or goes, only its own clusters move. */
export function ownerOf(cluster: string, replicas: readonly Replica[]): Replica | undefined {
  const ranked = replicas.map((replica) => ({ replica, rank: sha256Hex(`${replica.name}\n${cluster}`) }))
  return ranked.toSorted((a, b) => (a.rank < b.rank ? 1 : -1))[0]?.replica
}

/**
 * A cluster that moves to another replica is kept until that one runs it. For a moment both do: the Lease in the cluster decides which of them acts, and the
 * other one waits for it.
 */
export const planShard = ({ clusters, replicas, self, running }: ShardSeen): readonly string[] =>
  clusters.filter((cluster) => {
    const owner = ownerOf(cluster, replicas)
    if (owner === undefined || owner.name === self) return true
    return running.has(cluster) && !owner.hosts.has(cluster)
  })
