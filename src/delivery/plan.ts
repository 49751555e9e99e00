// Decides what to apply to one cluster and what to delete: rendered objects against the inventory and the live state. Pure.
// One bad object costs itself only; an unreadable object is neither deleted nor assumed to be deleted.
import { isAgentConfigMap } from '#api/agent-config/agent-config-map.ts'
import type { FleetSourceSpec } from '#api/kinds/fleet-source.ts'
import { MAX_COMMITTED, MAX_PRUNED } from '#api/kinds/inventory.ts'
import type { Machine } from '#api/kinds/machine.ts'
import { MAX_HELD_CLUSTERS, type ReleaseStatus } from '#api/kinds/release.ts'
import { ANNOTATIONS, CONTROL_PLANE_PREFIX } from '#api/names.ts'
import { type CommittedContent, contentOf } from '#api/protocol/committed.ts'
import { defined } from '#lib/defined.ts'
import { numbered } from '#lib/errors.ts'
import type { Pruning } from '#api/protocol/pruning.ts'
import { jsonEqual } from '#lib/json.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { printableLine } from '#lib/printable.ts'
import { isCluster, isMachineSet, lossOf, takesFrom } from './machine-loss.ts'
import { compareRefs, refText, type ObjectRef } from './object-ref.ts'
import { mayWrite, type Writes } from './writes.ts'
import { deliveryErrors } from './delivery-errors.ts'
import type { DesiredObject, Rejected } from './desired.ts'
import { orderOf } from './order.ts'
import { allowedPrunes, pruneDigest, pruneTargets } from './prune-guard.ts'
import { successorOf } from './successor.ts'
import { NO_OTHER_TARGET, type OtherTarget, type TargetKind } from './targets.ts'

export interface InventoryRef extends ObjectRef {
  readonly uid?: string
  /** Start of the digest of what was applied; absent when it is unknown whether it was. */
  readonly digest?: string
  /** Contents that controllers may act on; absent: the live one. */
  readonly committed?: readonly CommittedContent[]
}

export interface LiveObject {
  readonly uid: string
  readonly resourceVersion: string
  /** The annotation: which commit last changed it. */
  readonly commit: string | undefined
  /** The owner of its commit, as namespace/name of the FleetSource; absent: none. */
  readonly source?: string
  /** It belongs to the source by an Inventory of an older release, and does not say so itself yet. */
  readonly isUnmarked?: true
  /** Another writer had made it before git declared it. */
  readonly isFound?: true
  /** Every declared field has its declared value. */
  readonly matches: boolean
  /** Of kinds whose edit rolls out. */
  readonly content?: CommittedContent
  /** A hold lets exactly this content act for a while, so it stays. */
  readonly isAllowed?: boolean
  readonly isDeleting: boolean
  /** Of a Cluster: how many machines go with it. */
  readonly machines?: number | 'Unknown'
}

export type Live = LiveObject | 'Absent' | 'Unknown'

export interface ClusterSeen {
  readonly desired: readonly DesiredObject[]
  readonly rejected: readonly Rejected[]
  /** What this source and track applied. */
  readonly inventory: readonly InventoryRef[]
  /** By `refText`; a missing entry is unknown. */
  readonly live: ReadonlyMap<string, Live>
  /** By `refText`: declared by another track now. */
  readonly elsewhere: ReadonlySet<string>
  /** The other target of the source, where the hub is its own member. */
  readonly other?: OtherTarget
  /** Names of MachineComponents that machines, canaries or kept revisions still use. */
  readonly referenced: ReadonlySet<string>
  /** Digests of approved deletions. */
  readonly approved: ReadonlySet<string>
  /** Digests of deletions for which the hub's Defender granted a permit; absent: the target is not one that the Defender counts. */
  readonly permitted?: ReadonlySet<string>
  /** Read only when something that holds machines is not declared any more. */
  readonly machines: readonly Machine[]
}

export interface ClusterConfig {
  readonly commit: string
  /** namespace/name of the FleetSource. */
  readonly source: string
  readonly target: TargetKind
  /** Deleted sources whose objects are this one's. */
  readonly replaces?: readonly string[]
  readonly writes?: Writes
  readonly prune: Required<FleetSourceSpec['prune']>
  readonly drift: FleetSourceSpec['drift']
  /** A hold: what others changed since is reported and stays as it is; in a cluster that is settled, nothing is deleted either. What controllers act on is the same. */
  readonly hold?: 'Drift' | 'DriftAndPrune'
}

