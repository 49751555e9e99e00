// Decides one deletion, by others or by our own programs. It passes under a permit for this exact object, or while its kind is within its limits in
// every window. It is counted in the same ledger as our own disruptions. Pure; a passed deletion counts only once the ledger was swapped.
import { timeOfDay } from '#lib/clock.ts'
import type { LedgerSpec } from '#api/kinds/defender-ledger.ts'
import { HOLD_TARGETS, type OperationalHold } from '#api/kinds/operational-hold.ts'
import { shortWord } from '#api/nouns.ts'
import { disruptionFacts } from '#api/protocol/operations.ts'
import { holdOf } from '#permits/holds/in-force.ts'
import { holdsOver } from '#permits/holds/reach.ts'
import { isUnprotected } from '#permits/holds/unprotected.ts'
import { grantsOf, WorkingLedger } from '../ledger.ts'
import { type Series, seriesName } from '../rates.ts'
import {
  type CountedKind,
  GUARDED_KINDS,
  type DeletionLimit,
  type GuardedKind,
  type HeldKind,
} from './guarded-kinds.ts'
import { type PresenceOf, reserve, settleReserved } from './reserved.ts'
import { defined } from '#lib/defined.ts'

export interface DeletionSeen {
  readonly guarded: GuardedKind
  readonly name: string
  readonly namespace: string
  /** '' if the review does not contain it. */
  readonly uid: string
  /** UIDs under which the Defender may have granted this deletion: the object's own and, for a Node, that of its Machine. */
  readonly grantedAs: readonly string[]
  /** It was already decided: a Node whose Machine is being deleted, or an object of an approved prune. */
  readonly follows: boolean
  /** Our controllers remove something that does not serve, which disrupts nothing. */
  readonly costsNothing: boolean
  /** Whether earlier counted deletions happened. */
  readonly presenceOf: PresenceOf
  /** Its deletion has already started: another request deletes nothing more. */
  readonly isEnding: boolean
  /** How many exist. 0 if unknown, which allows only as many deletions as a user does by hand. */
  readonly present: number
  readonly holds: readonly OperationalHold[]
  readonly ledger: LedgerSpec | undefined
  /** The Defender's time, and the wall clock that holds use. */
  readonly now: number
  readonly wall: number
  readonly leader: string
}

export type DeletionVerdict =
  /** `ledger` must be swapped in first. Undefined if there is nothing to count. */
  | { readonly kind: 'Passes'; readonly ledger: LedgerSpec | undefined }
  | { readonly kind: 'Held'; readonly why: string; readonly retryAfterMs?: number }

const GUARD = 'guard'

const seriesOf = ({ kind }: GuardedKind, { window }: DeletionLimit): Series => ({
  policy: seriesName(`${GUARD}/${kind}`, window, 'cluster'),
  window,
  per: 'cluster',
  domain: '',
})

const limitOf = ({ share, least }: DeletionLimit, present: number): number =>
  Math.max(least, Math.floor(share * present))

const LIFT = 'to lift the guard for ten minutes, run kubenode unprotect --reason WHY'

export function planDeletion(seen: DeletionSeen): DeletionVerdict {
  const { guarded, name, holds, wall } = seen
  if (seen.isEnding || seen.follows || isGranted(seen)) return { kind: 'Passes', ledger: undefined }
  // Only holds on the cluster apply to deletions by others. If a hold names the cluster as the hub does, its Freeze counts and its Unprotect does
  // not.
  const cluster = { name: undefined }
  const inForce = holdsOver(holds, { effects: ['Freeze', 'Unprotect'], targets: [], cluster, now: wall })
  const freeze = holdOf(inForce, 'Freeze')
  if (freeze !== undefined) {
    const { reason, author, until } = freeze.spec
    const why = `the cluster is frozen until ${until} by ${author}: ${reason}; to continue, run kubenode thaw`
    return { kind: 'Held', why }
  }
  const isLifted = inForce.some((h) => h.spec.effect === 'Unprotect')
  if (!isLifted && guarded.never?.includes(name) === true)
    return { kind: 'Held', why: `${guarded.kind} ${name} keeps the cluster alive; ${LIFT}` }
  if (guarded.needsHold !== undefined) return planDeclared(guarded, seen, isLifted)
  if (seen.costsNothing) return { kind: 'Passes', ledger: undefined }
  if (seen.ledger === undefined)
    return { kind: 'Held', why: 'the Defender is still starting; try again', retryAfterMs: 1_000 }
  return counted(guarded, seen, isLifted)
}

function planDeclared(
  { kind, needsHold }: HeldKind,
  { name, namespace, holds, wall }: DeletionSeen,
  isLifted: boolean,
): DeletionVerdict {
  if ((isLifted && needsHold === 'Any') || isUnprotected(holds, { kind, name, namespace }, wall))
    return { kind: 'Passes', ledger: undefined }
  const why =
    kind === 'FleetSource'
      ? `without FleetSource ${name} no commit reaches its clusters`
      : `git declares ${kind} ${name}; to delete it, remove it from git`
  const what = (HOLD_TARGETS as readonly string[]).includes(kind)
    ? ` ${shortWord(`${kind.toLowerCase()}/${name}`)}`
    : ''
  return { kind: 'Held', why: `${why}; to delete it by hand, first run kubenode unprotect${what} --reason WHY` }
}

/** From the ledger, which has what the Defender granted, whatever a permit contains. Such a deletion was counted when it was granted. */
const isGranted = ({ ledger, grantedAs }: DeletionSeen): boolean =>
  grantsOf(ledger).some(
    (g) =>
      g.state === 'Held' && grantedAs.includes(g.target) && g.operations.some((o) => disruptionFacts(o).deletesTarget),
  )

const allSeries = (kind: string): readonly Series[] =>
  GUARDED_KINDS.filter((k) => k.kind === kind).flatMap((k) => k.limits.map((l) => seriesOf(k, l)))

/** A lifted limit still counts, because later deletions must be measured against it. */
function counted(
  guarded: CountedKind,
  { name, uid, presenceOf, present, ledger: before, now, wall, leader }: DeletionSeen,
  isLifted: boolean,
): DeletionVerdict {
  const ledger = new WorkingLedger(before, now)
  settleReserved(ledger, presenceOf, allSeries)
  // Counted just before, and reviewed again because of a retry or a second API server.
  if (ledger.reserved.some((r) => r.uid === uid)) return { kind: 'Passes', ledger: undefined }
  for (const limit of guarded.limits) {
    const series = seriesOf(guarded, limit)
    const seen = ledger.rates.count(series)
    const most = limitOf(limit, present)
    if (seen + 1 <= most || isLifted) continue
    const retryAfterMs = ledger.rates.freesIn(series, most)
    const next = retryAfterMs === undefined ? '' : `wait until ${timeOfDay(wall + retryAfterMs, wall)}, or `
    const why = `${seen} of kind ${guarded.kind} were deleted in ${limit.window}, the limit is ${most}; ${next}${LIFT}`
    return { kind: 'Held', why, ...defined({ retryAfterMs }) }
  }
  if (!ledger.countOnly(guarded.limits.map((l) => seriesOf(guarded, l))))
    return { kind: 'Held', why: 'the ledger is full; try again in a minute', retryAfterMs: 60_000 }
  if (uid !== '') reserve(ledger, { kind: guarded.kind, name, uid })
  return { kind: 'Passes', ledger: ledger.next(leader) }
}
