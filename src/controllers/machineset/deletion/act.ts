// Carries out the plan for a set that is being deleted. The plan comes from the cache; its assumptions are checked again on the server.
import { FIELD_MANAGERS, FINALIZERS } from '#api/names.ts'
import { type MachineSet, machineSet } from '#api/kinds/machine-set.ts'
import { machine as machineType } from '#api/kinds/machine.ts'
import { isBeingDeleted, nameOf, uidOf } from '#api/schema/object-meta.ts'
import type { KubeClient } from '#kube/client.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { withoutFinalizer } from '#runtime/finalizers.ts'
import { updateExactly } from '#runtime/preconditions.ts'
import { type ActionOutcome, outdated } from '#runtime/reconcile-with.ts'
import { type MachineSetAction, deletedIsDone } from '../actions.ts'
import { deletePermitted } from '../removal/delete-permitted.ts'
import { isOrphaning, keepsMachines } from './plan.ts'
import { allMachines, owned, released } from '../machines/ownership.ts'
import { type Seen, isOwned, isReady } from '../seen.ts'
import { replacementsOf, spareOf } from './successors.ts'

const fieldManager = FIELD_MANAGERS.machineSet

interface Tools {
  readonly client: KubeClient
}

/** Under a grant, and only while the set is still leaving and enough of the replacement machines are Ready. */
export async function removeLeaving(
  { client }: Tools,
  { machine, permit }: Extract<MachineSetAction, { readonly kind: 'Delete' }>,
  seen: Seen,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const read = await outcomeOf(async () => ({
    set: await client.get(machineSet, { name: nameOf(seen.set) }, { signal }),
    machine: await client.get(machineType, { name: nameOf(machine) }, { signal }),
    all: replacementsOf(seen, [machine]).length === 0 ? undefined : await allMachines(client, signal),
  }))
  if (read.kind !== 'Applied') return read
  const { set, machine: now, all } = read.object
  if (set === undefined || uidOf(set) !== uidOf(seen.set) || !isBeingDeleted(set) || keepsMachines(set))
    return outdated('the set changed')
  if (now === undefined || uidOf(now) !== uidOf(machine) || !isOwned(now, set) || isBeingDeleted(now))
    return outdated('the machine changed')
  if (all !== undefined && isReady(now)) {
    const ownedBy = (by: MachineSet) => all.filter((m) => isOwned(m, by))
    const others = seen.others.map((other) => ({ ...other, machines: ownedBy(other.set) }))
    const alive = ownedBy(set).filter((m) => !isBeingDeleted(m))
    if (spareOf({ ...seen, others }, alive) <= 0) return outdated('too many machines are unavailable')
  }
  return deletePermitted(client, now, permit, signal)
}

/** Only to a set that is not being deleted: garbage collection deletes machines whose owner does not exist. */
export async function handOver(
  { client }: Tools,
  { machine, to }: Extract<MachineSetAction, { readonly kind: 'HandOver' }>,
  { set }: Seen,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const read = await outcomeOf(() => client.get(machineSet, { name: nameOf(to) }, { signal }))
  if (read.kind !== 'Applied') return read
  if (read.object === undefined || uidOf(read.object) !== uidOf(to) || isBeingDeleted(read.object))
    return outdated('the set that takes over the machine changed')
  return updateExactly(client, machineType, owned(released(machine, set), to), { fieldManager })
}

/** Garbage collection would take machines that the cache does not show yet, so all of them are listed from the server. */
export async function endDeletion({ client }: Tools, { set }: Seen, signal: AbortSignal): Promise<ActionOutcome> {
  const read = await outcomeOf(async () => ({
    set: await client.get(machineSet, { name: nameOf(set) }, { signal }),
    machines: await allMachines(client, signal),
  }))
  if (read.kind !== 'Applied') return read
  const { set: now, machines } = read.object
  if (now === undefined || uidOf(now) !== uidOf(set)) return { kind: 'Applied', object: undefined }
  if (machines.some((m) => isOwned(m, set)) && !isOrphaning(now)) return outdated('the set still owns machines')
  return updateExactly(client, machineSet, withoutFinalizer(now, FINALIZERS.machineSet), { fieldManager }).then(
    deletedIsDone,
  )
}