type ApplyReason = 'New' | 'Changed' | 'Missing' | 'Drifted' | 'Unrecorded' | 'Unmarked'

export interface ApplyAction {
  readonly kind: 'Apply'
  readonly reason: ApplyReason
  readonly desired: DesiredObject
  /** For the annotation. */
  readonly commit: string
  /** Contents to act on until the new one is known to be applied: includes the previous one. */
  readonly meanwhile?: readonly CommittedContent[]
}

export interface PruneAction {
  readonly kind: 'Prune'
  readonly reason: 'Undeclared'
  readonly ref: InventoryRef
  readonly uid: string
  readonly resourceVersion: string
}

type ClusterAction = ApplyAction | PruneAction

type SkipReason =
  | 'Rejected'
  | 'DriftDetected'
  | 'EditAllowed'
  | 'Unreadable'
  | 'PruneDeferred'
  | 'PruneBlocked'
  | 'PruneDisabled'
  | 'OtherObject'
  | 'OtherSource'
  | 'MovedTarget'
  | 'MovedTrack'
  | 'Gone'
  | 'BeingDeleted'

export interface Skip {
  readonly ref: ObjectRef
  readonly reason: SkipReason
  readonly detail?: string
  /** The commit declares it. */
  readonly isDeclared?: true
}

/** Deletions that the guard blocks until their digest is approved. */
type KeptPrune = NonNullable<NonNullable<ReleaseStatus['clusters']>[number]['prune']>

export interface HeldPrune extends Omit<KeptPrune, 'permit'> {
  /** Approved; they wait for the Defender. */
  readonly isApproved?: true
}

export interface ClusterPlan {
  readonly actions: readonly ClusterAction[]
  readonly skips: readonly Skip[]
  readonly unchanged: number
  /** By `refText`, the declared specs of kinds whose edit rolls out: only these may act. Undefined where drift is not corrected: the live spec acts. */
  readonly committed: ReadonlyMap<string, CommittedContent | undefined>
  /** Set when the guard blocks deletions: what an Approval has to name. */
  readonly blocked?: HeldPrune
  /** Set when a user approved these deletions. */
  readonly pruning?: Pruning
  readonly approved?: ApprovedPrune
}

/** Deletions above the guard that go ahead. */
interface ApprovedPrune {
  readonly digest: string
  readonly count: number
}

/** Digests in inventories are cut to this; sixteen digits tell a fleet's objects apart with room to spare. */
const DIGEST_DIGITS = 16
export const shortDigest = (digest: string): string => digest.slice(0, DIGEST_DIGITS)

export function planCluster(seen: ClusterSeen, config: ClusterConfig): ClusterPlan {
  const known = new Map(seen.inventory.map((ref) => [refText(ref), ref]))
  const applies: ApplyAction[] = []
  const skips: Skip[] = seen.rejected.map(({ ref, problem }) => ({ ref, reason: 'Rejected', detail: problem }))
  let unchanged = 0
  for (const desired of seen.desired) {
    const verdict = judgeDesired(desired, known.get(refText(desired.ref)), seen, config)
    if (verdict === 'Unchanged') unchanged++
    else if ('kind' in verdict) applies.push(verdict)
    else skips.push(verdict)
  }
  const prunes = planPrunes(seen, config)
  const heldBack = prunes.blocked === undefined ? [] : waitingSets(applies, prunes.held, seen)
  applies.sort((a, b) => orderOf(a.desired.ref) - orderOf(b.desired.ref) || compareRefs(a.desired.ref, b.desired.ref))
  return {
    actions: [...applies.filter((a) => !heldBack.includes(a)), ...prunes.actions],
    skips: [
      ...skips,
      ...prunes.skips,
      ...heldBack.map(({ desired: { ref } }): Skip => ({ ref, reason: 'PruneBlocked', detail: TAKES_OVER })),
    ],
    unchanged,
    committed: committedOf(seen.desired, config),
    ...defined({ blocked: prunes.blocked, pruning: prunes.pruning, approved: prunes.approved }),
  }
}

