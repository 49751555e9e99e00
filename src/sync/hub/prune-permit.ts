// Asks the hub's Defender before a mass deletion in a cluster: its target is the Cluster, and nothing is deleted without a permit that was read as Granted right before.
import { createHash } from 'node:crypto'
import { API_GROUP_VERSION } from '#api/kind.ts'
import type { Cluster } from '#api/kinds/cluster.ts'
import { cluster as clusterKind } from '#api/kinds/cluster.ts'
import { type OperationPermit, operationPermit } from '#api/kinds/operation-permit.ts'
import type { Release } from '#api/kinds/release.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { counted } from '#lib/counted.ts'
import { defined } from '#lib/defined.ts'
import { messageOf } from '#lib/errors.ts'
import { printableLine } from '#lib/printable.ts'
import type { KubeClient } from '#kube/client.ts'
import { permitWait } from '#permits/permit-wait.ts'
import { type PermitTools, permitAnswer, reportResults, requestPermit } from '#permits/permits.ts'
import type { PruneAnswer, PrunePermits } from '#delivery/deliver.ts'
import type { HeldPrune } from '#delivery/plan.ts'

/** Longer than a pass over a cluster may take. */
const LEASE_SECONDS = 600
/** After a permit that ended unused another one is requested. */
const AGAIN_MS = 300_000
/** Ended permits of one deletion that are walked through; the Defender deletes them after a day. */
const MOST_ENDED = 16
const NAME_DIGITS = 20
const MAX_SEEN = 200

interface Asking {
  /** Of the hub. */
  readonly client: KubeClient
  readonly now: () => number
  readonly cluster: Cluster
  readonly release: Release
  readonly signal: AbortSignal
}

export function prunePermits({ client, now, cluster, release, signal }: Asking): PrunePermits {
  const tools: PermitTools = { client, fieldManager: FIELD_MANAGERS.sync, signal }
  const { uid = '' } = cluster.metadata
  return {
    ask: async (held) => {
      try {
        return answerOf(await current(tools, { cluster, release, held, now: now() }), uid)
      } catch (error) {
        return { kind: 'Waiting', seen: `cannot request a permit: ${messageOf(error)}`, unblock: READABLE }
      }
    },
    report: async (permit, isDone) => {
      // One that is not reported ends by its lease.
      await reportResults(tools, permit, { [uid]: isDone ? 'Succeeded' : 'Failed' })
    },
  }
}

const READABLE = "the hub's API server accepts OperationPermits of sync"

interface Deletion {
  readonly cluster: Cluster
  readonly release: Release
  readonly held: HeldPrune
  readonly now: number
}

/** The permit that counts now: requested if there is none, or if all before it ended. */
async function current(tools: PermitTools, deletion: Deletion): Promise<OperationPermit | undefined> {
  const { cluster, release, held, now } = deletion
  const { uid = '' } = cluster.metadata
  let name = permitName(uid, release.metadata.uid ?? '', held.digest)
  for (let ended = 0; ended < MOST_ENDED; ended++) {
    const found = await tools.client.get(operationPermit, { name }, tools.signal && { signal: tools.signal })
    if (found === undefined) {
      const outcome = await requestPermit(tools, name, requestOf(deletion))
      if (outcome.kind === 'Denied' || outcome.kind === 'Unknown') throw outcome.error
      // Of another reconcile a moment ago: the next pass reads it.
      return outcome.kind === 'Applied' ? outcome.object : unread(name, deletion)
    }
    if (permitAnswer(found, uid).kind !== 'Ended' || now - endOf(found) < AGAIN_MS) return found
    name = permitName(uid, found.metadata.uid ?? '', held.digest)
  }
  return undefined
}

/** As it was requested, and not decided. */
const unread = (name: string, deletion: Deletion): OperationPermit =>
  ({
    apiVersion: API_GROUP_VERSION,
    kind: operationPermit.kind,
    metadata: { name },
    spec: requestOf(deletion),
  }) as unknown as OperationPermit

/** A permit that was used and reported has no end yet while the Defender has not written it: then it counts as ended now. */
const endOf = ({ status }: OperationPermit): number =>
  Date.parse(status?.endedAt ?? status?.decidedAt ?? '') || Number.POSITIVE_INFINITY

const permitName = (cluster: string, after: string, digest: string): string =>
  `prune-${createHash('sha256').update(`${cluster}\n${after}\n${digest}`).digest('hex').slice(0, NAME_DIGITS)}`

function requestOf({ cluster, release, held }: Deletion): Parameters<typeof requestPermit>[2] {
  const { name = '', namespace, uid = '' } = cluster.metadata
  const at = namespace === undefined ? {} : { namespace }
  const { name: releaseName, uid: releaseUid } = release.metadata
  return {
    operations: ['MassPrune'],
    targets: [{ kind: clusterKind.kind, ...at, name, uid }],
    requester: {
      manager: FIELD_MANAGERS.sync,
      kind: release.kind,
      ...defined({ namespace: release.metadata.namespace, name: releaseName, uid: releaseUid }),
    },
    reason: printableLine(`delete ${counted(held.count, 'object')} from cluster ${name}, the first is ${held.first}`),
    commit: release.spec.commit,
    leaseSeconds: LEASE_SECONDS,
  }
}

function answerOf(permit: OperationPermit | undefined, uid: string): PruneAnswer {
  if (permit === undefined)
    return {
      kind: 'Waiting',
      seen: 'all permits for this deletion ended unused today',
      unblock: 'the oldest is deleted',
    }
  const answer = permitAnswer(permit, uid)
  if (answer.kind === 'Granted') return { kind: 'Granted', permit }
  const name = permit.metadata.name ?? ''
  if (answer.kind !== 'Waiting')
    return { kind: 'Waiting', permit: name, seen: endedText(answer), unblock: 'sync requests another permit after 5m' }
  const { seen, unblock } = permitWait(permit, uid)
  return { kind: 'Waiting', permit: name, seen: seen.slice(0, MAX_SEEN), unblock }
}

const endedText = (answer: ReturnType<typeof permitAnswer>): string => ('seen' in answer ? answer.seen : 'not found')
