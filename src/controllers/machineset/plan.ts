// Decides which machines of a set are made, taken in, let go and removed. Pure. It removes what is in service only under a granted permit, and
// makes nothing while more machines exist than it asked for: a set that cannot count must not act.
import type { Machine } from '#api/kinds/machine.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import type { Reason } from '#api/catalogue.ts'
import { permitWait } from '#nodeops/permit-wait.ts'
import { isRenewalDue, permitAnswer } from '#nodeops/permits.ts'
import { counted } from '#lib/counted.ts'
import { matchesSelector } from '#kube/selector.ts'
import type { Notice, Plan } from '#runtime/reconcile-with.ts'
import { deleteOrder } from './delete-order.ts'
import {
  type Seen,
  aliveOf,
  isDeleting,
  isInService,
  isObserved,
  isOwned,
  isReady,
  isSilent,
  isZombie,
  nameOf,
  openPermit,
  ownerOf,
  permitsFor,
  readySinceMs,
  uidOf,
  understood,
} from './seen.ts'

export type MachineSetAction =
  | { readonly kind: 'Adopt'; readonly machine: Machine; readonly reason: string }
  | { readonly kind: 'Release'; readonly machine: Machine; readonly reason: string }
  | { readonly kind: 'Create'; readonly count: number; readonly reason: string }
  | { readonly kind: 'RequestPermit'; readonly machine: Machine; readonly permit: string; readonly reason: string }
  | { readonly kind: 'RenewPermit'; readonly permit: OperationPermit; readonly reason: string }
  | {
      readonly kind: 'ReportPermit'
      readonly permit: OperationPermit
      readonly target: string
      readonly result: 'Succeeded' | 'Released'
      readonly reason: string
    }
  | { readonly kind: 'Delete'; readonly machine: Machine; readonly permit?: string; readonly reason: string }
  /** Its host is gone: the record goes too, so that another machine is made. */
  | { readonly kind: 'Bury'; readonly machine: Machine; readonly reason: string }

export interface MachineSetPlan extends Plan<MachineSetAction> {
  /** What keeps the set from its replicas; the status tells. */
  readonly waiting?: Waiting
  readonly freeze?: Freeze
}

export interface Waiting {
  readonly predicate: 'PermitGranted' | 'PermitDenied' | 'WithinUnavailable' | 'NotHeld'
  readonly seen: string
  readonly unblock: string
  /** What the Defender's gate says, where that is more than that it was asked. */
  readonly because?: Reason
}

export interface Freeze {
  readonly reason: 'OvershootFreeze' | 'ZoneOutage' | 'HostsGone' | 'HoldPause' | 'HoldFreeze'
  readonly message: string
}

/** Machines made in one reconcile: the next one looks at the world again. */
const MOST_CREATES = 20
/** Removals asked for or done in one reconcile. */
const MOST_REMOVALS = 20
/** More silent ones than this share of a set are a network problem until proven otherwise. */
const OUTAGE_SHARE = 1 / 3
/** A machine counts as available after it has been Ready for so long. */
export const AVAILABLE_AFTER_MS = 10_000
/** While a permit is open it has to be renewed although nothing changes. */
const RENEWAL_LOOK_MS = 10_000

export function plan(seen: Seen, now: number): MachineSetPlan {
  const { set } = seen
  const read = understood(set)
  if (read.kind === 'Invalid' || set.metadata.deletionTimestamp !== undefined) return withPermits(seen, [], {}, now)
  if (seen.hold !== undefined) return withPermits(seen, [], held(seen.hold), now)
  const membership = seen.machines.flatMap((m): MachineSetAction[] => {
    const matches = matchesSelector(read.selector, m.metadata.labels)
    if (isOwned(m, set)) return matches ? [] : [{ kind: 'Release', machine: m, reason: 'its labels no longer match' }]
    const isFree = ownerOf(m) === undefined && !isDeleting(m) && !isObserved(m) && matches
    return isFree ? [{ kind: 'Adopt', machine: m, reason: 'it matches and has no owner' }] : []
  })
  // Counting waits until it is settled who belongs to the set.
  if (membership.length > 0) return withPermits(seen, membership, {}, now)
  const alive = aliveOf(seen)
  const zombies = alive.filter(isZombie)
  if (zombies.length > 0) return withPermits(seen, ...burial(alive, zombies), now)
  const missing = set.spec.replicas - alive.length
  if (missing > 0) return withPermits(seen, ...growth(seen, missing), now)
  if (missing < 0) return withPermits(seen, ...shrinkage(seen, alive, -missing), now)
  return withPermits(seen, [], {}, now)
}

type Extra = Pick<MachineSetPlan, 'waiting' | 'freeze'>

