// An image's manifests: an index and its platforms'.
import { KubeNodeError } from '#lib/errors.ts'
import { isIndexType, isManifestType, readIndex } from './descriptor.ts'
import type { ImageStore, StoredManifest } from './image-store.ts'
import { ociErrors } from './oci-errors.ts'

export async function requireManifest(store: ImageStore, reference: string): Promise<StoredManifest> {
  const found = await store.manifest(reference)
  if (found === undefined) throw new KubeNodeError(ociErrors.KN13011_missing({ what: reference, place: store.place }))
  return found
}

/** The manifests of an index; a single-platform image has none. */
export async function childrenOf(store: ImageStore, { descriptor, bytes }: StoredManifest): Promise<StoredManifest[]> {
  const { mediaType, digest } = descriptor
  if (!isIndexType(mediaType)) return []
  const listed = readIndex(digest, bytes).manifests.filter((m) => isManifestType(m.mediaType))
  return Promise.all(listed.map((m) => requireManifest(store, m.digest)))
}
