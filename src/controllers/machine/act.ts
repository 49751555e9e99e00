// Carries out what was planned for a machine and decides nothing. Each step can be repeated. Destructive steps name exactly the object that the
// decision was about.
import type { Disruption } from '#api/kinds/operation-permit.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { isLetGo } from '#api/protocol/let-go.ts'
import { FIELD_MANAGERS, FINALIZERS, NODE_LEASES, agentLeaseKey } from '#api/names.ts'
import { nameOf, objectKey, uidOf } from '#api/schema/object-meta.ts'
import { assertNever, messageOf } from '#lib/errors.ts'
import type { KubeClient } from '#kube/client.ts'
import { type WriteOutcome, outcomeOf } from '#kube/outcome.ts'
import { cordon, uncordon } from '#nodes/cordon.ts'
import { timestamp } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { type DrainOptions, drainPass } from '#nodes/drain.ts'
import { endAcceptancePod } from '#nodes/end-acceptance-pod.ts'
import { nodeNameOf } from '#nodes/machine-node.ts'
import { type Node, type Pod, nodeType, podType } from '#nodes/objects.ts'
import { actOnPermit } from '#permits/permit-actions.ts'
import { type Authority, type Clearance, type ReadPermit, underPermit } from '#permits/under-permit.ts'
import { withFinalizer, withoutFinalizer } from '#runtime/finalizers.ts'
import type { ReconcileContext } from '#runtime/controller.ts'
import { type Swap, compareAndSwap } from '#runtime/compare-and-swap.ts'
import { leaseType } from '#runtime/lease.ts'
import { deleteExactly, preconditionsOf, updateExactly } from '#runtime/preconditions.ts'
import { type ActionOutcome, outdated } from '#runtime/reconcile-with.ts'
import { provision } from './provisioning/act.ts'
import type { MachineAction } from './actions.ts'
import { claimedNode, handedBackNode, syncedNode } from './node/sync.ts'
import { type ConfigMap, configMapType } from './secrets/config-map.ts'
import { sealedObjects } from './secrets/sealed-objects.ts'
import { endHost } from './hosts/end.ts'
import { applySpec, writeSpec } from './reporting/own-spec.ts'
import type { MachineTools } from './hosts/tools.ts'
import { powerCycle } from './reboots/act.ts'
import { recordAbandoned } from './removal/abandoned.ts'
import { type Seen } from './seen.ts'
import { shortened } from '#lib/shortened.ts'

/** Carries out one kind of action on a Machine. */
type Act<Kind extends MachineAction['kind']> = (
  tools: MachineTools,
  machine: Machine,
  action: Extract<MachineAction, { readonly kind: Kind }>,
  signal: AbortSignal,
) => Promise<ActionOutcome>

const fieldManager = FIELD_MANAGERS.machine
const applied: ActionOutcome = { kind: 'Applied', object: undefined }

export async function act(
  tools: MachineTools,
  action: MachineAction,
  seen: Seen,
  { signal }: ReconcileContext,
): Promise<ActionOutcome> {
  const { client, clock, random } = tools
  const { machine, node } = seen
  const nodeTools = { client, clock, random, fieldManager, signal }
  const nodeRef = { name: node?.metadata.name ?? '', uid: node?.metadata.uid ?? '' }
  switch (action.kind) {
    case 'AddFinalizer':
      return updateExactly(client, machineType, withFinalizer(machine, FINALIZERS.machine), { fieldManager, signal })
    case 'Provision':
      return provision(tools, seen, action.attempt, signal)
    case 'Seal':
      return sealValues(tools, machine, action, signal)
    case 'DeleteSealed':
      return deleteExactly(client, configMapType, action.object, { signal }).then(deletedIsDone)
    case 'WriteComponents':
      return writeComponents(tools, machine, action, signal)
    case 'SyncNode':
      return compareAndSwap(
        client,
        nodeType,
        { name: nodeRef.name },
        (current) => {
          if (current?.metadata.uid !== nodeRef.uid)
            return { kind: 'Refuse', reason: `node ${nodeRef.name} was replaced by another Node of the same name` }
          return syncedNode(current, { machine, areComponentsIn: action.areComponentsIn })
        },
        { clock, random, fieldManager, signal },
      ).then(swapped)
    case 'ClaimNode':
      return compareAndSwap(
        client,
        nodeType,
        { name: nodeRef.name },
        (current) =>
          current?.metadata.uid === nodeRef.uid
            ? claimedNode(current, uidOf(machine))
            : { kind: 'Refuse', reason: `node ${nodeRef.name} was replaced by another Node of the same name` },
        { clock, random, fieldManager, signal },
      ).then(swapped)
    case 'DeleteLeftoverLease':
      return deleteExactly(client, leaseType, action.lease, { signal }).then(deletedIsDone)
    case 'DeleteLeftoverNode':
      return deleteNode(client, action.node, signal)
    case 'ClearOrders':
      return writeSpec(client, machine, { providerID: machine.spec.providerID, address: machine.spec.address }, signal)
    case 'RecordAbandoned':
      return recordAbandoned(client, machine, clock.now(), signal)
    case 'HandBackNode':
      return handBack(tools, nodeRef, signal)
    case 'WriteHost': {
      const { providerID, address = machine.spec.address } = action
      return applySpec(client, machine, { ...machine.spec, providerID, address }, signal)
    }
    case 'Uncordon':
      return uncordon(nodeTools, nodeRef, action.owner).then(swapped)
    case 'Cordon':
    case 'Drain':
    case 'ReplacePods':
    case 'Uninstall':
    case 'OrderToLeave':
    case 'DeleteHost':
    case 'PowerCycle':
      return underPermit(
        (name, until) => tools.permitNow.of(name, until),
        { by: action.by, operations: OPERATIONS[action.kind], target: uidOf(machine), signal },
        (clearance) => disrupt(clearance, tools, action, seen, signal),
      )
    case 'RequestPermit':
    case 'RenewPermit':
    case 'ReportResult':
      return actOnPermit({ client, fieldManager, signal }, action, clock.now())
    case 'StartAcceptancePod':
      return outcomeOf(() => client.create(podType, action.pod, { fieldManager, signal })).then(existsIsDone)
    case 'EndAcceptancePod':
      return endAcceptancePod(client, action.pod, signal).then(deletedIsDone)
    case 'DeleteNode':
      return deleteNode(client, node, signal)
    case 'DeleteLease':
      return deleteLeases(client, machine, action.withNode, signal)
    case 'RemoveFinalizer':
      return updateExactly(client, machineType, withoutFinalizer(machine, FINALIZERS.machine), {
        fieldManager,
        signal,
      }).then(deletedIsDone)
    default:
      return assertNever(action)
  }
}

