// Decides what delivery does with one object, from four sides: the commit that declares it, the cluster that has it, the Inventory that records it, and its owner. Pure.
// An object that cannot be read is neither deleted nor taken for deleted, and an object of another owner is never written.
import { isAgentConfigMap } from '#api/agent-config/agent-config-map.ts'
import type { FleetSourceSpec } from '#api/kinds/fleet-source.ts'
import { MAX_COMMITTED } from '#api/kinds/inventory.ts'
import { ANNOTATIONS, CONTROL_PLANE_PREFIX } from '#api/names.ts'
import { type CommittedContent, contentOf } from '#api/protocol/committed.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { defined } from '#lib/defined.ts'
import { numbered } from '#lib/errors.ts'
import { jsonEqual } from '#lib/json.ts'
import { printableLine } from '#lib/printable.ts'
import { deliveryErrors } from './delivery-errors.ts'
import { type DesiredObject, type Rejected, shortDigest } from './desired.ts'
import { isMachineSet } from './machine-loss.ts'
import { type InventoryRef, type ObjectRef, refText } from './object-ref.ts'
import type { Conflict, Defer, Delete, Forget, Keep, Operation, Report, Write } from './operation.ts'
import { successorOf } from './successor.ts'
import { NO_OTHER_TARGET, type OtherTarget, type TargetKind } from './targets.ts'
import { mayWrite, type Writes } from './writes.ts'

