// Builds an image's documents: the configuration, a manifest per platform, their index, and SBOMs and signatures that refer to them.
import { MEDIA, descriptorOf, jsonBytes, type Descriptor, type Index, type Manifest } from './descriptor.ts'
import { bytesSource, type ImageStore, type StoredManifest } from './image-store.ts'
import type { Layer } from './layer.ts'
import { defined } from '#lib/defined.ts'

export interface ImageSettings {
  readonly architecture: string
  /** The timestamp of everything in the image. */
  readonly created: Date
  readonly user: string
  readonly env: Readonly<Record<string, string>>
  readonly entrypoint: readonly string[]
  readonly folder: string
  readonly labels: Readonly<Record<string, string>>
}

interface NamedLayer extends Layer {
  /** What created it, for the history. */
  readonly made: string
}

export function stored(document: Manifest | Index): StoredManifest {
  const bytes = jsonBytes(document)
  return { descriptor: descriptorOf(document.mediaType, bytes), bytes }
}

/** Writes the configuration and manifest of one platform; the layers already exist. */
export async function putImage(
  store: ImageStore,
  layers: readonly NamedLayer[],
  { architecture, created, user, env, entrypoint, folder, labels }: ImageSettings,
): Promise<Descriptor> {
  const time = created.toISOString()
  const configuration = jsonBytes({
    created: time,
    architecture,
    os: 'linux',
    config: {
      User: user,
      Env: Object.entries(env).map(([name, value]) => `${name}=${value}`),
      Entrypoint: entrypoint,
      WorkingDir: folder,
      Labels: labels,
    },
    rootfs: { type: 'layers', diff_ids: layers.map((l) => l.diffId) },
    history: layers.map(({ made }) => ({ created: time, created_by: made })),
  })
  const config = descriptorOf(MEDIA.config, configuration)
  await store.putBlob(bytesSource(config, configuration))
  const manifest = stored({
    schemaVersion: 2,
    mediaType: MEDIA.manifest,
    config,
    layers: layers.map((l) => l.descriptor),
    annotations: labels,
  })
  await store.putManifest(manifest)
  return { ...manifest.descriptor, platform: { architecture, os: 'linux' } }
}

export async function putIndex(
  store: ImageStore,
  manifests: readonly Descriptor[],
  annotations: Readonly<Record<string, string>>,
  named: { readonly tag: string; readonly annotations: Readonly<Record<string, string>> },
): Promise<Descriptor> {
  const index = stored({ schemaVersion: 2, mediaType: MEDIA.index, manifests, annotations })
  const descriptor = { ...index.descriptor, annotations: named.annotations }
  await store.putManifest({ ...index, descriptor }, named.tag)
  return index.descriptor
}

const NOTHING = Buffer.from('{}')

export interface Attachment {
  readonly artifactType: string
  /** Media type of the configuration, where a reader expects one. */
  readonly configType?: string
  readonly layers: readonly { readonly descriptor: Descriptor; readonly bytes: Buffer }[]
  readonly annotations?: Readonly<Record<string, string>>
}

/** A manifest about another one, found through its subject. */
export async function putReferrer(
  store: ImageStore,
  { mediaType, digest, size }: Descriptor,
  { artifactType, configType, layers, annotations }: Attachment,
  tag?: string,
): Promise<Descriptor> {
  const config = descriptorOf(configType ?? MEDIA.empty, NOTHING)
  for (const { descriptor, bytes } of [{ descriptor: config, bytes: NOTHING }, ...layers])
    if (!(await store.hasBlob(descriptor))) await store.putBlob(bytesSource(descriptor, bytes))
  const manifest = stored({
    schemaVersion: 2,
    mediaType: MEDIA.manifest,
    artifactType,
    config,
    layers: layers.map((l) => l.descriptor),
    subject: { mediaType, digest, size },
    ...defined({ annotations }),
  })
  await store.putManifest({ ...manifest, descriptor: { ...manifest.descriptor, artifactType } }, tag)
  return manifest.descriptor
}