const TAKES_OVER = 'takes over machines of a set whose deletion waits for approval'

/** Both halves of a rename wait together: applied alone, the new set would make all machines a second time. */
const waitingSets = (
  applies: readonly ApplyAction[],
  held: readonly PruneAction[],
  { machines }: ClusterSeen,
): readonly ApplyAction[] => {
  const sets = held.filter(({ ref }) => isMachineSet(ref))
  return applies.filter(({ desired }) => sets.some(({ uid }) => takesFrom(desired, uid, machines)))
}

/**
 * Where drift is only reported, or ignored, users may edit: the live content acts. Except for the configuration of agents, which acts as root
 * on every node: they use only what an Inventory records.
 */
const isHeld = (object: KubeObject, { drift }: ClusterConfig): boolean =>
  drift === 'Correct' || isAgentConfigMap(object)

const committedOf = (desired: readonly DesiredObject[], config: ClusterConfig): ClusterPlan['committed'] =>
  new Map(
    desired.flatMap(({ ref, object }) => {
      const content = contentOf(object)
      return content === undefined ? [] : [[refText(ref), isHeld(object, config) ? content : undefined] as const]
    }),
  )

/** A never-recorded object is not blocked before it is applied: it may be a user's who has not handed it over. */
function meanwhileOf(
  { object }: DesiredObject,
  applied: InventoryRef | undefined,
  live: Live,
  config: ClusterConfig,
): Pick<ApplyAction, 'meanwhile'> {
  const content = isHeld(object, config) ? contentOf(object) : undefined
  if (content === undefined || applied?.committed === undefined) return {}
  const before = applied.committed.filter((c) => !jsonEqual(c, content))
  // An edited object has the one that it keeps of them.
  const there = before.filter((c) => typeof live === 'object' && jsonEqual(c, live.content))
  return { meanwhile: [content, ...(there.length > 0 ? there : before)].slice(0, MAX_COMMITTED) }
}

function judgeDesired(
  desired: DesiredObject,
  applied: InventoryRef | undefined,
  { live: all }: ClusterSeen,
  config: ClusterConfig,
): ApplyAction | Skip | 'Unchanged' {
  const { ref } = desired
  const { commit, hold } = config
  const drift = hold !== undefined && config.drift === 'Correct' ? 'Detect' : config.drift
  const because = hold === undefined ? '' : HELD
  const live = all.get(refText(ref)) ?? 'Unknown'
  const isEndingSet = typeof live === 'object' && live.isDeleting && isMachineSet(ref)
  const apply = (reason: ApplyReason, by = commit): ApplyAction => ({
    kind: 'Apply',
    reason,
    desired: isEndingSet ? keepingMachines(desired) : desired,
    commit: by,
    ...meanwhileOf(desired, applied, live, config),
  })
  if (typeof live === 'object' && isOfAnother(live, config)) return { ...ofAnother(ref, live), isDeclared: true }
  // Git took it out and brings it back: it is created again after its deletion. What is written to it now would be deleted with it.
  if (applied === undefined && typeof live === 'object' && live.isDeleting && !isEndingSet)
    return { ref, reason: 'BeingDeleted' }
  const isRecorded = applied?.digest === shortDigest(desired.digest)
  if (applied === undefined) return apply('New')
  if (!isRecorded) return apply(applied.digest === undefined ? 'Unrecorded' : 'Changed')
  // Content as recorded: from here on it is about what others did since.
  if (live === 'Unknown') return 'Unchanged'
  if (live === 'Absent')
    return drift === 'Off' || drift === 'Detect'
      ? drifted(drift, ref, `deleted in the cluster${because}`)
      : apply('Missing')
  if (isEndingSet && drift === 'Correct') return apply('Missing')
  if (live.isDeleting) return { ref, reason: 'BeingDeleted' }
  if (live.matches) return isMarked(live, config) ? 'Unchanged' : apply('Unmarked', live.commit ?? commit)
  if (live.isAllowed === true) return { ref, reason: 'EditAllowed', detail: 'a hold lets the edited content act' }
  // The same content is restored, so the commit that last changed it stays the same.
  return drift === 'Correct'
    ? apply('Drifted', live.commit ?? commit)
    : drifted(drift, ref, `changed in the cluster${because}`)
}