/** An object as the cluster has it. */
export interface LiveObject {
  readonly uid: string
  readonly resourceVersion: string
  /** The annotation: which commit last changed it. */
  readonly commit: string | undefined
  /** Its owner, as namespace/name of the FleetSource; absent: none. */
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

/** One object from all sides. Objects that are neither declared nor recorded are none of delivery's. */
export interface Sides {
  readonly declared: DesiredObject | Rejected | undefined
  readonly recorded: InventoryRef | undefined
  readonly live: Live
}

/** What else decides about an object that is not declared any more. */
export interface Claims {
  /** Declared too, but not valid. */
  readonly rejected: readonly Rejected[]
  /** By `refText`: declared by another track now. */
  readonly elsewhere: ReadonlySet<string>
  /** The other target of the source, where the hub is its own member. */
  readonly other?: OtherTarget
  /** Names of MachineComponents that machines, canaries or kept revisions still use. */
  readonly referenced: ReadonlySet<string>
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
  /** Kinds with which everything inside would be deleted. */
  readonly neverPruned?: ReadonlySet<string>
  readonly drift: FleetSourceSpec['drift']
  /** A hold: what others changed since is reported and stays as it is; in a cluster that is settled, nothing is deleted either. What controllers act on is the same. */
  readonly hold?: 'Drift' | 'DriftAndPrune'
  /** Whatever is declared is applied, also where nothing changed: it is not read before. */
  readonly isRepeated?: true
}

export function diff(sides: Sides, claims: Claims, config: ClusterConfig): Operation {
  const { declared, recorded, live } = sides
  // Declared, but wrong: neither applied nor deleted.
  if (declared !== undefined && 'problem' in declared)
    return { kind: 'Report', reason: 'Rejected', ref: declared.ref, detail: declared.problem }
  if (declared !== undefined) return declaredDiff(declared, recorded, live, config)
  if (recorded !== undefined) return undeclaredDiff(recorded, live, claims, config)
  return KEEP
}

const KEEP: Keep = { kind: 'Keep' }

function declaredDiff(
  desired: DesiredObject,
  recorded: InventoryRef | undefined,
  live: Live,
  config: ClusterConfig,
): Write | Keep | Report | Conflict | Defer {
  const { ref } = desired
  const { commit, hold, isRepeated } = config
  const isThere = typeof live === 'object'
  const isEnding = isThere && live.isDeleting
  const isEndingSet = isEnding && isMachineSet(ref)
  const write = (kind: Write['kind'], reason: Write['reason'], by = commit): Write => ({
    kind,
    reason,
    desired: isEndingSet ? keepingMachines(desired) : desired,
    commit: by,
    ...meanwhileOf(desired, recorded, live, config),
  })
  const drift = hold !== undefined && config.drift === 'Correct' ? 'Detect' : config.drift
  const drifted = (what: string): Report | Keep =>
    drift === 'Detect'
      ? { kind: 'Report', reason: 'DriftDetected', ref, detail: `${what}${hold === undefined ? '' : HELD}` }
      : KEEP

  // Another source owns it. Never last writer wins: the first one keeps it until a user decides.
  if (isThere && isOfAnother(live, config))
    return { kind: 'Conflict', reason: 'OtherSource', ref, detail: ownedByAnother(live) }

  // No entry: it was never applied, or git had taken it out.
  if (recorded === undefined) {
    // Its deletion is still running: what is written now would be deleted with it. A set keeps its machines.
    if (isEnding && !isEndingSet) return { kind: 'Defer', reason: 'BeingDeleted', ref }
    return write('Create', 'New')
  }

  // Other content than recorded. Without a digest the pass that applied it was killed, so that it may have any.
  if (recorded.digest === undefined) return write('Update', 'Unrecorded')
  if (recorded.digest !== shortDigest(desired.digest)) return write('Update', 'Changed')

  // Content as recorded: from here on it is about what others did since.
  if (isRepeated === true) return write('Restore', 'Repeated')
  if (live === 'Unknown') return KEEP
  if (live === 'Absent') return drift === 'Correct' ? write('Restore', 'Missing') : drifted('deleted in the cluster')
  if (isEndingSet && drift === 'Correct') return write('Restore', 'Missing')
  if (isEnding) return { kind: 'Defer', reason: 'BeingDeleted', ref }
  if (live.matches) return isMarked(live, config) ? KEEP : write('Update', 'Unmarked', live.commit)
  if (live.isAllowed === true)
    return { kind: 'Report', reason: 'EditAllowed', ref, detail: 'a hold lets the edited content act' }
  // The same content is restored, so the commit that last changed it stays the same.
  return drift === 'Correct' ? write('Restore', 'Drifted', live.commit) : drifted('changed in the cluster')
}

function undeclaredDiff(
  ref: InventoryRef,
  live: Live,
  { rejected, elsewhere, other = NO_OTHER_TARGET, referenced }: Claims,
  config: ClusterConfig,
): Delete | Forget | Defer {
  const { hold, prune, neverPruned, writes, target } = config
  const forget = (reason: Forget['reason'], detail?: string): Forget => ({
    kind: 'Forget',
    reason,
    ref,
    ...defined({ detail }),
  })
  const defer = (reason: Defer['reason'], detail?: string): Defer => ({
    kind: 'Defer',
    reason,
    ref,
    ...defined({ detail }),
  })
  const [isListed, isDeclared] = [other.listed.has(refText(ref)), other.declared.has(refText(ref))]

  // The same source has it elsewhere: in another track, or for the other target of this cluster. Where neither target declares it, the hub leaves it to the
  // member: two that leave it to each other would keep it, or lose it, for good.
  if (elsewhere.has(refText(ref))) return forget('MovedTrack')
  if (isListed && (isDeclared || target === 'Hub')) return forget('MovedTarget')

  // Nothing to delete, or nothing known about it.
  if (live === 'Absent') return forget('Gone')
  if (live === 'Unknown') return defer('Unreadable')
  if (live.isDeleting) return defer('BeingDeleted')

  // Deletions wait: for the other target, for the end of a hold, for a setting.
  if (isListed || isDeclared) return defer('PruneDeferred', OF_OTHER_TARGET[target])
  if (hold === 'DriftAndPrune') return defer('PruneDeferred', 'a hold stops deletions until it ends')
  if (!prune.enabled) return defer('PruneDisabled')

  // Not ours. An Inventory alone is no proof.
  if (ref.uid !== undefined && ref.uid !== live.uid)
    return forget('OtherObject', 'replaced by another object of the same name')
  if (isOfAnother(live, config)) return forget('OtherSource', ownedByAnother(live))
  if (live.source === undefined) return forget('OtherObject', `it no longer has the annotation ${ANNOTATIONS.source}`)
  if (live.isFound === true) return forget('OtherObject', FOUND)
  if (isOfControlPlane(ref)) return forget('OtherObject', OF_CONTROL_PLANE)

  // Ours, but kept.
  if (neverPruned?.has(ref.kind) === true) return defer('NeverPruned')
  if (!mayWrite(writes, ref)) return defer('PruneDisabled', 'spec.writes no longer allows it')
  if (ref.kind === 'MachineComponent' && referenced.has(ref.name))
    return defer('PruneDeferred', 'machines, canaries or kept revisions still use it')
  const successor = successorOf(ref, rejected)
  if (successor !== undefined) return defer('PruneDeferred', `${successor}, is not valid`)

  return { kind: 'Delete', reason: 'Undeclared', ref, uid: live.uid, resourceVersion: live.resourceVersion }
}

const HELD = '; it is corrected when the hold ends'
const FOUND = 'another writer had made it before git declared it; if it is no longer needed, delete it with kubectl'
const OF_CONTROL_PLANE = 'it is in the namespace of a control plane, where git deletes nothing'
const OF_OTHER_TARGET: Readonly<Record<TargetKind, string>> = {
  Hub: 'this cluster is also a member, whose part of the commit still has it',
  Member: 'this cluster is also the hub, whose part of the commit still has it',
}

const isMarked = ({ source, isUnmarked }: LiveObject, config: ClusterConfig): boolean =>
  source === config.source && isUnmarked !== true

const isOfAnother = ({ source }: LiveObject, config: ClusterConfig): boolean =>
  source !== undefined && source !== config.source && config.replaces?.includes(source) !== true

/** For a mark that was written by hand. */
const MAX_SOURCE = 320

const ownedByAnother = ({ source = '' }: LiveObject): string =>
  numbered(deliveryErrors.KN7404({ owner: printableLine(source.slice(0, MAX_SOURCE)) }))

/** Of releases that took such a namespace for an ordinary one. */
const isOfControlPlane = ({ group, kind, namespace, name }: ObjectRef): boolean =>
  (group === '' && kind === 'Namespace' ? name : namespace).startsWith(CONTROL_PLANE_PREFIX)

/** A set that is declared again while it is being deleted: its machines stay, and the set that is then created adopts them. */
const keepingMachines = (desired: DesiredObject): DesiredObject => {
  const { metadata } = desired.object
  const annotations = { ...metadata.annotations, [ANNOTATIONS.keepMachines]: 'true' }
  return { ...desired, object: { ...desired.object, metadata: { ...metadata, annotations } } }
}

/**
 * The content that controllers may act on. Where drift is only reported, or ignored, users may edit: the live content acts, which is undefined here. Except for
 * the configuration of agents, which acts as root on every node: they use only what an Inventory records.
 */
export const committedContent = (object: KubeObject, { drift }: ClusterConfig): CommittedContent | undefined =>
  drift === 'Correct' || isAgentConfigMap(object) ? contentOf(object) : undefined

/** A never-recorded object is not blocked before it is applied: it may be a user's who has not handed it over. */
function meanwhileOf(
  { object }: DesiredObject,
  recorded: InventoryRef | undefined,
  live: Live,
  config: ClusterConfig,
): Pick<Write, 'meanwhile'> {
  const content = committedContent(object, config)
  if (content === undefined || recorded?.committed === undefined) return {}
  const before = recorded.committed.filter((c) => !jsonEqual(c, content))
  // An edited object has the one that it keeps of them.
  const there = before.filter((c) => typeof live === 'object' && jsonEqual(c, live.content))
  return { meanwhile: [content, ...(there.length > 0 ? there : before)].slice(0, MAX_COMMITTED) }
}
