// Decides the next step of machines that must leave a set: request the permit, wait for it, or delete. Pure.
import type { Reason } from '#api/catalogue.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import type { OperationalHold } from '#api/kinds/operational-hold.ts'
import { removeAgainInMs } from '#permits/ended-for.ts'
import { freePermitName } from '#permits/free-name.ts'
import { permitWait } from '#permits/permit-wait.ts'
import { permitAnswer } from '#permits/permits.ts'
import type { Extra, MachineSetAction, Waiting } from './actions.ts'
import { type Seen, isInService, isReady, isSilent, nameOf, openPermit, permitsFor, uidOf } from './seen.ts'
import { defined } from '#lib/defined.ts'

/** Removals requested or done in one reconcile. */
export const MOST_REMOVALS = 20
/** More silent ones than this share of a set are a network problem until proven otherwise. */
const OUTAGE_SHARE = 1 / 3

/** Two may happen by chance in any set; one alone is never more than itself. */
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

/** Undefined when so few are silent that it is their own fault. */
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
  /** What has to happen where none may. */
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
    if (step.action.kind === 'RequestPermit') waiting ??= asked(step.action.permit)
    actions.push(step.action)
  }
  return [actions, waiting === undefined ? {} : { waiting }]
}

const asked = (permit: string): Waiting => ({
  predicate: 'PermitGranted',
  seen: 'the Defender has not decided yet',
  unblock: `the Defender grants OperationPermit ${permit}`,
})

/** Ready machines that may go without taking the set below what maxUnavailable leaves it. */
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
  if (isReady(machine) && spare <= 0) return wait('WithinUnavailable', 'maxUnavailable reached', unblock)
  const open = openPermit(seen, machine)
  const answer = permitAnswer(open, uidOf(machine))
  if (open !== undefined && answer.kind === 'Granted')
    return { kind: 'Act', action: { kind: 'Delete', machine, permit: nameOf(open), reason } }
  if (open !== undefined && answer.kind === 'Waiting')
    return wait(
      'PermitGranted',
      answer.seen,
      `the Defender grants OperationPermit ${nameOf(open)}`,
      permitWait(open).predicate,
    )
  const earlier = permitsOfGeneration(seen, machine)
  const denied = earlier.find((p) => removeAgainInMs(p, seen.refusedFor) > 0)
  if (denied !== undefined) {
    const waiting = {
      predicate: 'PermitDenied' as const,
      seen: `OperationPermit ${nameOf(denied)} was denied: ${permitWait(denied).seen}`,
      unblock: 'the policy allows it (the permit is requested again every 10 minutes), or spec.replicas changes',
      lookMs: removeAgainInMs(denied, seen.refusedFor),
    }
    return { kind: 'Waiting', waiting }
  }
  return {
    kind: 'Act',
    action: {
      kind: 'RequestPermit',
      machine,
      permit: freePermitName(prefixOf(seen, machine), earlier, earlier.length),
      reason,
    },
  }
}

const wait = (predicate: Waiting['predicate'], what: string, unblock: string, because?: Reason): Removal => ({
  kind: 'Waiting',
  waiting: { predicate, seen: what, unblock, ...defined({ because }) },
})

const prefixOf = (seen: Seen, machine: Machine): string =>
  `scalein-${nameOf(machine).slice(0, 200)}-${uidOf(seen.set).slice(0, 8)}-${seen.set.metadata.generation ?? 0}-`

/** The requests for this machine since the spec last changed. */
const permitsOfGeneration = (seen: Seen, machine: Machine): readonly OperationPermit[] =>
  permitsFor(seen, machine).filter((p) => nameOf(p).startsWith(prefixOf(seen, machine)))
