// The operations of delivery, a closed list: what happens to one object of a cluster and to its entry in the Inventory. `diff` chooses one, `act`
// carries it out.
import type { CommittedContent } from '#api/protocol/committed.ts'
import type { DesiredObject } from './desired.ts'
import type { InventoryRef, ObjectRef } from './object-ref.ts'

export type Operation = Write | Keep | Report | Conflict | Delete | Forget | Defer

/** Server-side apply. The entry gets the digest of the applied content. */
export interface Write {
  /** `Create`: no entry exists. `Update`: the entry has different content, or none. `Restore`: the entry is as declared, but the cluster differs. */
  readonly kind: 'Create' | 'Update' | 'Restore'
  readonly reason: 'New' | 'Changed' | 'Unrecorded' | 'Unmarked' | 'Missing' | 'Drifted' | 'Repeated'
  readonly desired: DesiredObject
  /** For the annotation. */
  readonly commit: string
  /** Contents to act on until the new content is known to be applied. Includes the previous one. */
  readonly meanwhile?: readonly CommittedContent[]
}

/** Declared, and nothing to do. */
export interface Keep {
  readonly kind: 'Keep'
}

/** Declared, but different in the cluster, and left so. The entry stays. */
export interface Report {
  readonly kind: 'Report'
  readonly reason: 'Rejected' | 'DriftDetected' | 'EditAllowed'
  readonly ref: ObjectRef
  readonly detail: string
}

/** Declared here, but owned by another source. The object stays as it is, and the entry is removed. */
export interface Conflict {
  readonly kind: 'Conflict'
  readonly reason: 'OtherSource'
  readonly ref: ObjectRef
  readonly detail: string
}

/** Another track of the source records the object with content: the entry stays, without content, so that the other one does not bring it back. */
interface Noted {
  readonly isNoted?: true
}

/** No longer declared, and ours. Deleted if it is still this exact object. The entry is removed once the object no longer exists. */
export interface Delete extends Noted {
  readonly kind: 'Delete'
  readonly reason: 'Undeclared'
  readonly ref: InventoryRef
  readonly uid: string
  readonly resourceVersion: string
}

/** No longer declared, and either not ours or already deleted. The object stays as it is, and the entry is removed. */
export interface Forget extends Noted {
  readonly kind: 'Forget'
  readonly reason: 'Gone' | 'OtherObject' | 'OtherSource' | 'MovedTarget' | 'MovedTrack'
  readonly ref: ObjectRef
  readonly detail?: string
}

/** Waits for a later pass. Object and entry stay. */
export interface Defer {
  readonly kind: 'Defer'
  readonly reason: 'BeingDeleted' | 'Unreadable' | 'NeverPruned' | 'PruneDisabled' | 'PruneDeferred' | 'PruneBlocked'
  readonly ref: ObjectRef
  readonly detail?: string
}

export const isWrite = (operation: Operation): operation is Write =>
  operation.kind === 'Create' || operation.kind === 'Update' || operation.kind === 'Restore'

export const isDelete = (operation: Operation): operation is Delete => operation.kind === 'Delete'
