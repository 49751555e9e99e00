// Decides which machines take the labels, annotations and taints of a changed template next. Pure. One machine first; once it is Ready with them, many
// at a time. A taint that evicts pods needs a permit for each machine in service, and room in maxUnavailable.
import { machineSet } from '#api/kinds/machine-set.ts'
import type { Machine } from '#api/kinds/machine.ts'
import type { OperationPermit } from '#api/kinds/operation-permit.ts'
import { FIELD_MANAGERS } from '#api/names.ts'
import { isSpecObserved, nameOf, uidOf } from '#api/schema/object-meta.ts'
import { counted } from '#lib/counted.ts'
import { defined } from '#lib/defined.ts'
import { isObserved } from '#nodes/machine-node.ts'
import { type Holding, holdPermit, renewalOf, reportOf } from '#permits/holder.ts'
import { LEASES } from '#permits/leases.ts'
import type { PermitAction } from '#permits/permit-actions.ts'
import { isNamed, namesOf, nextPermitName, numbered } from '#permits/permit-names.ts'
import { UNDECIDED } from '#permits/permit-wait.ts'
import { commitOf, requesterOf, targetRef } from '#permits/permits.ts'
import type { Extra, MachineSetAction, Waiting } from '../actions.ts'
import { countOf, removable } from '../removal/plan.ts'
import { type Seen, aliveOf, isForTemplate, isInService, isReady, permitsOn } from '../seen.ts'
import { type Taken, takenFrom } from './taken.ts'

/** Machines written per reconcile, and machines whose Node may still be without the change. The next one reads all objects again first. */
const MOST_TAKEN = 20

interface Candidate {
  readonly machine: Machine
  readonly taken: Taken
}

export function templateSteps(seen: Seen): [MachineSetAction[], Extra] {
  const all = aliveOf(seen)
    .filter((m) => !isObserved(m))
    .map((machine): Candidate => ({ machine, taken: takenFrom(seen.set, machine) }))
  const next = all.filter(({ taken }) => taken.isChange)
  if (next.length === 0) return [[], {}]
  const done = all.filter(({ taken }) => !taken.isChange).map(({ machine }) => machine)
  const troubled = done.filter((m) => isInService(m) && !isReady(m)).length
  const limit = countOf(seen.set.spec.maxUnavailable, seen.set.spec.replicas)
  if (troubled >= limit) return [[], { waiting: troubleWait(troubled, limit) }]
  // Observed: the machine controller has seen the change, and has written it to the Node.
  const settling = done.filter((m) => !isSpecObserved(m)).length
  const isProven = done.some((m) => isSpecObserved(m) && isReady(m))
  const room = isProven ? MOST_TAKEN - settling : settling === 0 ? 1 : 0
  const evicts = ({ machine, taken }: Candidate): boolean => taken.evicts && isInService(machine)
  const quiet = next.filter((c) => !evicts(c)).toSorted(readyFirst)
  const actions = quiet.slice(0, Math.max(0, room)).map(({ machine }) => take(machine))
  const [evicting, extra] = evictions(
    seen,
    isProven || quiet.length === 0 ? next.filter(evicts).toSorted(readyFirst) : [],
  )
  return [[...actions, ...evicting], extra]
}

/** A machine that works shows more than one that does not. */
const readyFirst = (a: Candidate, b: Candidate): number =>
  Number(isReady(b.machine)) - Number(isReady(a.machine)) || (nameOf(a.machine) < nameOf(b.machine) ? -1 : 1)

const take = (machine: Machine, permit?: string): MachineSetAction => ({
  kind: 'TakeTemplate',
  machine,
  ...defined({ permit }),
  reason: 'its labels, annotations or taints differ from the template',
})

const troubleWait = (troubled: number, limit: number): Waiting => ({
  predicate: 'WithinUnavailable',
  seen: `${counted(troubled, 'machine')} with the labels and taints of the template not Ready (limit ${limit})`,
  unblock: 'they are Ready, or the template changes back',
})

/** One permit at a time: each waits until the machine before it has its taint, or has failed to get it. */
function evictions(seen: Seen, next: readonly Candidate[]): [MachineSetAction[], Extra] {
  const isOpen = (m: Machine) => permitsOn(seen, m).some((p) => isForTemplate(p) && p.status?.phase === 'Granted')
  const waiting = next.some(({ machine }) => isOpen(machine))
  const others = aliveOf(seen).filter((m) => isOpen(m) && !next.some((c) => c.machine === m)).length
  const first = next.find(({ machine }) => isOpen(machine)) ?? next[0]
  if (first === undefined) return [[], {}]
  const { machine } = first
  if (!waiting && isReady(machine) && removable(seen, aliveOf(seen)) - others <= 0)
    return [
      [],
      {
        waiting: {
          predicate: 'WithinUnavailable',
          seen: 'a NoExecute taint evicts pods, and maxUnavailable is reached',
          unblock: 'machines of the set are Ready',
        },
      },
    ]
  const held = permitFor(seen, machine)
  switch (held.kind) {
    case 'Granted':
      return [[take(machine, nameOf(held.permit))], {}]
    case 'Ask':
      return [[held.action], { waiting: { ...UNDECIDED, predicate: 'PermitGranted' } }]
    case 'Wait':
      return [[], { waiting: { ...held.wait, predicate: 'PermitGranted', because: held.wait.predicate } }]
    case 'AskLater':
      return [
        [],
        {
          waiting: {
            predicate: 'PermitDenied',
            seen: `OperationPermit ${nameOf(held.permit)} was denied: ${held.wait.seen}`,
            unblock: `${held.wait.unblock}, or the template changes`,
            requeueMs: held.afterMs,
          },
        },
      ]
    default:
      return held satisfies never
  }
}

/** Object names have at most 253 characters, and the rest of this name takes some. */
const MOST_NAME_CHARS = 200

function permitFor(seen: Seen, machine: Machine): Holding {
  const { set, refusedFor } = seen
  const id = `${nameOf(machine).slice(0, MOST_NAME_CHARS)}-${uidOf(set).slice(0, 8)}-${set.metadata.generation ?? 0}`
  const names = numbered(`template-${id}-`)
  const own = permitsOn(seen, machine).filter((p) => isForTemplate(p) && isNamed(names, p))
  const reason = `a NoExecute taint of the template of ${nameOf(set)} evicts pods`
  const request = {
    operations: ['Drain' as const],
    targets: [targetRef('Machine', machine)],
    requester: requesterOf(FIELD_MANAGERS.machineSet, machineSet.kind, set),
    reason,
    ...commitOf(set),
    leaseSeconds: LEASES.renewed,
  }
  return holdPermit({ permit: nextPermitName(names, namesOf(own)), request, reason }, { own, endedFor: refusedFor })
}

/** A permit lasts until the Node of its machine has the taint. One that is no longer needed is released. */
export function templatePermit(
  seen: Seen,
  permit: OperationPermit,
  machine: Machine | undefined,
  now: number,
): readonly PermitAction[] {
  const uid = permit.spec.targets[0]?.uid ?? ''
  if (machine === undefined) return reportOf(permit, uid, 'Succeeded', 'the machine was deleted')
  const taken = takenFrom(seen.set, machine)
  if (taken.isChange && taken.evicts) return renewalOf(permit, now, 'its machine is about to get a taint')
  return isSpecObserved(machine)
    ? reportOf(permit, uid, 'Succeeded', 'the machine has the taints of the template')
    : renewalOf(permit, now, 'the Node of its machine does not have the taint yet')
}
