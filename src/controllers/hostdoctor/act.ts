// Carries out one planned action for an event and decides nothing. Reads permit and event from the server again before harm.
import type { Disruption } from '#api/kinds/operation-permit.ts'
import { operationsOf } from './plan-permit.ts'
import { type MaintenanceSpec, maintenanceEvent } from '#api/kinds/maintenance-event.ts'
import { operationPermit, type OperationPermit } from '#api/kinds/operation-permit.ts'
import { FIELD_MANAGERS, FINALIZERS } from '#api/names.ts'
import { isBeingDeleted } from '#api/schema/object-meta.ts'
import { phaseOfEvent, plannerOf } from '#nodes/faults/maintenance.ts'
import type { Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { assertNever, messageOf } from '#lib/errors.ts'
import type { Random } from '#lib/random.ts'
import type { KubeClient } from '#kube/client.ts'
import type { NodeTools } from '#nodes/change-node.ts'
import { cordon, isCordonedBy, uncordon } from '#nodes/cordon.ts'
import { drainPass } from '#nodes/drain.ts'
import { nodeType } from '#nodes/objects.ts'
import type { PodWaits } from '#nodes/pod-waits.ts'
import { actOnPermit } from '#permits/permit-actions.ts'
import { permitAnswer } from '#permits/permits.ts'
import { type Authority, type Clearance, readingPermits, underPermit } from '#permits/under-permit.ts'
import { foreignHost } from '#providers/foreign-host.ts'
import type { Provider } from '#providers/port.ts'
import type { Swap } from '#runtime/compare-and-swap.ts'
import { withFinalizer, withoutFinalizer } from '#runtime/finalizers.ts'
import { deleteExactly, recheck, updateExactly } from '#runtime/preconditions.ts'
import { type ActionOutcome, outdated } from '#runtime/reconcile-with.ts'
import type { DoctorAction } from './actions.ts'
import { type Seen, cordonOwner } from './seen.ts'

export interface DoctorTools {
  readonly client: KubeClient
  readonly clock: Clock
  readonly random: Random
  readonly providers: Readonly<Record<string, Provider>>
}

const fieldManager = FIELD_MANAGERS.hostDoctor

export async function act(
  tools: DoctorTools,
  action: DoctorAction,
  seen: Seen,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const { client } = tools
  const { event, machine, node } = seen
  const permits = { client, fieldManager, signal }
  switch (action.kind) {
    case 'RequestPermit':
    case 'ReportResult': {
      // After a pause the cache may show an old event. A permit for an event that is over would hold a slot until its lease ends, or longer.
      const again = await recheck(client, maintenanceEvent, event, signal)
      if (again.kind === 'Stale') return outdated(again.seen)
      // A permit that the cache shows as waiting may already be granted and its node cordoned. In that case remove the cordon first.
      const granted =
        action.kind === 'RequestPermit' || action.permit.status?.phase === 'Granted' || isBeingDeleted(event)
          ? undefined
          : await grantedNow(client, action.permit, signal)
      if (granted !== undefined) return outdated(granted)
      return actOnPermit(permits, action, tools.clock.now())
    }
    case 'RenewPermit':
      return actOnPermit(permits, action, tools.clock.now())
    case 'Cordon':
    case 'Drain':
    case 'Reboot':
    case 'Respond':
      return underPermit(
        readingPermits(client),
        { by: action.by, operations: [operationOf(action, event.spec)], target: machine?.metadata.uid ?? '', signal },
        async (clearance) => {
          const again = await recheck(client, maintenanceEvent, event, signal)
          return again.kind === 'Stale' ? outdated(again.seen) : disrupt(clearance, tools, action, seen, signal)
        },
      )
    case 'Uncordon': {
      if (node === undefined) return { kind: 'Applied', object: 'gone' }
      const needed = await stillNeeded(tools, seen, signal)
      if (needed !== undefined) return outdated(needed)
      return settled(await uncordon(nodeTools(tools, signal), refOf(node), cordonOwner(event)))
    }
    case 'DeleteEvent':
      return deleteExactly(client, maintenanceEvent, event, { signal })
    case 'KeepRecord':
      return updateExactly(client, maintenanceEvent, withFinalizer(event, FINALIZERS.maintenance), {
        fieldManager,
        signal,
      })
    case 'ReleaseRecord':
      return updateExactly(client, maintenanceEvent, withoutFinalizer(event, FINALIZERS.maintenance), {
        fieldManager,
        signal,
      })
    default:
      return assertNever(action)
  }
}

type Disruptive = Extract<DoctorAction, { readonly by: Authority }>

/** The answer makes the source do more than a drain. The permit must cover that too, even if the event has changed since. */
const operationOf = ({ kind }: Disruptive, spec: MaintenanceSpec): Disruption =>
  kind === 'Reboot' ? 'Reboot' : kind === 'Respond' ? (operationsOf(spec).at(-1) ?? 'Replace') : 'Drain'

async function disrupt(
  clearance: Clearance,
  tools: DoctorTools,
  action: Disruptive,
  seen: Seen,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const { event, machine, node } = seen
  switch (action.kind) {
    case 'Cordon': {
      if (node === undefined) return outdated('the machine has no Node')
      const reason = `${event.spec.kind} by ${plannerOf(event.spec)}`
      return settled(await cordon(clearance, nodeTools(tools, signal), refOf(node), cordonOwner(event), { reason }))
    }
    case 'Drain':
      return drain(clearance, tools, seen, { waits: action.waits, signal })
    case 'Reboot': {
      const provider = tools.providers[machine?.spec.provider?.name ?? event.spec.source]
      const providerID = machine?.spec.providerID
      if (provider === undefined || providerID === undefined) return { kind: 'Applied', object: 'Refused' }
      const foreign = foreignHost(await provider.get(providerID, signal), machine?.metadata.uid)
      if (foreign !== undefined) return outdated(foreign)
      return { kind: 'Applied', object: await provider.reboot(providerID, { hard: false }, signal) }
    }
    case 'Respond': {
      const provider = tools.providers[event.spec.source]
      if (provider?.respond === undefined) return { kind: 'Applied', object: 'Refused' }
      return { kind: 'Applied', object: await provider.respond(event.spec.eventId, action.answer, signal) }
    }
    default:
      return assertNever(action)
  }
}

async function drain(
  clearance: Clearance,
  { client }: DoctorTools,
  { event, node }: Seen,
  { waits, signal }: { readonly waits: PodWaits | undefined; readonly signal: AbortSignal },
): Promise<ActionOutcome> {
  const name = node?.metadata.name ?? ''
  // A stale cache shows the cordon of an earlier preparation: evicted pods could return to this node.
  const now = await client.get(nodeType, { name }, { signal })
  if (!isCordonedBy(now, cordonOwner(event))) return outdated('the node is not cordoned for this event')
  const pass = await drainPass(clearance, client, name, signal, defined({ waits }))
  return pass.kind === 'Unknown'
    ? outdated(`cannot list the pods of the node: ${messageOf(pass.error)}`)
    : { kind: 'Applied', object: pass }
}

async function grantedNow(
  client: KubeClient,
  { metadata: { name = '' } }: OperationPermit,
  signal: AbortSignal,
): Promise<string | undefined> {
  const now = await client.get(operationPermit, { name }, { signal })
  return now?.status?.phase === 'Granted' ? `permit ${name} is Granted` : undefined
}

/** Why the taint must stay: a stale cache can show the event before its preparation, or a granted permit as ended. */
async function stillNeeded({ client }: DoctorTools, seen: Seen, signal: AbortSignal): Promise<string | undefined> {
  const { event, machine } = seen
  const again = await recheck(client, maintenanceEvent, event, signal)
  if (again.kind === 'Stale') return again.seen
  const permit = event.status?.permitRef
  if (isBeingDeleted(event) || permit === undefined || phaseOfEvent(event) !== 'Preparing') return undefined
  const read = await client.get(operationPermit, { name: permit }, { signal })
  return permitAnswer(read, machine?.metadata.uid ?? '').kind === 'Granted' ? `permit ${permit} is Granted` : undefined
}

const refOf = ({ metadata }: { readonly metadata: { readonly name?: string; readonly uid?: string } }) => ({
  name: metadata.name ?? '',
  uid: metadata.uid ?? '',
})

const nodeTools = ({ client, clock, random }: DoctorTools, signal: AbortSignal): NodeTools => ({
  client,
  clock,
  random,
  fieldManager,
  signal,
})

const settled = (swap: Swap<unknown>): ActionOutcome =>
  swap.kind === 'Swapped' ? { kind: 'Applied', object: 'done' } : outdated(swap.reason)