function held({ metadata, spec }: OperationalHold): Extra {
  const { effect, author, until, reason } = spec
  return {
    freeze: { reason: effect === 'Pause' ? 'HoldPause' : 'HoldFreeze', message: `${author} until ${until}: ${reason}` },
    waiting: {
      predicate: 'NotHeld',
      seen: `${effect} of ${author} until ${until}`,
      unblock: `the end of OperationalHold ${metadata.name ?? ''}`,
    },
  }
}

/** A provider that has forgotten a large share of its hosts at once is not believed. */
function burial(alive: readonly Machine[], zombies: readonly Machine[]): [MachineSetAction[], Extra] {
  if (isOutage(zombies.length, alive.length)) {
    const message = `the provider does not know ${zombies.length} of ${counted(alive.length, 'machine')} any more; none is replaced`
    return [[], { freeze: { reason: 'HostsGone', message } }]
  }
  const dead = zombies.slice(0, MOST_REMOVALS)
  return [dead.map((machine) => ({ kind: 'Bury', machine, reason: 'its host is gone' })), {}]
}

/** Two may happen by chance in any set; one alone is never more than itself. */
const isOutage = (count: number, of: number): boolean => count > 1 && count > of * OUTAGE_SHARE

function growth(seen: Seen, missing: number): [MachineSetAction[], Extra] {
  const { replicas } = seen.set.spec
  const total = seen.machines.filter((m) => isOwned(m, seen.set)).length
  const room = replicas + overshootOf(replicas) - total
  const count = Math.min(missing, MOST_CREATES, Math.max(0, room))
  const freeze: Extra =
    count < Math.min(missing, MOST_CREATES)
      ? {
          freeze: {
            reason: 'OvershootFreeze',
            message: `${counted(total, 'machine exists', 'machines exist')}, ${replicas} wanted; those on their way out have to go first`,
          },
        }
      : {}
  return [count === 0 ? [] : [{ kind: 'Create', count, reason: `${missing} of ${replicas} are missing` }], freeze]
}

/** Machines that may exist beyond the replicas because earlier ones are still going. */
const overshootOf = (replicas: number): number => Math.max(2, Math.ceil(replicas / 10))

function shrinkage(seen: Seen, alive: readonly Machine[], excess: number): [MachineSetAction[], Extra] {
  const silent = alive.filter(isSilent).length
  if (isOutage(silent, alive.length)) {
    const message = `${silent} of ${alive.length} machines are silent at once; nothing is removed until they are heard again`
    return [[], { freeze: { reason: 'ZoneOutage', message } }]
  }
  const chosen = deleteOrder(seen, alive).slice(0, Math.min(excess, MOST_REMOVALS))
  let spare = removable(seen, alive)
  const actions: MachineSetAction[] = []
  let waiting: Waiting | undefined
  for (const machine of chosen) {
    const step = removal(seen, machine, spare)
    if (step.kind === 'Waiting') {
      waiting ??= step.waiting
      continue
    }
    if (step.action.kind === 'Delete' && isReady(machine)) spare--
    if (step.action.kind === 'RequestPermit') waiting ??= asked(step.action.permit)
    actions.push(step.action)
  }
  return [actions, waiting === undefined ? {} : { waiting }]
}

const asked = (permit: string): Waiting => ({
  predicate: 'PermitGranted',
  seen: 'the Defender has not decided yet',
  unblock: `a grant of OperationPermit ${permit}`,
})

/** Ready machines that may go without taking the set below what maxUnavailable leaves it. */
export function removable({ set }: Seen, alive: readonly Machine[]): number {
  const { replicas, maxUnavailable } = set.spec
  return Math.max(0, alive.filter(isReady).length - Math.max(0, replicas - countOf(maxUnavailable, replicas)))
}

/** A percentage rounds down, but is at least one. */
const countOf = (value: number | string, of: number): number =>
  typeof value === 'number' ? value : Math.max(1, Math.floor((of * Number.parseInt(value, 10)) / 100))

type Removal =
  | { readonly kind: 'Act'; readonly action: MachineSetAction }
  | { readonly kind: 'Waiting'; readonly waiting: Waiting }

