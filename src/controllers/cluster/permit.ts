// The permit of the Defender for one change of a control plane: which one counts now, and whether another is requested. Pure.
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { ANNOTATIONS, FIELD_MANAGERS } from '#api/names.ts'
import type { Reason } from '#api/catalogue.ts'
import { freePermitName } from '#permits/free-name.ts'
import { permitWait } from '#permits/permit-wait.ts'
import { endedForMs } from '#permits/ended-for.ts'
import { isRenewalDue, permitAnswer } from '#permits/permits.ts'
import type { Wait } from '#runtime/waiting.ts'
import type { ClusterAction } from './actions.ts'
import type { Seen } from './seen.ts'
import { defined } from '#lib/defined.ts'

/** Longer than a snapshot and a restart take. */
const LEASE_SECONDS = 600
/** After a permit that ended unused another one is requested. */
const AGAIN_MS = 60_000
/** Names of objects are at most 253 characters. */
const MOST_NAME_CHARS = 100

export type PermitStep =
  | { readonly kind: 'Granted'; readonly permit: OperationPermit; readonly actions: readonly ClusterAction[] }
  | {
      readonly kind: 'Waiting'
      readonly actions: readonly ClusterAction[]
      readonly wait: Wait<Reason>
      readonly afterMs?: number
    }

const CHANGES = ['ChangeControlPlane'] as const
/** A deletion counts in what a policy says of all changes, and in what it says of deletions alone. */
export const DELETES = ['ChangeControlPlane', 'DeleteControlPlane'] as const

/** `what` is the change, in the words of a name: another change is another permit. */
export function permitFor(
  { cluster, permits, endedFor }: Seen,
  what: string,
  reason: string,
  now: number,
  operations: typeof CHANGES | typeof DELETES = CHANGES,
): PermitStep {
  const { name = '', namespace, uid = '', annotations } = cluster.metadata
  const base = `cluster-${name.slice(0, MOST_NAME_CHARS)}-${uid.slice(0, 8)}-${what.replaceAll('.', '-').replaceAll('/', '-')}`
  const own = permits.filter((p) => (p.metadata.name ?? '').startsWith(`${base}-b`))
  const open = own.find((p) => permitAnswer(p, uid).kind !== 'Ended')
  if (open !== undefined) {
    const renewal: readonly ClusterAction[] = isRenewalDue(open, now)
      ? [{ kind: 'Renew', reason: 'the change is not done yet', permit: open }]
      : []
    return permitAnswer(open, uid).kind === 'Granted'
      ? { kind: 'Granted', permit: open, actions: renewal }
      : { kind: 'Waiting', actions: renewal, wait: permitWait(open, uid) }
  }
  const [last] = own.toSorted((a, b) => endOf(b) - endOf(a))
  const isUnused = last !== undefined && !Object.hasOwn(last.spec.results ?? {}, uid)
  const leftMs = isUnused ? AGAIN_MS - endedForMs(last, endedFor) : 0
  if (isUnused && leftMs > 0) {
    const wait = { ...permitWait(last, uid), predicate: 'PermitDenied' as const }
    return { kind: 'Waiting', actions: [], wait, afterMs: leftMs }
  }
  const target = { kind: 'Cluster' as const, name, uid, ...defined({ namespace }) }
  const commit = annotations?.[ANNOTATIONS.commit]
  const request = {
    operations: [...operations],
    targets: [target],
    requester: {
      manager: FIELD_MANAGERS.cluster,
      kind: cluster.kind,
      name,
      uid,
      ...defined({ namespace }),
    },
    reason,
    ...defined({ commit }),
    leaseSeconds: LEASE_SECONDS,
  }
  return {
    kind: 'Waiting',
    actions: [{ kind: 'Ask', reason, permit: freePermitName(`${base}-b`, own), request }],
    wait: {
      predicate: 'PermitRequested',
      seen: 'the Defender has not decided yet',
      unblock: 'the Defender grants the permit',
    },
  }
}

const endOf = ({ status, metadata }: OperationPermit): number =>
  Date.parse(status?.decidedAt ?? metadata.creationTimestamp ?? '') || 0
