// A place for images: a layout on this machine or a registry's repository. Both store blobs and manifests by digest, and tags for manifests.
import type { Descriptor } from './descriptor.ts'

/** The source of a blob upload; read again if the upload continues. */
export interface BlobSource {
  readonly descriptor: Descriptor
  /** Chunks of the content from this offset on. */
  readonly from: (offset: number) => AsyncIterable<Buffer>
}

export interface StoredManifest {
  readonly descriptor: Descriptor
  readonly bytes: Buffer
}

export interface ImageStore {
  /** For messages. */
  readonly place: string
  /** By tag or digest; the bytes match the digest. */
  manifest(reference: string): Promise<StoredManifest | undefined>
  putManifest(manifest: StoredManifest, tag?: string): Promise<void>
  hasBlob(descriptor: Descriptor): Promise<boolean>
  /** Fails unless the content matches the descriptor's digest and size. */
  openBlob(descriptor: Descriptor): BlobSource
  putBlob(source: BlobSource): Promise<void>
  /** Manifests whose subject is this digest. */
  referrers(digest: string): Promise<readonly Descriptor[]>
}

/** Reads a small blob completely. */
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
