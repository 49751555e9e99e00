// Copies an image with everything that it consists of and that refers to it: lists of contents, signatures.
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
  readonly report?: (line: string) => void
}

/** Answers with the digest. Blobs that are there already are not sent again; the tag is set at the end, so it never names half an image. */
export async function copyImage({ from, to, reference, tag, report = () => undefined }: CopyOptions): Promise<string> {
  const image = await requireManifest(from, reference)
  const all = [image, ...(await childrenOf(from, image))]
  for (const manifest of all) await copyBlobs(from, to, manifest, report)
  for (const manifest of all.slice(1)) await to.putManifest(manifest)
  await to.putManifest(image, tag)
  for (const { descriptor } of all)
    for (const referrer of await from.referrers(descriptor.digest)) {
      const about = await requireManifest(from, referrer.digest)
      const { artifactType } = readManifest(referrer.digest, about.bytes)
      await copyBlobs(from, to, about, report)
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
  { descriptor, bytes }: StoredManifest,
  report: (line: string) => void,
): Promise<void> {
  if (isIndexType(descriptor.mediaType)) return
  const { config, layers } = readManifest(descriptor.digest, bytes)
  for (const blob of distinct([config, ...layers])) {
    if (await to.hasBlob(blob)) continue
    report(`${blob.digest}: ${blob.size} bytes`)
    await to.putBlob(from.openBlob(blob))
  }
}

const distinct = (blobs: readonly Descriptor[]): readonly Descriptor[] => [
  ...new Map(blobs.map((b) => [b.digest, b])).values(),
]
