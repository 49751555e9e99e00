// Carries out the plan for a MachineSet. The plan comes from the cache. Before anything is created or deleted, its assumptions are checked again on
// the server.
import { FIELD_MANAGERS, FINALIZERS, ANNOTATIONS } from '#api/names.ts'
import { API_GROUP_VERSION } from '#api/kind.ts'
import { type MachineSet, type SetHost, machineSet } from '#api/kinds/machine-set.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { isBeingDeleted, nameOf, uidOf } from '#api/schema/object-meta.ts'
import { defined } from '#lib/defined.ts'
import { assertNever } from '#lib/errors.ts'
import type { Random } from '#lib/random.ts'
import type { KubeClient } from '#kube/client.ts'
import { outcomeOf } from '#kube/outcome.ts'
import { formatSelector } from '#kube/selector.ts'
import { actOnPermit } from '#permits/permit-actions.ts'
import { withFinalizer } from '#runtime/finalizers.ts'
import type { ReconcileContext } from '#runtime/controller.ts'
import { updateExactly } from '#runtime/preconditions.ts'
import { type ActionOutcome, outdated } from '#runtime/reconcile-with.ts'
import type { SharedInformer } from '#runtime/informers.ts'
import { writeStatus } from '#runtime/write-status.ts'
import { isRecent, withLosses } from './plan-burial.ts'
import { handOver, endDeletion, removeLeaving } from './deletion/act.ts'
import { type MachineSetAction } from './actions.ts'
import { freeHosts, hostsIn, specFor } from '#nodes/placement/set-hosts.ts'
import { loginOf, takesProvider } from './plan-corrections.ts'
import { type Authority, exempt, readingPermits, underPermit } from '#permits/under-permit.ts'
import { deleteMachine, deletePermitted } from './removal/delete-permitted.ts'
import { allMachines, owned, ownerReference, released } from './machines/ownership.ts'
import { removable } from './removal/plan.ts'
import { newRecord, takenFrom } from './template/taken.ts'
import { type Seen, aliveOf, isInService, isReady, isZombie, checkedSelector } from './seen.ts'

export interface MachineSetTools {
  readonly client: KubeClient
  readonly random: Random
  readonly now: () => number
  /** Shows our own writes before the watch delivers them. */
  readonly cache: Pick<SharedInformer<MachineSet>, 'assume'>
  /** When the loss of a machine was recorded, by UID. */
  readonly recorded: Map<string, number>
}

const fieldManager = FIELD_MANAGERS.machineSet

export async function act(
  tools: MachineSetTools,
  action: MachineSetAction,
  seen: Seen,
  { signal }: ReconcileContext,
): Promise<ActionOutcome> {
  const { client } = tools
  switch (action.kind) {
    case 'Adopt':
      return withFresh(tools, seen, signal, (fresh) => {
        const { set } = fresh
        return updateExactly(client, machineType, owned(action.machine, set), { fieldManager })
      })
    case 'TakeProvider':
      return withFresh(tools, seen, signal, (fresh) => takeProvider(tools, fresh, action.machine))
    case 'TakeLogin':
      return withFresh(tools, seen, signal, (fresh) => takeLogin(tools, fresh, action.machine))
    case 'TakeTemplate':
      return withFresh(tools, seen, signal, (fresh) => takeTemplate(tools, fresh, action, signal))
    case 'AddFinalizer':
      return addFinalizer(client, seen, signal)
    case 'RemoveFinalizer':
      return endDeletion(tools, seen, signal)
    case 'HandOver':
      return handOver(tools, action, seen, signal)
    case 'Release':
      return updateExactly(client, machineType, released(action.machine, seen.set), { fieldManager })
    case 'Create':
      return withFresh(tools, seen, signal, (fresh) => createMissing(tools, fresh, action.count, signal))
    case 'RequestPermit':
    case 'RenewPermit':
    case 'ReportResult':
      return actOnPermit({ client, fieldManager, signal }, action, tools.now())
    case 'Delete':
      return isBeingDeleted(seen.set)
        ? removeLeaving(tools, action, seen, signal)
        : withFresh(tools, seen, signal, (fresh) => remove(tools, fresh, action, signal))
    case 'RecordLosses':
      return recordLosses(tools, seen, action.machines, signal)
    case 'Bury':
      return withFresh(tools, seen, signal, (fresh) => bury(tools, fresh, action.machine))
    default:
      return assertNever(action)
  }
}

