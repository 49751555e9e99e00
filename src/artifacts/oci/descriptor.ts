// OCI image documents as data: descriptors, manifests and indexes, with validation of untrusted ones.
import { KubeNodeError } from '#lib/errors.ts'
import { isDeeperJson, isObject, MAX_JSON_DEPTH } from '#lib/json.ts'
import { textOr } from '#lib/fields.ts'
import { ociErrors } from './oci-errors.ts'
import { sha256Hex } from '#lib/sha256.ts'

export const MEDIA = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar+gzip',
  empty: 'application/vnd.oci.empty.v1+json',
  /** Docker's names for the same two documents. */
  dockerList: 'application/vnd.docker.distribution.manifest.list.v2+json',
  dockerManifest: 'application/vnd.docker.distribution.manifest.v2+json',
} as const

interface Platform {
  readonly architecture: string
  readonly os: string
  readonly variant?: string
}

export interface Descriptor {
  readonly mediaType: string
  readonly digest: string
  readonly size: number
  readonly platform?: Platform
  readonly artifactType?: string
  readonly annotations?: Readonly<Record<string, string>>
}

export interface Manifest {
  readonly schemaVersion: 2
  readonly mediaType: string
  readonly artifactType?: string
  readonly config: Descriptor
  readonly layers: readonly Descriptor[]
  readonly subject?: Descriptor
  readonly annotations?: Readonly<Record<string, string>>
}

export interface Index {
  readonly schemaVersion: 2
  readonly mediaType: string
  readonly manifests: readonly Descriptor[]
  readonly annotations?: Readonly<Record<string, string>>
}

/** A manifest with hundreds of layers has a hundredth of this; registries refuse larger ones. */
export const MAX_MANIFEST_BYTES = 4 * 1024 * 1024
const MAX_DESCRIPTORS = 1_000

export const digestOf = (bytes: Buffer | string): string => `sha256:${sha256Hex(bytes)}`

export const isDigest = (text: string): boolean => /^sha256:[0-9a-f]{64}$/.test(text)

/** The part for a file name or tag. */
export const hexOf = (digest: string): string => digest.slice('sha256:'.length)

export const descriptorOf = (mediaType: string, bytes: Buffer): Descriptor => ({
  mediaType,
  digest: digestOf(bytes),
  size: bytes.length,
})

/** A canonical form for written documents: equal documents have equal digests. */
export const jsonBytes = (document: Manifest | Index | object): Buffer => Buffer.from(JSON.stringify(document))

export const isIndexType = (mediaType: string): boolean => mediaType === MEDIA.index || mediaType === MEDIA.dockerList
export const isManifestType = (mediaType: string): boolean =>
  mediaType === MEDIA.manifest || mediaType === MEDIA.dockerManifest

/** Drops unknown fields; `what` is for messages. */
export function readIndex(what: string, bytes: Buffer): Index {
  const document = objectIn(what, bytes)
  return {
    schemaVersion: 2,
    mediaType: textOr(document['mediaType'], MEDIA.index),
    manifests: descriptorsIn(what, document['manifests']),
    ...annotationsIn(document),
  }
}

export function readManifest(what: string, bytes: Buffer): Manifest {
  const document = objectIn(what, bytes)
  const { artifactType, subject } = document
  return {
    schemaVersion: 2,
    mediaType: textOr(document['mediaType'], MEDIA.manifest),
    ...(typeof artifactType === 'string' && { artifactType }),
    config: descriptorIn(what, document['config']),
    layers: descriptorsIn(what, document['layers']),
    ...(subject !== undefined && { subject: descriptorIn(what, subject) }),
    ...annotationsIn(document),
  }
}

const bad = (what: string, why: string): KubeNodeError => new KubeNodeError(ociErrors.KN13010({ what, why }))

function objectIn(what: string, bytes: Buffer): Record<string, unknown> {
  if (bytes.length > MAX_MANIFEST_BYTES) throw bad(what, `it is larger than ${MAX_MANIFEST_BYTES} bytes`)
  if (isDeeperJson(bytes)) throw bad(what, `it is nested deeper than ${MAX_JSON_DEPTH} levels`)
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch {
    throw bad(what, 'it is not JSON')
  }
  if (!isObject(value) || value['schemaVersion'] !== 2) throw bad(what, 'it is not a manifest of version 2')
  return value
}

function descriptorsIn(what: string, value: unknown): readonly Descriptor[] {
  if (!Array.isArray(value) || value.length > MAX_DESCRIPTORS)
    throw bad(what, `it has no list of at most ${MAX_DESCRIPTORS} descriptors`)
  return value.map((one) => descriptorIn(what, one))
}

function descriptorIn(what: string, value: unknown): Descriptor {
  const { mediaType, digest, size, platform, artifactType } = isObject(value) ? value : {}
  if (typeof mediaType !== 'string') throw bad(what, 'a descriptor has no media type')
  if (typeof digest !== 'string' || !isDigest(digest)) throw bad(what, 'a descriptor has no sha256 digest')
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0)
    throw bad(what, `the size of ${digest} is not a number of bytes`)
  return {
    mediaType,
    digest,
    size,
    ...platformIn(platform),
    ...(typeof artifactType === 'string' && { artifactType }),
    ...annotationsIn(value as Record<string, unknown>),
  }
}

function platformIn(value: unknown): { readonly platform?: Platform } {
  const { architecture, os, variant } = isObject(value) ? value : {}
  if (typeof architecture !== 'string' || typeof os !== 'string') return {}
  return { platform: { architecture, os, ...(typeof variant === 'string' && { variant }) } }
}

function annotationsIn({ annotations }: Record<string, unknown>): Pick<Descriptor, 'annotations'> {
  if (!isObject(annotations)) return {}
  const texts = Object.entries(annotations).filter((a): a is [string, string] => typeof a[1] === 'string')
  return { annotations: Object.fromEntries(texts) }
}