const isMarked = ({ source, isUnmarked }: LiveObject, config: ClusterConfig): boolean =>
  source === config.source && isUnmarked !== true

const isOfAnother = ({ source }: LiveObject, config: ClusterConfig): boolean =>
  source !== undefined && source !== config.source && config.replaces?.includes(source) !== true

/** Never last writer wins: the first one keeps it until a user decides. */
const ofAnother = (ref: ObjectRef, { source = '' }: LiveObject): Skip => ({
  ref,
  reason: 'OtherSource',
  detail: numbered(deliveryErrors.KN7404({ owner: printableLine(source.slice(0, MAX_SOURCE)) })),
})

/** For a mark that was written by hand. */
const MAX_SOURCE = 320

/** A set that is declared again while it is being deleted: its machines stay, and the set that is then created adopts them. */
const keepingMachines = (desired: DesiredObject): DesiredObject => {
  const { metadata } = desired.object
  const annotations = { ...metadata.annotations, [ANNOTATIONS.keepMachines]: 'true' }
  return { ...desired, object: { ...desired.object, metadata: { ...metadata, annotations } } }
}

const HELD = '; it is corrected when the hold ends'

const drifted = (drift: 'Detect' | 'Off', ref: ObjectRef, detail: string): Skip | 'Unchanged' =>
  drift === 'Detect' ? { ref, reason: 'DriftDetected', detail } : 'Unchanged'

interface Prunes {
  readonly actions: readonly PruneAction[]
  /** Those that wait for an approval. */
  readonly held: readonly PruneAction[]
  readonly skips: readonly Skip[]
  readonly blocked?: NonNullable<ClusterPlan['blocked']>
  readonly pruning?: Pruning
  readonly approved?: ApprovedPrune
}

function planPrunes(seen: ClusterSeen, config: ClusterConfig): Prunes {
  const declared = new Set([...seen.desired, ...seen.rejected].map(({ ref }) => refText(ref)))
  const actions: PruneAction[] = []
  const skips: Skip[] = []
  for (const ref of seen.inventory) {
    if (declared.has(refText(ref))) continue
    const verdict = judgePrune(ref, seen, config)
    if ('kind' in verdict) actions.push(verdict)
    else skips.push(verdict)
  }
  // Backwards: dependents are deleted first.
  actions.sort((a, b) => orderOf(b.ref) - orderOf(a.ref) || compareRefs(a.ref, b.ref))
  const { guard } = config.prune
  const allowed = allowedPrunes(guard, seen.inventory.length)
  const here = lossOf(actions, seen.desired, seen.machines, (ref) => liveUid(seen, ref))
  const inClusters = lossOfClusters(actions, seen)
  const lost = here.lost + inClusters.lost
  const allowedMachines = allowedPrunes(guard, here.total + inClusters.lost)
  const passes: Prunes = { actions, held: [], skips }
  // The guard that allows all of them allows any number.
  const isCounted = !inClusters.isUnknown || guard === '100%'
  if (actions.length <= allowed && lost <= allowedMachines && isCounted) return passes
  const [first] = actions
  const digest = pruneDigest(actions)
  if (first === undefined) return passes
  const isApproved = seen.approved.has(digest)
  if (isApproved && seen.permitted?.has(digest) !== false)
    return {
      ...passes,
      approved: { digest, count: actions.length },
      ...(actions.length <= MAX_PRUNED && { pruning: { digest, targets: pruneTargets(actions) } }),
    }
  return {
    actions: [],
    held: actions,
    skips: [...skips, ...actions.map(({ ref }): Skip => ({ ref, reason: 'PruneBlocked' }))],
    blocked: {
      digest,
      count: actions.length,
      allowed,
      first: refText(first.ref),
      ...heldClusters(actions),
      ...(lost > 0 && { machines: lost, allowedMachines }),
      ...(isApproved && { isApproved }),
    },
  }
}