async function recordLosses(
  { client, cache, recorded, now }: MachineSetTools,
  { set }: Seen,
  machines: readonly Machine[],
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const at = now()
  const status = { ...set.status, hostLosses: withLosses(set.status?.hostLosses, machines.length, at) }
  const written = await writeStatus({ client, type: machineSet, cache, object: set, status, fieldManager, signal })
  if (written !== undefined && written.kind !== 'Applied') return written
  for (const [uid, since] of recorded) if (!isRecent(since, at)) recorded.delete(uid)
  for (const machine of machines) recorded.set(uidOf(machine), at)
  return { kind: 'Applied', object: undefined }
}

/** Only while it still counts as lost: a machine that sent heartbeats in the meantime stays. */
async function bury({ client }: MachineSetTools, fresh: Seen, machine: Machine): Promise<ActionOutcome> {
  const now = aliveOf(fresh).find((m) => uidOf(m) === uidOf(machine))
  if (now === undefined || !isZombie(now)) return outdated('its host may exist')
  return deleteMachine(exempt('HostGone'), client, now)
}

/** Only in the version that was read: if a host request is recorded in the meantime, this is a conflict, and the machine keeps its provider. */
async function takeProvider({ client }: MachineSetTools, fresh: Seen, machine: Machine): Promise<ActionOutcome> {
  const now = aliveOf(fresh).find((m) => uidOf(m) === uidOf(machine))
  const { provider } = fresh.set.spec.template.spec
  if (now === undefined || provider === undefined || !takesProvider(fresh.set, now))
    return outdated('it may have a host')
  return updateExactly(client, machineType, { ...now, spec: { ...now.spec, provider } }, { fieldManager })
}

/** The key of its host, and how to log in there, as the set lists them now. */
async function takeLogin({ client }: MachineSetTools, fresh: Seen, machine: Machine): Promise<ActionOutcome> {
  const now = aliveOf(fresh).find((m) => uidOf(m) === uidOf(machine))
  const ssh = now === undefined ? undefined : loginOf(fresh.set, now)
  if (now === undefined || ssh === undefined) return outdated('its host is not listed')
  return updateExactly(client, machineType, { ...now, spec: { ...now.spec, ssh } }, { fieldManager })
}

/** From the server's version of the machine: an edit of a person in the meantime stays, or is a conflict. */
async function takeTemplate(
  { client }: MachineSetTools,
  fresh: Seen,
  { machine, permit }: Extract<MachineSetAction, { readonly kind: 'TakeTemplate' }>,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const now = aliveOf(fresh).find((m) => uidOf(m) === uidOf(machine))
  if (now === undefined) return outdated('the machine left the set')
  const taken = takenFrom(fresh.set, now)
  if (!taken.isChange) return outdated('the machine has what the template declares')
  const write = () => updateExactly(client, machineType, taken.machine, { fieldManager })
  if (!taken.evicts) return write()
  if (isInService(now) && permit === undefined) return outdated('a taint evicts pods of a machine in service')
  const by: Authority = permit === undefined ? { exempt: 'NeverServed' } : { permit }
  const act = { by, operations: ['Drain'] as const, target: uidOf(now), signal }
  return underPermit(readingPermits(client), act, write)
}