const deletedIsDone = (outcome: WriteOutcome<unknown>): ActionOutcome => (outcome.kind === 'Stale' ? applied : outcome)
/** From an attempt whose reply was lost: the next reconcile reads it. */
const existsIsDone = (outcome: WriteOutcome<unknown>): ActionOutcome => (outcome.kind === 'Exists' ? applied : outcome)
const swapped = (swap: Swap<Node>): ActionOutcome => (swap.kind === 'Swapped' ? applied : outdated(swap.reason))

type Disruptive = Extract<MachineAction, { readonly by: Authority }>

const SWITCH: readonly Disruption[] = ['SwitchComponent']
/** The set's scale-in, or a repair that replaces the machine. */
const REMOVAL: readonly Disruption[] = ['ScaleIn', 'Replace']
/** A drain may be for a removal or a switch. The switch's component may be too old or too new to be known; the node is drained in any case. */
const EMPTYING: readonly Disruption[] = ['Drain', ...SWITCH, ...REMOVAL]

const OPERATIONS: Readonly<Record<Disruptive['kind'], readonly Disruption[]>> = {
  Cordon: EMPTYING,
  Drain: EMPTYING,
  ReplacePods: SWITCH,
  Uninstall: REMOVAL,
  OrderToLeave: REMOVAL,
  DeleteHost: REMOVAL,
  PowerCycle: ['Reboot'],
}

function disrupt(
  clearance: Clearance,
  tools: MachineTools,
  action: Disruptive,
  { machine, node }: Seen,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const { client, clock, random } = tools
  const nodeRef = { name: node?.metadata.name ?? '', uid: node?.metadata.uid ?? '' }
  switch (action.kind) {
    case 'Cordon': {
      const nodeTools = { client, clock, random, fieldManager, signal }
      const claim = { ...action.claim, since: timestamp(clock.now()) }
      return cordon(clearance, nodeTools, nodeRef, action.owner, claim).then(swapped)
    }
    case 'Drain':
      return drain(clearance, client, nodeNameOf(machine), defined({ waits: action.waits }), signal)
    case 'ReplacePods':
      return replacePods(clearance, client, action.pods, signal)
    case 'Uninstall':
      return writeSpec(client, machine, { ...machine.spec, components: [] }, signal)
    case 'OrderToLeave':
      // There is no way back after this.
      return writeSpec(client, machine, { ...machine.spec, leaving: true }, signal)
    case 'DeleteHost':
      return deleteHost(clearance, tools, machine, action.providerID, signal)
    case 'PowerCycle':
      return powerCycle(clearance, tools, machine, action, signal)
    default:
      return assertNever(action)
  }
}

