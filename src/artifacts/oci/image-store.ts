// Where images are: a layout on this machine or a repository of a registry. Both hold blobs and manifests by digest, and tags that name manifests.
import type { Descriptor } from './descriptor.ts'

/** What a blob is uploaded from; read again when an upload continues. */
export interface BlobSource {
  readonly descriptor: Descriptor
  /** Pieces of the content from this offset on. */
  readonly from: (offset: number) => AsyncIterable<Buffer>
}

export interface StoredManifest {
  readonly descriptor: Descriptor
  readonly bytes: Buffer
}

export interface ImageStore {
  /** For messages. */
  readonly place: string
  /** By tag or digest; its bytes have the digest. */
  manifest(reference: string): Promise<StoredManifest | undefined>
  putManifest(manifest: StoredManifest, tag?: string): Promise<void>
  hasBlob(descriptor: Descriptor): Promise<boolean>
  /** Fails unless the content has the digest and the size of the descriptor. */
  openBlob(descriptor: Descriptor): BlobSource
  putBlob(source: BlobSource): Promise<void>
  /** Manifests whose subject this digest is. */
  referrers(digest: string): Promise<readonly Descriptor[]>
}

/** A small blob as a whole. */
export async function readBlob(store: ImageStore, descriptor: Descriptor): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of store.openBlob(descriptor).from(0)) pieces.push(piece)
  return Buffer.concat(pieces)
}

export const bytesSource = (descriptor: Descriptor, bytes: Buffer): BlobSource => ({
  descriptor,
  async *from(offset) {
    await Promise.resolve()
    yield bytes.subarray(offset)
  },
})
