// Pulls the files of an OCI artifact into a folder, each layer under its title, verified by digest: all of them or none.
import { createWriteStream } from 'node:fs'
import { mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { KubeNodeError } from '#lib/errors.ts'
import { hexOf, isManifestType, readManifest, type Descriptor } from './oci/descriptor.ts'
import type { ImageStore } from './oci/image-store.ts'
import { artifactsErrors } from './artifacts-errors.ts'
import { namesIn } from './served-file.ts'

const TITLE = 'org.opencontainers.image.title'
/** Room for hundreds of versions of all components, for two architectures. */
const MAX_TOTAL_BYTES = 64 * 1024 ** 3

interface Wanted {
  readonly names: readonly string[]
  readonly layer: Descriptor
}

/** Returns the folder to serve. Does not pull again what it already has, even from an earlier run. */
export async function pulledArtifacts(
  store: Pick<ImageStore, 'manifest' | 'openBlob' | 'place'>,
  digest: string,
  cache: string,
): Promise<string> {
  const folder = join(cache, hexOf(digest))
  if (await isThere(folder)) return folder
  const wrong = (why: string) =>
    new KubeNodeError(artifactsErrors.KN14005({ digest, place: store.place, why }), { retry: 'later' })
  const found = await store.manifest(digest)
  if (found === undefined) throw wrong('there is none')
  if (!isManifestType(found.descriptor.mediaType)) throw wrong(`it is a ${found.descriptor.mediaType}, not a manifest`)
  const layers = readManifest(digest, found.bytes).layers
  const wanted = layers.map((layer): Wanted => {
    const title = layer.annotations?.[TITLE] ?? ''
    const names = namesIn(`/${title}`)
    if (names === undefined)
      throw wrong(`layer ${layer.digest} has the title ${JSON.stringify(title.slice(0, 100))}, which is no path`)
    return { names, layer }
  })
  if (wanted.reduce((sum, { layer }) => sum + layer.size, 0) > MAX_TOTAL_BYTES)
    throw wrong(`it has more than ${MAX_TOTAL_BYTES} bytes`)
  await mkdir(cache, { recursive: true })
  const coming = await mkdtemp(join(cache, 'coming-'))
  try {
    for (const { names, layer } of wanted) {
      const path = join(coming, ...names)
      await mkdir(dirname(path), { recursive: true })
      // Two layers with the same name are an error.
      await pipeline(store.openBlob(layer).from(0), createWriteStream(path, { flags: 'wx' }))
    }
    await rename(coming, folder)
  } finally {
    await rm(coming, { recursive: true, force: true })
  }
  return folder
}

const isThere = (folder: string): Promise<boolean> =>
  stat(folder).then(
    () => true,
    () => false,
  )