/** Each new order has its own permit. The write is conditional on the version behind the decision, so it cannot overwrite a later release. */
function writeComponents(
  tools: MachineTools,
  machine: Machine,
  { components, given }: Pick<Extract<MachineAction, { readonly kind: 'WriteComponents' }>, 'components' | 'given'>,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const [first, ...others] = given
  if (first === undefined) {
    const { providerID, address } = machine.spec
    return writeSpec(tools.client, machine, { providerID, address, components }, signal)
  }
  const { permit } = first
  const read: ReadPermit = (name, until) => tools.permitNow.of(name, until)
  const act = { by: { permit }, operations: SWITCH, target: uidOf(machine), signal }
  return underPermit(read, act, async (_clearance, found) =>
    isLetGo(machine, found?.metadata.uid ?? '')
      ? outdated(`the machine was released from permit ${permit}`)
      : writeComponents(tools, machine, { components, given: others }, signal),
  )
}

/** Reads, seals and writes the values. No other code of the controllers has them. */
const sealValues: Act<'Seal'> = async ({ client, secretValues }, machine, { config, publicKey }, signal) => {
  const { component, secrets = [] } = config.spec
  const values = await secretValues.valuesAt(component, secrets, signal)
  if (typeof values === 'string') return outdated(values)
  for (const object of sealedObjects(config, machine, publicKey, values)) {
    const written = await outcomeOf(() =>
      client.apply<ConfigMap>(configMapType, object, { fieldManager, force: true, signal }),
    )
    if (written.kind !== 'Applied') return written
  }
  return applied
}

/** By uid: a replacement pod with the same name has the new template. DaemonSet pods are not evicted: they would come back to the same node. */
async function replacePods(
  _clearance: Clearance,
  client: KubeClient,
  pods: readonly Pod[],
  signal: AbortSignal,
): Promise<ActionOutcome> {
  for (const pod of pods) {
    const { uid } = preconditionsOf(pod)
    const outcome = await outcomeOf(() => client.delete(podType, objectKey(pod), { preconditions: { uid }, signal }))
    if (outcome.kind !== 'Applied' && outcome.kind !== 'Stale') return outcome
  }
  return applied
}

async function handBack(
  { client, clock, random }: MachineTools,
  node: { readonly name: string; readonly uid: string },
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const options = { clock, random, fieldManager, signal }
  const isOther = (current: Node | undefined) => current?.metadata.uid !== node.uid
  return compareAndSwap(
    client,
    nodeType,
    { name: node.name },
    (current) =>
      current === undefined || isOther(current)
        ? { kind: 'Refuse', reason: `node ${node.name} was replaced by another Node of the same name` }
        : handedBackNode(current, clock.now()),
    options,
  ).then(swapped)
}

async function drain(
  clearance: Clearance,
  client: KubeClient,
  node: string,
  options: DrainOptions,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const pass = await drainPass(clearance, client, node, signal, options)
  return pass.kind === 'Unknown'
    ? outdated(shortened(`cannot list the pods of ${node}: ${pass.error.message}`, 200))
    : applied
}

async function deleteHost(
  clearance: Clearance,
  { providers, sightings }: MachineTools,
  machine: Machine,
  providerID: string,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const provider = providers[machine.spec.provider?.name ?? '']
  if (provider === undefined) return outdated('its provider is not configured in these controllers')
  const ended = await endHost(clearance, provider, providerID, signal).catch((e: unknown) =>
    outdated(messageOf(e).slice(0, 200)),
  )
  if (typeof ended !== 'string') return ended
  sightings.ended(uidOf(machine), providerID)
  return applied
}

async function deleteNode(client: KubeClient, node: Node | undefined, signal: AbortSignal): Promise<ActionOutcome> {
  if (node === undefined) return applied
  // Kubelets and agents write the Node all the time, so read the latest version of exactly this one.
  const read = await outcomeOf(() => client.get(nodeType, { name: node.metadata.name ?? '' }, { signal }))
  if (read.kind !== 'Applied') return read
  if (read.object?.metadata.uid !== node.metadata.uid || read.object === undefined) return applied
  return deleteExactly(client, nodeType, read.object, { signal }).then(deletedIsDone)
}

/** The agent's own Lease, and the Lease of its Node if no kubelet owned it. */
async function deleteLeases(
  client: KubeClient,
  machine: Machine,
  withNode: boolean,
  signal: AbortSignal,
): Promise<ActionOutcome> {
  const node = machine.status?.nodeRef?.name ?? nameOf(machine)
  const keys = [agentLeaseKey(nameOf(machine)), ...(withNode ? [{ namespace: NODE_LEASES, name: node }] : [])]
  for (const key of keys) {
    const read = await outcomeOf(() => client.get(leaseType, key, { signal }))
    if (read.kind !== 'Applied') return read
    const lease = read.object
    if (lease === undefined) continue
    const outcome = await deleteExactly(client, leaseType, lease, { signal })
    if (outcome.kind !== 'Applied' && outcome.kind !== 'Stale') return outcome
  }
  return applied
}