function removal(seen: Seen, machine: Machine, spare: number): Removal {
  const reason = `${aliveOf(seen).length} exist, ${seen.set.spec.replicas} are wanted`
  if (!isInService(machine)) return { kind: 'Act', action: { kind: 'Delete', machine, reason } }
  if (isReady(machine) && spare <= 0) {
    const unblock = 'machines of the set becoming Ready'
    return wait('WithinUnavailable', 'as many machines are unavailable as maxUnavailable allows', unblock)
  }
  const open = openPermit(seen, machine)
  const answer = permitAnswer(open, uidOf(machine))
  if (open !== undefined && answer.kind === 'Granted')
    return { kind: 'Act', action: { kind: 'Delete', machine, permit: nameOf(open), reason } }
  if (open !== undefined && answer.kind === 'Waiting')
    return wait('PermitGranted', answer.seen, `a grant of OperationPermit ${nameOf(open)}`, permitWait(open).predicate)
  const earlier = permitsOfGeneration(seen, machine)
  const denied = earlier.find((p) => p.status?.phase === 'Denied')
  if (denied !== undefined)
    return wait(
      'PermitDenied',
      `OperationPermit ${nameOf(denied)} was denied`,
      'a wider policy, then deleting that permit; or another number of replicas',
    )
  return {
    kind: 'Act',
    action: { kind: 'RequestPermit', machine, permit: permitName(seen, machine, earlier.length), reason },
  }
}

const wait = (predicate: Waiting['predicate'], what: string, unblock: string, because?: Reason): Removal => ({
  kind: 'Waiting',
  waiting: { predicate, seen: what, unblock, ...(because !== undefined && { because }) },
})

const prefixOf = (seen: Seen, machine: Machine): string =>
  `scalein-${nameOf(machine).slice(0, 200)}-${uidOf(seen.set).slice(0, 8)}-${seen.set.metadata.generation ?? 0}-`

/** What was asked for this machine since the spec last changed. */
const permitsOfGeneration = (seen: Seen, machine: Machine): readonly OperationPermit[] =>
  permitsFor(seen, machine).filter((p) => nameOf(p).startsWith(prefixOf(seen, machine)))

const permitName = (seen: Seen, machine: Machine, tries: number): string => `${prefixOf(seen, machine)}${tries}`

/** Open permits are renewed while their machine goes, ended when it is gone, and given back when it may stay. */
function withPermits(seen: Seen, actions: readonly MachineSetAction[], extra: Extra, now: number): MachineSetPlan {
  const mine = new Map(seen.machines.map((m) => [uidOf(m), m]))
  const wanted = new Set(
    actions.map((a) => (a.kind === 'Delete' || a.kind === 'RequestPermit' ? uidOf(a.machine) : '')),
  )
  const isShrinking = aliveOf(seen).length > seen.set.spec.replicas
  const upkeep = seen.permits.flatMap((permit): MachineSetAction[] => {
    const [target] = permit.spec.targets
    if (target === undefined) return []
    const answer = permitAnswer(permit, target.uid)
    if (answer.kind !== 'Granted' && answer.kind !== 'Waiting') return []
    const machine = mine.get(target.uid)
    if (machine === undefined)
      return [{ kind: 'ReportPermit', permit, target: target.uid, result: 'Succeeded', reason: 'the machine is gone' }]
    const mayStay = !isDeleting(machine) && !wanted.has(target.uid) && !isShrinking
    if (mayStay)
      return [{ kind: 'ReportPermit', permit, target: target.uid, result: 'Released', reason: 'the machine may stay' }]
    return isRenewalDue(permit, now) ? [{ kind: 'RenewPermit', permit, reason: 'its machine is still going' }] : []
  })
  const all = [...actions, ...upkeep]
  const hasOpen = seen.permits.some((p) => p.status?.phase === 'Granted')
  const { hold } = seen
  const looks = [
    ...(hold === undefined ? [] : [Math.max(1_000, Date.parse(hold.spec.until) - now)]),
    ...(hasOpen ? [RENEWAL_LOOK_MS] : []),
    ...untilAvailable(seen, now),
  ]
  return {
    actions: all,
    notices: all.flatMap(noticeOf),
    ...(looks.length > 0 && { requeueAfter: Math.min(...looks) }),
    ...extra,
  }
}

/** Nothing tells when a Ready machine has been so for long enough. */
function untilAvailable(seen: Seen, now: number): number[] {
  return aliveOf(seen).flatMap((m) => {
    const left = (readySinceMs(m) ?? -Infinity) + AVAILABLE_AFTER_MS - now
    return left > 0 && Number.isFinite(left) ? [left] : []
  })
}

function noticeOf(action: MachineSetAction): Notice[] {
  switch (action.kind) {
    case 'Create':
      return [{ reason: 'Creating', message: `makes ${counted(action.count, 'machine')}: ${action.reason}` }]
    case 'Delete':
      return [{ reason: 'Removing', message: `removes machine ${nameOf(action.machine)}: ${action.reason}` }]
    case 'Bury':
      return [{ reason: 'Replacing', message: `replaces machine ${nameOf(action.machine)}: ${action.reason}` }]
    case 'Adopt':
    case 'Release':
    case 'RequestPermit':
    case 'RenewPermit':
    case 'ReportPermit':
      return []
    default:
      return action satisfies never
  }
}