/** The set and its machines as the server has them now. Does nothing if the set changed since the decision. */
async function withFresh(
  { client }: MachineSetTools,
  seen: Seen,
  signal: AbortSignal,
  then: (fresh: Seen) => Promise<ActionOutcome>,
): Promise<ActionOutcome> {
  const read = await outcomeOf(async () => {
    const set = await client.get(machineSet, { name: nameOf(seen.set) }, { signal })
    if (set === undefined) return undefined
    return { set, machines: await listMachines(client, seen.set, signal) }
  })
  if (read.kind !== 'Applied') return read
  if (read.object === undefined) return outdated('the set was deleted')
  const { set, machines } = read.object
  const isSame = uidOf(set) === uidOf(seen.set) && set.metadata.generation === seen.set.metadata.generation
  if (!isSame || isBeingDeleted(set)) return outdated('the set changed')
  // Same generation: the decision about its spec is still valid.
  return then({ ...seen, set: { ...set, spec: seen.set.spec }, machines })
}

/** Added to the server's object: its spec may differ from the spec behind the decision. */
async function addFinalizer(client: KubeClient, { set }: Seen, signal: AbortSignal): Promise<ActionOutcome> {
  const found = await client.get(machineSet, { name: nameOf(set) }, { signal })
  if (found === undefined || uidOf(found) !== uidOf(set) || isBeingDeleted(found)) return outdated('the set changed')
  return updateExactly(client, machineSet, withFinalizer(found, FINALIZERS.machineSet), { fieldManager })
}

async function listMachines(client: KubeClient, set: MachineSet, signal: AbortSignal): Promise<readonly Machine[]> {
  const read = checkedSelector(set)
  if (read.kind === 'Invalid') return []
  return allMachines(client, signal, formatSelector(read.selector))
}

/** As many as are missing on the server, and never more than planned. */
async function createMissing(
  { client, random }: MachineSetTools,
  fresh: Seen,
  most: number,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const { set } = fresh
  const count = Math.min(set.spec.replicas - aliveOf(fresh).length, most)
  const free = hostsIn(set) === undefined ? undefined : freeHosts(set, await allMachines(client, signal))
  for (let i = 0; i < Math.min(count, free?.length ?? count); i++) {
    if (signal.aborted) return { kind: 'NotTried' }
    const made = await outcomeOf(() =>
      client.create(machineType, newMachine(set, random, free?.[i]), { fieldManager, signal }),
    )
    if (made.kind === 'Exists') return outdated('the name is taken')
    if (made.kind !== 'Applied') return made
  }
  return { kind: 'Applied', object: undefined }
}

async function remove(
  { client }: MachineSetTools,
  fresh: Seen,
  { machine, permit }: Extract<MachineSetAction, { readonly kind: 'Delete' }>,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const alive = aliveOf(fresh)
  const now = alive.find((m) => uidOf(m) === uidOf(machine))
  if (now === undefined || alive.length <= fresh.set.spec.replicas) return outdated('no surplus machines left')
  if (isReady(now) && removable(fresh, alive) <= 0) return outdated('too many machines are unavailable')
  return deletePermitted(client, now, permit, signal)
}

const LETTERS = 'bcdfghjklmnpqrstvwxz2456789'
const SUFFIX = 5

/** Letters without vowels form no words, and five are easy to compare by eye. */
const suffix = (random: Random): string => Array.from({ length: SUFFIX }, () => random.pick([...LETTERS])).join('')

function newMachine(set: MachineSet, random: Random, host: SetHost | undefined): Machine {
  const { template } = set.spec
  const commit = set.metadata.annotations?.[ANNOTATIONS.commit]
  const annotations = { ...newRecord(set), ...(commit !== undefined && { [ANNOTATIONS.commit]: commit }) }
  return {
    apiVersion: API_GROUP_VERSION,
    kind: 'Machine',
    metadata: {
      name: host?.name ?? `${nameOf(set)}-${suffix(random)}`,
      ...defined({ labels: template.metadata?.labels }),
      ...(Object.keys(annotations).length > 0 && { annotations }),
      finalizers: [FINALIZERS.machine],
      ownerReferences: [ownerReference(set)],
    },
    spec: specFor(template.spec, host),
  }
}
