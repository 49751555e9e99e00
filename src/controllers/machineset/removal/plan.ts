// Decides the next step for machines that must leave a set: request the permit, wait for it, or delete. Pure.
import { machineSet } from '#api/kinds/machine-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { nameOf, uidOf } from '#api/schema/object-meta.ts'
import { shortened } from '#lib/shortened.ts'
import { type Holding, type Need, holdPermit } from '#permits/holder.ts'
import { LEASES } from '#permits/leases.ts'
import { isNamed, namesOf, nextPermitName, numbered } from '#permits/permit-names.ts'
import { UNDECIDED } from '#permits/permit-wait.ts'
import { commitOf, requesterOf, targetRef } from '#permits/permits.ts'
import { MOST_SENTENCE_CHARS } from '#runtime/waiting.ts'
import type { Extra, MachineSetAction, Waiting } from '../actions.ts'
import { type Seen, isInService, isReady, isSilent, permitsFor } from '../seen.ts'

/** Removals requested or done per reconcile. */
export const MOST_REMOVALS = 20
/** If more than this share of a set is silent, assume a network problem. */
export const OUTAGE_SHARE = 1 / 3

/** Two may happen by chance in any set. One alone is never an outage. */
export const isOutage = (count: number, of: number): boolean => count > 1 && count > of * OUTAGE_SHARE

export function held({ metadata, spec }: OperationalHold): Extra {
  const { effect, author, until, reason } = spec
  return {
    freeze: { reason: effect === 'Pause' ? 'HoldPause' : 'HoldFreeze', message: `${author} until ${until}: ${reason}` },
    waiting: {
      predicate: 'NotHeld',
      seen: `${effect} of ${author} until ${until}`,
      unblock: `OperationalHold ${metadata.name ?? ''} ends`,
    },
  }
}

/** Undefined if so few are silent that it is their own fault. */
export function silenceFreeze(alive: readonly Machine[]): Extra | undefined {
  const silent = alive.filter(isSilent).length
  if (!isOutage(silent, alive.length)) return undefined
  const message = `${silent} of ${alive.length} machines are silent at once; nothing is removed until they are heard again`
  return { freeze: { reason: 'ZoneOutage', message } }
}

interface Removing {
  /** Ready machines that may leave now. */
  readonly spare: number
  readonly reason: string
  /** What must happen if none may leave. */
  readonly unblock: string
}

/** In the given order. Requests only as many permits as the set can use: an unused slot blocks all other disruptions. */
export function removals(
  seen: Seen,
  machines: readonly Machine[],
  { spare: most, ...rest }: Removing,
): [MachineSetAction[], Extra] {
  let spare = most
  const actions: MachineSetAction[] = []
  let waiting: Waiting | undefined
  for (const machine of machines.slice(0, MOST_REMOVALS)) {
    const step = removal(seen, machine, { spare, ...rest })
    const isUnderWay = step.kind === 'Act' || step.waiting.predicate === 'PermitGranted'
    if (isUnderWay && isReady(machine)) spare--
    if (step.kind === 'Waiting') {
      waiting ??= step.waiting
      continue
    }
    if (step.action.kind === 'RequestPermit') waiting ??= { ...UNDECIDED, predicate: 'PermitGranted' }
    actions.push(step.action)
  }
  return [actions, waiting === undefined ? {} : { waiting }]
}

/** Ready machines that may leave without exceeding maxUnavailable. */
export function removable({ set }: Seen, alive: readonly Machine[]): number {
  const { replicas, maxUnavailable } = set.spec
  return Math.max(0, alive.filter(isReady).length - Math.max(0, replicas - countOf(maxUnavailable, replicas)))
}

/** A percentage rounds down, but is at least one. */
export const countOf = (value: number | string, of: number): number =>
  typeof value === 'number' ? value : Math.max(1, Math.floor((of * Number.parseInt(value, 10)) / 100))

type Removal =
  | { readonly kind: 'Act'; readonly action: MachineSetAction }
  | { readonly kind: 'Waiting'; readonly waiting: Waiting }

function removal(seen: Seen, machine: Machine, { spare, reason, unblock }: Removing): Removal {
  if (!isInService(machine)) return { kind: 'Act', action: { kind: 'Delete', machine, reason } }
  if (isReady(machine) && spare <= 0)
    return { kind: 'Waiting', waiting: { predicate: 'WithinUnavailable', seen: 'maxUnavailable reached', unblock } }
  const held = permitOf(seen, machine, reason)
  if (held.kind === 'Granted')
    return { kind: 'Act', action: { kind: 'Delete', machine, permit: nameOf(held.permit), reason } }
  if (held.kind === 'Ask') return { kind: 'Act', action: held.action }
  const { wait, permit } = held
  if (held.kind === 'Wait')
    return { kind: 'Waiting', waiting: { ...wait, predicate: 'PermitGranted', because: wait.predicate } }
  const waiting = {
    predicate: 'PermitDenied' as const,
    seen: `OperationPermit ${nameOf(permit)} was denied: ${wait.seen}`,
    unblock: `${wait.unblock}, or spec.replicas changes`,
    requeueMs: held.afterMs,
  }
  return { kind: 'Waiting', waiting }
}

/** Object names have at most 253 characters, and the rest of this name takes some. */
const MOST_NAME_CHARS = 200

/** Any open permit of the set for the machine works. A permit that ended before the spec last changed does not delay the next request. */
function permitOf(seen: Seen, machine: Machine, reason: string): Holding {
  const { set, refusedFor } = seen
  const generation = set.metadata.generation ?? 0
  const names = numbered(
    `scalein-${nameOf(machine).slice(0, MOST_NAME_CHARS)}-${uidOf(set).slice(0, 8)}-${generation}-`,
  )
  const all = permitsFor(seen, machine)
  const own = all.filter((p) => isNamed(names, p))
  const request: Need['request'] = {
    operations: ['ScaleIn'],
    targets: [targetRef('Machine', machine)],
    requester: requesterOf(FIELD_MANAGERS.machineSet, machineSet.kind, set),
    reason: shortened(`scale-in of ${nameOf(set)}: ${reason}`, MOST_SENTENCE_CHARS),
    ...commitOf(set),
    leaseSeconds: LEASES.renewed,
  }
  const permit = nextPermitName(names, namesOf(own))
  return holdPermit(
    { permit, request, reason },
    { own, others: all.filter((p) => !own.includes(p)), endedFor: refusedFor },
  )
}
