// Decides what delivery does with one object, from four sides: the commit that declares it, the cluster that has it, the Inventory that records it,
// and its owner. Pure. An unreadable object is neither deleted nor assumed to be deleted. An object of another owner is never written.
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
import { NO_OTHER_TARGET, type OtherTarget, type TargetKind } from './targets.ts'
import { mayWrite, type Writes } from './writes.ts'

/** An object as it is in the cluster. */
export interface LiveObject {
  readonly uid: string
  readonly resourceVersion: string
  /** The annotation: the commit that last changed it. */
  readonly commit: string | undefined
  /** Its owner, as namespace/name of the FleetSource. Absent: none. */
  readonly source?: string
  /** It belongs to the source according to an Inventory of an older release, and has no mark of its own yet. */
  readonly isUnmarked?: true
  /** Another writer created it before git declared it. */
  readonly isFound?: true
  /** Every declared field has its declared value. */
  readonly matches: boolean
  /** For kinds whose edit rolls out. */
  readonly content?: CommittedContent
  /** A hold lets exactly this content act for a while, so it stays. */
  readonly isAllowed?: boolean
  readonly isDeleting: boolean
  /** For a Cluster: how many machines are deleted with it. */
  readonly machines?: number | 'Unknown'
}

export type Live = LiveObject | 'Absent' | 'Unknown'

/** One object from all sides. Delivery ignores objects that are neither declared nor recorded. */
export interface Sides {
  readonly declared: DesiredObject | Rejected | undefined
  readonly recorded: InventoryRef | undefined
  readonly live: Live
}

/** The other inputs for an object that is no longer declared. */
export interface Claims {
  /** Declared but invalid. */
  readonly rejected: readonly Rejected[]
  /** By `refText`: now declared by another track. */
  readonly elsewhere: ReadonlySet<string>
  /** The other target of the source, if the hub is its own member. */
  readonly other?: OtherTarget
  /** By `refText`: what other tracks of the source record here. */
  readonly otherTracks?: ReadonlyMap<string, InventoryRef>
  /** Names of MachineComponents that machines, canaries or kept revisions still use. */
  readonly referenced: ReadonlySet<string>
}

export interface ClusterConfig {
  readonly commit: string
  /** namespace/name of the FleetSource. */
  readonly source: string
  readonly target: TargetKind
  /** Deleted sources whose objects this one takes over. */
  readonly replaces?: readonly string[]
  readonly writes?: Writes
  readonly prune: Required<FleetSourceSpec['prune']>
  /** Kinds whose deletion would delete everything inside. */
  readonly neverPruned?: ReadonlySet<string>
  readonly drift: FleetSourceSpec['drift']
  /** A hold: changes by others are reported and stay. In a settled cluster nothing is deleted either. Controllers keep acting on the same content. */
  readonly hold?: 'Drift' | 'DriftAndPrune'
  /** Every declared object is applied, even without a change. It is not read before. */
  readonly isRepeated?: true
}