/** All of its machines go with a Cluster, as when git took its pools out of it one by one. */
function lossOfClusters(actions: readonly PruneAction[], { live }: ClusterSeen) {
  const counts = actions
    .filter(({ ref }) => isCluster(ref))
    .map(({ ref }) => {
      const found = live.get(refText(ref))
      return typeof found === 'object' ? (found.machines ?? 0) : 0
    })
  const known = counts.filter((n) => n !== 'Unknown')
  return { lost: known.reduce((sum, n) => sum + n, 0), isUnknown: known.length < counts.length }
}

/** Its data counts as one object in the limits. */
function heldClusters(actions: readonly PruneAction[]): Pick<HeldPrune, 'clusters'> {
  const clusters = actions.filter(({ ref }) => isCluster(ref))
  if (clusters.length === 0) return {}
  return { clusters: clusters.slice(0, MAX_HELD_CLUSTERS).map(({ ref }) => `${ref.namespace}/${ref.name}`) }
}

function liveUid({ live }: ClusterSeen, ref: ObjectRef): string | undefined {
  const found = live.get(refText(ref))
  return typeof found === 'object' ? found.uid : undefined
}

function judgePrune(
  ref: InventoryRef,
  { live: all, elsewhere, referenced, rejected, other = NO_OTHER_TARGET }: ClusterSeen,
  config: ClusterConfig,
): PruneAction | Skip {
  const { hold, prune, writes, target } = config
  const [isListed, isDeclared] = [other.listed.has(refText(ref)), other.declared.has(refText(ref))]
  const live = all.get(refText(ref)) ?? 'Unknown'
  if (elsewhere.has(refText(ref))) return { ref, reason: 'MovedTrack' }
  // Where neither declares it, the hub leaves it to the member: two that leave it to each other would keep it, or lose it, for good.
  if (isListed && (isDeclared || target === 'Hub')) return { ref, reason: 'MovedTarget' }
  if (live === 'Absent') return { ref, reason: 'Gone' }
  if (live === 'Unknown') return { ref, reason: 'Unreadable' }
  if (live.isDeleting) return { ref, reason: 'BeingDeleted' }
  if (isListed || isDeclared) return { ref, reason: 'PruneDeferred', detail: OF_OTHER_TARGET[target] }
  if (hold === 'DriftAndPrune') return { ref, reason: 'PruneDeferred', detail: 'a hold stops deletions until it ends' }
  if (!prune.enabled) return { ref, reason: 'PruneDisabled' }
  if (ref.uid !== undefined && ref.uid !== live.uid)
    return { ref, reason: 'OtherObject', detail: 'replaced by another object of the same name' }
  // An Inventory alone is no proof.
  if (isOfAnother(live, config)) return ofAnother(ref, live)
  if (live.source === undefined)
    return { ref, reason: 'OtherObject', detail: `it no longer has the annotation ${ANNOTATIONS.source}` }
  if (live.isFound === true) return { ref, reason: 'OtherObject', detail: FOUND }
  if (isOfControlPlane(ref)) return { ref, reason: 'OtherObject', detail: OF_CONTROL_PLANE }
  if (!mayWrite(writes, ref)) return { ref, reason: 'PruneDisabled', detail: 'spec.writes no longer allows it' }
  if (ref.kind === 'MachineComponent' && referenced.has(ref.name))
    return { ref, reason: 'PruneDeferred', detail: 'machines, canaries or kept revisions still use it' }
  const successor = successorOf(ref, rejected)
  if (successor !== undefined) return { ref, reason: 'PruneDeferred', detail: `${successor}, is not valid` }
  return { kind: 'Prune', reason: 'Undeclared', ref, uid: live.uid, resourceVersion: live.resourceVersion }
}

const FOUND = 'another writer had made it before git declared it; if it is no longer needed, delete it with kubectl'
const OF_CONTROL_PLANE = 'it is in the namespace of a control plane, where git deletes nothing'

/** Of releases that took such a namespace for an ordinary one. */
const isOfControlPlane = ({ group, kind, namespace, name }: ObjectRef): boolean =>
  (group === '' && kind === 'Namespace' ? name : namespace).startsWith(CONTROL_PLANE_PREFIX)

const OF_OTHER_TARGET: Readonly<Record<TargetKind, string>> = {
  Hub: 'this cluster is also a member, whose part of the commit still has it',
  Member: 'this cluster is also the hub, whose part of the commit still has it',
}
