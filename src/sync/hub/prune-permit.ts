// Asks the hub's Defender before a mass deletion in a cluster. The permit's target is the Cluster, and nothing is deleted without a permit that was just
// read as Granted.
import type { Cluster } from '#api/kinds/cluster.ts'
import { cluster as clusterKind } from '#api/kinds/cluster.ts'
import { type OperationPermit, operationPermit } from '#api/kinds/operation-permit.ts'
import type { Release } from '#api/kinds/release.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { stagePart } from '#api/protocol/part.ts'
import { counted } from '#lib/counted.ts'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import { printableLine } from '#lib/printable.ts'
import type { KubeClient } from '#kube/client.ts'
import type { EndedPermits } from '#permits/ended-for.ts'
import { type Need, type NotGranted, type Pace, holdPermit, reportOf } from '#permits/holder.ts'
import { LEASES } from '#permits/leases.ts'
import { actOnPermit } from '#permits/permit-actions.ts'
import { type PermitTools, permitAnswer, requesterOf, targetRef } from '#permits/permits.ts'
import { byPermit, readingPermits, underPermit } from '#permits/under-permit.ts'
import type { PruneAnswer, PrunePermits } from '#delivery/deliver.ts'
import type { HeldPrune } from '#delivery/plan.ts'
import { sha256Hex } from '#lib/sha256.ts'

/** The next passes retry a failed deletion; these retries must not use up the rate limits. */
const AGAIN_MS = 300_000
const PACE: Pace = { usedMs: AGAIN_MS, refusedMs: AGAIN_MS, ownMs: AGAIN_MS, lapsedMs: AGAIN_MS }
/** Ended permits of one deletion that are read; the Defender deletes them after a day. */
const MOST_ENDED = 16
const NAME_DIGITS = 20
const MAX_SEEN = 200

interface Asking {
  /** Client of the hub. */
  readonly client: KubeClient
  readonly now: () => number
  readonly ended: EndedPermits
  readonly cluster: Cluster
  readonly release: Release
  readonly signal: AbortSignal
}

export function prunePermits({ client, now, ended, cluster, release, signal }: Asking): PrunePermits {
  const tools: PermitTools = { client, fieldManager: FIELD_MANAGERS.sync, signal }
  const { uid = '' } = cluster.metadata
  return {
    ask: async (held) => {
      try {
        const { own, next } = await readChain(tools, { cluster, release, held })
        if (next === undefined) return ALL_ENDED
        const requester = `prune/${uid}/${held.digest}`
        const endedFor = ended.observe(
          requester,
          own.filter((p) => permitAnswer(p, uid).kind === 'Ended'),
        )
        const need: Need = { permit: next, request: requestOf({ cluster, release, held }) }
        const holding = holdPermit(need, { own, endedFor }, PACE)
        if (holding.kind === 'Ask') {
          const outcome = await actOnPermit(tools, holding.action, now())
          if (outcome.kind === 'Denied' || outcome.kind === 'Unknown') throw outcome.error
        }
        if (holding.kind !== 'Granted') return waiting(holding, next)
        const { permit } = holding
        const by = byPermit(permit)
        const answer = await underPermit(
          readingPermits(client),
          { by, operations: OPERATIONS, target: uid, signal },
          async (clearance) => {
            return { kind: 'Granted', permit, clearance } as const
          },
        )
        return answer.kind === 'Granted' ? answer : { ...ENDED, permit: permit.metadata.name ?? '' }
      } catch (error) {
        return { kind: 'Waiting', seen: `cannot request a permit: ${messageOf(error)}`, unblock: READABLE }
      }
    },
    report: async (permit, isDone) => {
      // A permit without a report ends by its lease.
      for (const action of reportOf(permit, uid, isDone ? 'Succeeded' : 'Failed', 'the deletions were tried'))
        await actOnPermit(tools, action, now())
    },
  }
}

const OPERATIONS = ['MassPrune'] as const
const READABLE = "the hub's API server accepts OperationPermits of sync"
const ENDED = {
  kind: 'Waiting',
  seen: 'the permit ended a moment ago',
  unblock: 'the next pass requests another permit',
} as const
const ALL_ENDED: PruneAnswer = {
  kind: 'Waiting',
  seen: 'all permits for this deletion ended unused today',
  unblock: 'the oldest is deleted',
}

interface Deletion {
  readonly cluster: Cluster
  readonly release: Release
  readonly held: HeldPrune
}

/**
 * The permits of this deletion, as the server has them now, and the name of the next one; undefined when there were too many today. sync has no permit
 * cache: each name follows from the one before, so all permits are found by name.
 */
async function readChain(
  { client, signal }: PermitTools,
  { cluster, release, held }: Deletion,
): Promise<{ readonly own: readonly OperationPermit[]; readonly next: string | undefined }> {
  const { uid = '' } = cluster.metadata
  const own: OperationPermit[] = []
  let name = permitName(uid, release.metadata.uid ?? '', held.digest)
  while (own.length < MOST_ENDED) {
    const found = await client.get(operationPermit, { name }, defined({ signal }))
    if (found === undefined) return { own, next: name }
    own.push(found)
    if (permitAnswer(found, uid).kind !== 'Ended') return { own, next: name }
    name = permitName(uid, found.metadata.uid ?? '', held.digest)
  }
  return { own, next: undefined }
}

const permitName = (cluster: string, after: string, digest: string): string =>
  `prune-${sha256Hex(`${cluster}\n${after}\n${digest}`).slice(0, NAME_DIGITS)}`

const requestOf = ({ cluster, release, held }: Deletion): Need['request'] => ({
  operations: [...OPERATIONS],
  targets: [targetRef(clusterKind.kind, cluster)],
  requester: {
    ...requesterOf(FIELD_MANAGERS.sync, release.kind, release),
    ...partIn(release, cluster),
  },
  reason: printableLine(
    `delete ${counted(held.count, 'object')} from cluster ${cluster.metadata.name ?? ''}, the first is ${held.first}`,
  ),
  commit: release.spec.commit,
  leaseSeconds: LEASES.massPrune,
})

/** The cluster's stage, as the release last decided it. */
function partIn({ status }: Release, { metadata }: Cluster): { readonly part?: string } {
  const stage = status?.clusters?.find((c) => c.name === metadata.name)?.stage
  return stage === undefined ? {} : { part: stagePart(stage) }
}

function waiting(held: NotGranted, next: string): PruneAnswer {
  const { seen, unblock } = held.wait
  const permit = held.kind === 'Ask' ? next : held.permit.metadata.name
  return { kind: 'Waiting', seen: seen.slice(0, MAX_SEEN), unblock, ...defined({ permit }) }
}