export function diff(sides: Sides, claims: Claims, config: ClusterConfig): Operation {
  const { declared, recorded, live } = sides
  // Declared but invalid: neither applied nor deleted.
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

  // Another source owns it. The last writer never wins: the first owner keeps it until a user decides.
  if (isThere && isOfAnother(live, config))
    return { kind: 'Conflict', reason: 'OtherSource', ref, detail: ownedByAnother(live) }

  // No entry: it was never applied, or git had removed it.
  if (recorded === undefined) {
    // Its deletion is still running: a write now would be deleted with it. A set keeps its machines.
    if (isEnding && !isEndingSet) return { kind: 'Defer', reason: 'BeingDeleted', ref }
    return write('Create', 'New')
  }

  // The recorded content differs. Without a digest, the pass that applied it was killed, so its content is unknown.
  if (recorded.digest === undefined) return write('Update', 'Unrecorded')
  if (recorded.digest !== shortDigest(desired.digest)) return write('Update', 'Changed')

  // The content is as recorded. From here on, only changes by others matter.
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
  { rejected, elsewhere, other = NO_OTHER_TARGET, otherTracks, referenced }: Claims,
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
  const noted = otherTracks?.get(refText(ref))?.digest === undefined ? {} : { isNoted: true as const }
  const [isListed, isDeclared] = [other.listed.has(refText(ref)), other.declared.has(refText(ref))]

  // The same source declares it elsewhere: in another track, or for the other target of this cluster. If neither target declares it, the hub leaves
  // it to the member. If both left it to each other, it would be kept or lost for good.
  if (elsewhere.has(refText(ref))) return forget('MovedTrack')
  if (isListed && (isDeclared || target === 'Hub')) return forget('MovedTarget')

  // Nothing to delete, or nothing known about it.
  if (live === 'Absent') return { ...forget('Gone'), ...noted }
  if (live === 'Unknown') return defer('Unreadable')
  if (live.isDeleting) return defer('BeingDeleted')

  // Deletions that wait: for the other target, for the end of a hold, for a setting.
  if (isListed || isDeclared) return defer('PruneDeferred', OF_OTHER_TARGET[target])
  if (hold === 'DriftAndPrune') return defer('PruneDeferred', 'a hold stops deletions until it ends')
  if (!prune.enabled) return defer('PruneDisabled')

  // Not ours. An Inventory entry alone is no proof.
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

  return { kind: 'Delete', reason: 'Undeclared', ref, uid: live.uid, resourceVersion: live.resourceVersion, ...noted }
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

/** Limit for a mark that was written by hand. */
const MAX_SOURCE = 320

const ownedByAnother = ({ source = '' }: LiveObject): string =>
  numbered(deliveryErrors.KN7404({ owner: printableLine(source.slice(0, MAX_SOURCE)) }))

/** For releases that treated such a namespace like any other. */
const isOfControlPlane = ({ group, kind, namespace, name }: ObjectRef): boolean =>
  (group === '' && kind === 'Namespace' ? name : namespace).startsWith(CONTROL_PLANE_PREFIX)

/** A set that is declared again during its deletion: its machines stay, and the recreated set adopts them. */
const keepingMachines = (desired: DesiredObject): DesiredObject => {
  const { metadata } = desired.object
  const annotations = { ...metadata.annotations, [ANNOTATIONS.keepMachines]: 'true' }
  return { ...desired, object: { ...desired.object, metadata: { ...metadata, annotations } } }
}

/**
 * The content that controllers may act on. If drift is only reported or ignored, users may edit: the live content acts, and the result is undefined.
 * Exception: the configuration of agents, which acts as root on every node. Agents use only what an Inventory records.
 */
export const committedContent = (object: KubeObject, { drift }: ClusterConfig): CommittedContent | undefined =>
  drift === 'Correct' || isAgentConfigMap(object) ? contentOf(object) : undefined

/** A never-recorded object is not blocked before it is applied: it may belong to a user who has not handed it over. */
function meanwhileOf(
  { object }: DesiredObject,
  recorded: InventoryRef | undefined,
  live: Live,
  config: ClusterConfig,
): Pick<Write, 'meanwhile'> {
  const content = committedContent(object, config)
  if (content === undefined || recorded?.committed === undefined) return {}
  const before = recorded.committed.filter((c) => !jsonEqual(c, content))
  // An edited object has the content that it keeps.
  const there = before.filter((c) => typeof live === 'object' && jsonEqual(c, live.content))
  return { meanwhile: [content, ...(there.length > 0 ? there : before)].slice(0, MAX_COMMITTED) }
}

/**
 * An object to delete may be declared under another name by a rejected object, and is kept until that one is fixed. Undefined if none can be its successor.
 */
function successorOf(ref: ObjectRef, rejected: readonly Rejected[]): string | undefined {
  const found = (is: (of: ObjectRef) => boolean) => (is(ref) ? rejected.find((r) => is(r.ref)) : undefined)
  const set = found(isMachineSet)
  if (set !== undefined) return `${refText(set.ref)}, which may take over its machines`
  // An encrypted file that was renamed without the key cannot be opened. It is still the Secret with the old name.
  const secret = found(isSecret)
  return secret && `${refText(secret.ref)}, which may be the same under another name`
}

const isSecret = ({ group, kind }: ObjectRef): boolean => group === '' && kind === 'Secret'
