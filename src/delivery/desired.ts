// The desired objects of a cluster, each with its identity and digest.
import { sha256OfJson } from '#lib/sha256.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { refOf, refText, type ObjectRef } from './object-ref.ts'

export interface DesiredObject {
  readonly ref: ObjectRef
  readonly object: KubeObject
  /** SHA-256 of the canonical object. Equal digests mean no change. */
  readonly digest: string
  /** The line of the fleet that declared it: `fleet/machines/workers.ts:14`. */
  readonly place?: string
  /** The encrypted file of this Secret. The digest is of the encrypted content in the commit, so that nothing stored reveals its values. */
  readonly sealed?: string
}

export interface Rejected {
  readonly ref: ObjectRef
  readonly problem: string
  readonly place?: string
}

/** `MachineSet.kubenode.io/web (fleet/machines/workers.ts:14)`: what a user searches for in the fleet. */
export const placedText = ({ ref, place }: Pick<DesiredObject, 'ref' | 'place'>): string =>
  place === undefined ? refText(ref) : `${refText(ref)} (${place})`

export interface RenderedTarget {
  readonly objects: readonly DesiredObject[]
  /** Declared but invalid: neither applied nor pruned. */
  readonly rejected: readonly Rejected[]
}

export type Targets = ReadonlyMap<string, RenderedTarget>

/** Digests in inventories are cut to this length. Sixteen digits distinguish a fleet's objects with room to spare. */
const DIGEST_DIGITS = 16
export const shortDigest = (digest: string): string => digest.slice(0, DIGEST_DIGITS)

export const desiredOf = (object: KubeObject): DesiredObject => ({
  ref: refOf(object),
  object,
  digest: sha256OfJson(object),
})
