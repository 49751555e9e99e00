// All actions on a machine as one closed union, and the types that its plans share. Pure.
import type { Reason } from '#api/catalogue.ts'
import type { ComponentConfig } from '#api/kinds/component-config.ts'
import type { AcceptanceStatus, ComponentStatus, Machine, Provisioning } from '#api/kinds/machine.ts'
import { defined } from '#lib/defined.ts'
import { type CordonClaim, REMOVAL_OWNER, cordonOwners } from '#nodes/cordon.ts'
import { drainPlan } from '#nodes/drain.ts'
import type { PodWaits } from '#nodes/pod-waits.ts'
import { type Node, type Pod, hasTaint } from '#nodes/objects.ts'
import { TAINTS } from '#api/names.ts'
import type { Rebooting } from '#api/protocol/rebooting.ts'
import type { PermitAction } from '#permits/permit-actions.ts'
import type { Authority } from '#permits/under-permit.ts'
import type { Notice, Plan } from '#runtime/reconcile-with.ts'
import type { Lease } from '#runtime/lease.ts'
import type { ConfigMap } from './secrets/config-map.ts'
import type { ComponentSwitch } from './components/orders.ts'
import type { Seen } from './seen.ts'

export type MachineAction =
  | { readonly kind: 'AddFinalizer'; readonly reason: string }
  /** Records the attempt, then the host, its join token, and providerID. Each step can be repeated. */
  | { readonly kind: 'Provision'; readonly attempt: Provisioning; readonly reason: string }
  /** Writes all components at once. `given` are orders whose permits are read again first. */
  | {
      readonly kind: 'WriteComponents'
      readonly components: NonNullable<Machine['spec']['components']>
      readonly given: readonly ComponentSwitch[]
      readonly reason: string
    }
  /** Seals the secret values of one configuration to the observed key. */
  | { readonly kind: 'Seal'; readonly config: ComponentConfig; readonly publicKey: string; readonly reason: string }
  | { readonly kind: 'DeleteSealed'; readonly object: ConfigMap; readonly reason: string }
  /** Writes the uid to the Node. Policies use it to let the agent write the Node. */
  | { readonly kind: 'ClaimNode'; readonly reason: string }
  | { readonly kind: 'DeleteLeftoverLease'; readonly lease: Lease; readonly reason: string }
  | { readonly kind: 'DeleteLeftoverNode'; readonly node: Node; readonly reason: string }
  | { readonly kind: 'SyncNode'; readonly areComponentsIn: boolean; readonly reason: string }
  /** Replaces DaemonSet pods with an older template. Needs a permit, except on a node that takes no pods yet. */
  | {
      readonly kind: 'ReplacePods'
      readonly component: string
      readonly pods: readonly Pod[]
      readonly by: Authority
      readonly reason: string
    }
  /** Orders what the agent must remove from the host before the machine is deleted. */
  | { readonly kind: 'Uninstall'; readonly by: Authority; readonly reason: string }
  /** The agent hands the host back and leaves it. */
  | { readonly kind: 'OrderToLeave'; readonly by: Authority; readonly reason: string }
  /** For a machine that stays but is only observed: withdraws all orders. */
  | { readonly kind: 'ClearOrders'; readonly reason: string }
  /** Recorded for people: its agent did not answer. */
  | { readonly kind: 'RecordAbandoned'; readonly reason: string }
  | { readonly kind: 'HandBackNode'; readonly reason: string }
  | {
      readonly kind: 'Cordon'
      readonly owner: string
      readonly claim: CordonClaim
      readonly by: Authority
      readonly reason: string
    }
  | { readonly kind: 'Uncordon'; readonly owner: string; readonly reason: string }
  | { readonly kind: 'Drain'; readonly by: Authority; readonly waits?: PodWaits; readonly reason: string }
  | PermitAction
  /** Writes the host's provider id and location. */
  | {
      readonly kind: 'WriteHost'
      readonly providerID: string
      readonly address: string | undefined
      readonly reason: string
    }
  | { readonly kind: 'DeleteHost'; readonly providerID: string; readonly by: Authority; readonly reason: string }
  /** Restarts the host of a machine that did not return from this reboot. */
  | {
      readonly kind: 'PowerCycle'
      readonly providerID: string
      readonly reboot: Rebooting
      /** The last renewal of the agent's Lease that the decision is based on. */
      readonly renewal: string
      readonly by: Authority
      readonly reason: string
    }
  | { readonly kind: 'DeleteNode'; readonly reason: string }
  /** Also deletes the Lease of the Node, unless something else keeps the Node alive. */
  | { readonly kind: 'DeleteLease'; readonly withNode: boolean; readonly reason: string }
  | { readonly kind: 'StartAcceptancePod'; readonly pod: Pod; readonly reason: string }
  | {
      readonly kind: 'EndAcceptancePod'
      readonly pod: NonNullable<AcceptanceStatus['pod']>
      readonly reason: string
    }
  | { readonly kind: 'RemoveFinalizer'; readonly reason: string }

