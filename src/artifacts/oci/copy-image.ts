// Copies an image with all its parts and everything that refers to it: SBOMs, signatures.
import { isIndexType, readManifest, type Descriptor } from './descriptor.ts'
import type { ImageStore, StoredManifest } from './image-store.ts'
import { childrenOf, requireManifest } from './image-tree.ts'
import { signatureTag } from './signature-tag.ts'
import { defined } from '#lib/defined.ts'

export interface CopyOptions {
  readonly from: ImageStore
  readonly to: ImageStore
  /** Tag or digest. */
  readonly reference: string
  readonly tag?: string
  readonly onBytes?: (sent: SentBytes) => void
}

/** Counts blobs that the target did not have. */
export interface SentBytes {
  readonly doneBytes: number
  readonly totalBytes: number
}

/** Returns the digest. Skips blobs that the target already has. Sets the tag last, so it never names half an image. */
export async function copyImage({ from, to, reference, tag, onBytes }: CopyOptions): Promise<string> {
  const image = await requireManifest(from, reference)
  const all = [image, ...(await childrenOf(from, image))]
  await copyBlobs(from, to, all, onBytes)
  for (const manifest of all.slice(1)) await to.putManifest(manifest)
  await to.putManifest(image, tag)
  for (const { descriptor } of all)
    for (const referrer of await from.referrers(descriptor.digest)) {
      const about = await requireManifest(from, referrer.digest)
      const { artifactType } = readManifest(referrer.digest, about.bytes)
      await copyBlobs(from, to, [about])
      const isSignature = (await from.manifest(signatureTag(descriptor.digest)))?.descriptor.digest === referrer.digest
      const described = { ...about.descriptor, ...defined({ artifactType }) }
      await to.putManifest(
        { ...about, descriptor: described },
        isSignature ? signatureTag(descriptor.digest) : undefined,
      )
    }
  return image.descriptor.digest
}

async function copyBlobs(
  from: ImageStore,
  to: ImageStore,
  manifests: readonly StoredManifest[],
  onBytes: (sent: SentBytes) => void = () => undefined,
): Promise<void> {
  const missing: Descriptor[] = []
  for (const blob of blobsOf(manifests)) if (!(await to.hasBlob(blob))) missing.push(blob)
  const totalBytes = missing.reduce((sum, { size }) => sum + size, 0)
  let doneBytes = 0
  for (const blob of missing) {
    const before = doneBytes
    const source = from.openBlob(blob)
    await to.putBlob({
      descriptor: blob,
      // An interrupted upload continues at the target's offset.
      from: async function* (offset) {
        doneBytes = before + offset
        for await (const piece of source.from(offset)) {
          yield piece
          doneBytes += piece.length
          onBytes({ doneBytes, totalBytes })
        }
      },
    })
  }
}

function blobsOf(manifests: readonly StoredManifest[]): readonly Descriptor[] {
  const all = manifests.flatMap(({ descriptor, bytes }) => {
    if (isIndexType(descriptor.mediaType)) return []
    const { config, layers } = readManifest(descriptor.digest, bytes)
    return [config, ...layers]
  })
  return [...new Map(all.map((b) => [b.digest, b])).values()]
}
