// A container image as a source: the layers of one platform of an OCI layout, as a folder or an archive. Every blob must match its digest.
import { createHash } from 'node:crypto'
import { createReadStream, existsSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { KubeNodeError } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { artifactErrors } from '../artifact-errors.ts'
import { digestOfFile, readTree, refusalOf, sourceRefused, wholeFile, type Source } from './source.ts'
import { unpackLayout } from '../../oci/layout-file.ts'
import type { FilePart } from '../../oci/unpacked-stream.ts'
import {
  MAX_MANIFEST_BYTES,
  isDigest,
  hexOf,
  isIndexType,
  readIndex,
  readManifest,
  type Descriptor,
} from '../../oci/descriptor.ts'

const LAYOUT_FILE = 'oci-layout'
const INDEX = 'index.json'
/** Tools write at most an index of an index of a manifest. */
const MAX_STEPS = 4
const MAX_LAYERS = 128

export interface ImageChoice {
  /** CPU architecture in Kubernetes' notation. */
  readonly arch: string | undefined
  /** An empty folder for an archive's blobs. */
  readonly scratch: string
}

export async function imageSource(path: string, choice: ImageChoice): Promise<Source> {
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
  const folder = isFolder ? path : await unpackedLayout(path, choice.scratch)
  if (!existsSync(join(folder, LAYOUT_FILE)))
    throw sourceRefused(
      path,
      `it is no OCI layout: it has no file ${LAYOUT_FILE} (docker save --format oci, or skopeo copy … oci:FOLDER, makes one)`,
    )
  const { manifest, arch } = await chosenManifest(path, folder, choice.arch)
  if (manifest.layers.length > MAX_LAYERS) throw sourceRefused(path, `it has more than ${MAX_LAYERS} layers`)
  const layers: FilePart[] = []
  for (const layer of manifest.layers) layers.push(await blob(path, folder, layer))
  return {
    kind: 'image',
    name: basename(path),
    sha256: isFolder ? hexOf(manifest.config.digest) : await digestOfFile(path),
    tree: await readTree(layers),
    layers,
    facts: arch === undefined ? {} : { arch },
  }
}

async function unpackedLayout(path: string, scratch: string): Promise<string> {
  const folder = join(scratch, 'layout')
  await unpackLayout(wholeFile(path), folder, refusalOf(path))
  return folder
}

async function chosenManifest(path: string, folder: string, wanted: string | undefined) {
  let { manifests } = readIndex(path, readFileSync(smallFile(path, join(folder, INDEX))))
  for (let n = 0; n < MAX_STEPS; n++) {
    const found = platformOf(path, manifests, wanted)
    const bytes = readFileSync(smallFile(path, (await blob(path, folder, found)).file))
    if (!isIndexType(found.mediaType)) {
      const manifest = readManifest(found.digest, bytes)
      const arch = found.platform?.architecture ?? (await archOf(path, folder, manifest.config))
      if (wanted !== undefined && arch !== undefined && arch !== wanted)
        throw new KubeNodeError(artifactErrors.KN1131({ file: path, wanted, known: arch }))
      return { manifest, arch }
    }
    manifests = readIndex(found.digest, bytes).manifests
  }
  throw sourceRefused(path, 'its indexes never end')
}

function platformOf(path: string, manifests: readonly Descriptor[], wanted: string | undefined): Descriptor {
  // Attestations are listed next to images, with an unknown platform.
  const real = manifests.filter(
    (m) => m.platform?.architecture !== 'unknown' && (m.platform?.os ?? 'linux') === 'linux',
  )
  const [only, second] = real
  if (only === undefined) throw sourceRefused(path, 'it names no image for Linux')
  if (second === undefined) return only
  const found = real.find((m) => m.platform?.architecture === wanted)
  if (found !== undefined) return found
  const known = [...new Set(real.map((m) => m.platform?.architecture ?? 'unknown'))].join(', ')
  throw new KubeNodeError(artifactErrors.KN1131({ file: path, wanted: wanted ?? 'no architecture', known }))
}

async function archOf(path: string, folder: string, config: Descriptor): Promise<string | undefined> {
  const value: unknown = JSON.parse(readFileSync(smallFile(path, (await blob(path, folder, config)).file), 'utf8'))
  return isObject(value) && typeof value['architecture'] === 'string' ? value['architecture'] : undefined
}

function smallFile(path: string, file: string): string {
  const size = statSync(file, { throwIfNoEntry: false })?.size
  if (size === undefined || size > MAX_MANIFEST_BYTES)
    throw sourceRefused(path, `${basename(file)} is missing or too large`)
  return file
}

/** Verifies the digest by reading the blob once before anything uses it. */
async function blob(path: string, folder: string, { digest, size }: Descriptor): Promise<FilePart> {
  if (!isDigest(digest)) throw sourceRefused(path, 'a blob has no sha256 digest')
  const file = join(folder, 'blobs/sha256', hexOf(digest))
  if (!existsSync(file)) throw sourceRefused(path, `the blob ${digest} is missing`)
  const part = wholeFile(file)
  const hash = createHash('sha256')
  if (part.length === size)
    for await (const chunk of createReadStream(file) as AsyncIterable<Buffer>) hash.update(chunk)
  if (part.length !== size || hash.digest('hex') !== hexOf(digest))
    throw sourceRefused(path, `the blob ${digest} has other bytes`)
  return part
}
