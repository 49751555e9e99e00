// An OCI image layout in a folder: `oci-layout`, `index.json`, and content by digest below `blobs/sha256`.
import { createReadStream, createWriteStream, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { KubeNodeError } from '#lib/errors.ts'
import { writeWholeFile } from '#lib/whole-file.ts'
import { checked } from './checked.ts'
import {
  MEDIA,
  digestOf,
  hexOf,
  isDigest,
  isManifestType,
  jsonBytes,
  readIndex,
  readManifest,
  MAX_MANIFEST_BYTES,
  type Descriptor,
  type Index,
} from './descriptor.ts'
import type { BlobSource, ImageStore, StoredManifest } from './image-store.ts'
import { ociErrors } from './oci-errors.ts'

export const LAYOUT_FILE = 'oci-layout'
const INDEX_FILE = 'index.json'
const BLOBS = 'blobs/sha256'
/** The tag of a manifest in `index.json`. */
export const REF_NAME = 'org.opencontainers.image.ref.name'
const LAYOUT = '{"imageLayoutVersion":"1.0.0"}'
const READABLE = 0o644

export class LayoutStore implements ImageStore {
  readonly place: string
  readonly folder: string

  private constructor(folder: string) {
    this.folder = folder
    this.place = folder
  }

  /** Creates an empty layout; leaves a folder with any other content alone. */
  static create(folder: string): LayoutStore {
    mkdirSync(join(folder, BLOBS), { recursive: true })
    writeFileSync(join(folder, LAYOUT_FILE), LAYOUT, { mode: READABLE })
    const store = new LayoutStore(folder)
    store.#writeIndex([])
    return store
  }

  static open(folder: string): LayoutStore {
    const bad = (why: string) => new KubeNodeError(ociErrors.KN13010_layout({ folder, why }))
    const file = join(folder, LAYOUT_FILE)
    if (!existsSync(file)) throw bad(`it has no file ${LAYOUT_FILE}`)
    if (statSync(file).size > MAX_MANIFEST_BYTES) throw bad(`its ${LAYOUT_FILE} is too large`)
    if (!/"imageLayoutVersion"\s*:\s*"1\./.test(readFileSync(file, 'utf8'))) throw bad('its version is not 1')
    return new LayoutStore(folder)
  }

  get manifests(): readonly Descriptor[] {
    const file = join(this.folder, INDEX_FILE)
    if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true)
      throw new KubeNodeError(ociErrors.KN13010_layout({ folder: this.folder, why: `it has no file ${INDEX_FILE}` }))
    if (statSync(file).size > MAX_MANIFEST_BYTES)
      throw new KubeNodeError(ociErrors.KN13010_layout({ folder: this.folder, why: `its ${INDEX_FILE} is too large` }))
    return readIndex(file, readFileSync(file)).manifests
  }

  /** Overwrites: a layout has a single writer. */
  #writeIndex(manifests: readonly Descriptor[]): void {
    const index: Index = { schemaVersion: 2, mediaType: MEDIA.index, manifests }
    writeWholeFile(join(this.folder, INDEX_FILE), jsonBytes(index).toString('utf8'), { mode: READABLE })
  }

  async manifest(reference: string): Promise<StoredManifest | undefined> {
    const named = isDigest(reference)
      ? this.manifests.find((m) => m.digest === reference)
      : this.manifests.find((m) => m.annotations?.[REF_NAME] === reference)
    const digest = isDigest(reference) ? reference : named?.digest
    if (digest === undefined || !existsSync(this.#pathOf(digest))) return undefined
    const { size } = statSync(this.#pathOf(digest))
    if (size > MAX_MANIFEST_BYTES) throw this.#bad(digest, 'it is too large for a manifest')
    const bytes = readFileSync(this.#pathOf(digest))
    if (digestOf(bytes) !== digest) throw this.#bad(digest, 'its content has another digest')
    const mediaType = named?.mediaType ?? mediaTypeIn(bytes)
    return { descriptor: { mediaType, digest, size }, bytes }
  }

  /** Listed if it has a tag or a subject; others are reachable through an index. */
  async putManifest({ descriptor, bytes }: StoredManifest, tag?: string): Promise<void> {
    writeFileSync(this.#pathOf(descriptor.digest), bytes, { mode: READABLE })
    const isReferrer = subjectIn(descriptor, bytes) !== undefined
    if (tag === undefined && !isReferrer) return
    const others = this.manifests.filter((m) => (tag === undefined ? m.digest !== descriptor.digest : tagOf(m) !== tag))
    const annotations = { ...descriptor.annotations, ...(tag !== undefined && { [REF_NAME]: tag }) }
    this.#writeIndex([...others, { ...descriptor, ...(Object.keys(annotations).length > 0 && { annotations }) }])
  }

  async hasBlob({ digest, size }: Descriptor): Promise<boolean> {
    return statSync(this.#pathOf(digest), { throwIfNoEntry: false })?.size === size
  }

  openBlob(descriptor: Descriptor): BlobSource {
    const path = this.#pathOf(descriptor.digest)
    if (!existsSync(path)) throw this.#bad(descriptor.digest, 'the file is missing')
    const from = (offset: number): AsyncIterable<Buffer> => {
      const pieces = createReadStream(path, { start: offset }) as AsyncIterable<Buffer>
      return offset === 0 ? checked(pieces, descriptor) : pieces
    }
    return { descriptor, from }
  }

  async putBlob({ descriptor, from }: BlobSource): Promise<void> {
    const path = this.#pathOf(descriptor.digest)
    const partial = `${path}.partial`
    try {
      const target = createWriteStream(partial, { mode: READABLE })
      await pipeline(Readable.from(checked(from(0), descriptor)), target)
      renameSync(partial, path)
    } finally {
      rmSync(partial, { force: true })
    }
  }

  async referrers(digest: string): Promise<readonly Descriptor[]> {
    const found: Descriptor[] = []
    for (const listed of this.manifests) {
      const stored = isManifestType(listed.mediaType) ? await this.manifest(listed.digest) : undefined
      if (stored !== undefined && subjectIn(listed, stored.bytes)?.digest === digest) found.push(listed)
    }
    return found
  }

  #pathOf = (digest: string): string => join(this.folder, BLOBS, hexOf(digest))

  #bad = (digest: string, why: string): KubeNodeError =>
    new KubeNodeError(ociErrors.KN13010_layout({ folder: this.folder, why: `${digest}: ${why}` }))
}

const tagOf = ({ annotations }: Descriptor): string | undefined => annotations?.[REF_NAME]

const subjectIn = ({ mediaType, digest }: Descriptor, bytes: Buffer): Descriptor | undefined =>
  isManifestType(mediaType) ? readManifest(digest, bytes).subject : undefined

function mediaTypeIn(bytes: Buffer): string {
  const { mediaType } = JSON.parse(bytes.toString('utf8')) as { readonly mediaType?: unknown }
  return typeof mediaType === 'string' ? mediaType : MEDIA.manifest
}