export interface Waiting {
  readonly predicate: string
  readonly seen: string
  readonly unblock: string
  /** The answer of the Defender's gate, if it adds to the request. */
  readonly because?: Reason
}

export interface AcceptancePlan {
  /** The record to write; undefined: none. */
  readonly record: AcceptanceStatus | undefined
  readonly actions: readonly MachineAction[]
  readonly notices: readonly Notice[]
  readonly requeueAfter?: number
}

export interface MachinePlan extends Plan<MachineAction> {
  readonly waiting?: Waiting
  /** Reports of components that no agent reports. */
  readonly reports?: readonly ComponentStatus[]
  /** If absent, the record stays as it is. */
  readonly acceptance?: AcceptancePlan
  /** The machine's phase during the current step. */
  readonly doing?: 'Draining' | 'Deleting'
  /** Nothing to do. The next reconcile checks for silence after the time in these bounds, unless another is due earlier. */
  readonly idle?: { readonly bounds: readonly number[]; readonly otherMs: number | undefined }
}

/** Pods end within their grace period, half a minute by default. A disruption budget may take longer to allow it. */
export const DRAIN_REQUEUE_MS = 2_000
/** Prefix of the owners of this controller's cordons for switches. */
export const SWITCH_OWNER = 'machine/switch/'
export const DELETE_OWNER = REMOVAL_OWNER

/** Drained: cordoned by us, pods read, and none left to evict. */
export function isDrained({ node }: Pick<Seen, 'node'>, pods: Seen['pods'], waits?: PodWaits): boolean | undefined {
  if (pods === undefined || node === undefined) return undefined
  const { evict, going, waiting } = drainPlan(pods, defined({ waits }))
  const read = cordonOwners(node)
  const isOurs = read.kind === 'Owners' && Object.keys(read.owners).length > 0 && hasTaint(node, TAINTS.cordon)
  return isOurs && evict.length === 0 && going.length === 0 && waiting.length === 0
}

/** From the last of our cordons for a switch. Undefined: no policy lets pods ask for time, or an older controller cordoned the node. */
export const switchWaits = (seen: Pick<Seen, 'node' | 'claims'>, now: number): PodWaits | undefined =>
  waitsSince(seen, now, (owner) => owner.startsWith(SWITCH_OWNER))

/** The same for a machine that is removed: its sets say how long pods may ask for time. */
export const removalWaits = (seen: Pick<Seen, 'node' | 'claims'>, now: number): PodWaits | undefined =>
  waitsSince(seen, now, (owner) => owner === DELETE_OWNER)

function waitsSince(
  { node, claims }: Pick<Seen, 'node' | 'claims'>,
  now: number,
  isOurs: (owner: string) => boolean,
): PodWaits | undefined {
  const mostMs = Math.max(0, ...claims.map((c) => c.podWaitMs ?? 0))
  const read = node && cordonOwners(node)
  if (mostMs === 0 || read?.kind !== 'Owners') return undefined
  const ours = Object.entries(read.owners).filter(([owner]) => isOurs(owner))
  const since = Math.max(...ours.map(([, claim]) => Date.parse(claim.since ?? '')))
  return Number.isFinite(since) ? { since, now, mostMs } : undefined
}

const NOTICES: Partial<Record<MachineAction['kind'], string>> = {
  RequestPermit: 'PermitRequested',
  Drain: 'Draining',
  ReplacePods: 'ReplacingPods',
  Uninstall: 'Uninstalling',
  OrderToLeave: 'HandingBack',
  RecordAbandoned: 'Abandoned',
  HandBackNode: 'HandedBack',
  DeleteHost: 'Removing',
  PowerCycle: 'PowerCycling',
  RemoveFinalizer: 'Removed',
}

export function noticeOf(action: MachineAction): Notice[] {
  const reason = action.kind === 'SyncNode' && action.areComponentsIn ? 'ComponentsIn' : NOTICES[action.kind]
  const isOrder = action.kind === 'WriteComponents' && action.given.length > 0
  if (isOrder) return [{ reason: 'SwitchOrdered', message: action.reason }]
  return reason === undefined ? [] : [{ reason, message: action.reason }]
}
