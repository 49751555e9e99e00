// A layout as a single file, as container engines import it. To read one, unpacks it into a temporary private folder.
import {
  closeSync,
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { KubeNodeError } from '#lib/errors.ts'
import { entriesBelow } from '#lib/entries-below.ts'
import { readEntries } from './archive-entries.ts'
import type { Descriptor } from './descriptor.ts'
import { LAYOUT_FILE, LayoutStore, REF_NAME } from './layout-store.ts'
import { ociErrors } from './oci-errors.ts'
import { FILE_MODE, type TarEntry } from './tar-entry.ts'
import { tarPieces } from './tar-writer.ts'
import { unpackedStream, type FilePart, type Refuse } from './unpacked-stream.ts'

/** The name containerd gives the image on import. */
export const CONTAINERD_NAME = 'io.containerd.image.name'

async function writeLayoutFile(store: LayoutStore, file: string): Promise<void> {
  const entries = [...entriesBelow(store.folder)].filter((e) => e.kind === 'File')
  const archive = entries.map(({ path }): TarEntry => ({
    kind: 'File',
    path,
    mode: FILE_MODE,
    content: () => readFileSync(join(store.folder, path)),
  }))
  await pipeline(Readable.from(tarPieces(archive)), createWriteStream(file, { mode: FILE_MODE }))
}

/** Only these are unpacked; `index.json` names content by digest, which is verified when read. */
const PARTS = /^(oci-layout|index\.json|blobs\/sha256\/[0-9a-f]{64})$/

/** A layout's content is already compressed: a file that expands beyond this is meant to fill the disk. */
const MAX_RATIO = 8
const LEAST_LIMIT = 16 * 1024 * 1024

/** Works with a layout in a folder or a tar file. */
export async function withLayout<T>(path: string, work: (store: LayoutStore) => Promise<T>): Promise<T> {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (stat === undefined)
    throw new KubeNodeError(ociErrors.KN13010_layout({ folder: path, why: 'there is no such file or folder' }))
  if (stat.isDirectory()) return work(LayoutStore.open(path))
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-layout-'))
  try {
    const refuse: Refuse = (why, cause) => new KubeNodeError(ociErrors.KN13010_layout({ folder: path, why }), { cause })
    await unpackLayout({ file: path, start: 0, length: stat.size }, folder, refuse)
    return await work(LayoutStore.open(folder))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The folder is new and private, and never gets a link. */
export async function unpackLayout(part: FilePart, folder: string, refuse: Refuse): Promise<void> {
  mkdirSync(join(folder, 'blobs/sha256'), { recursive: true })
  const open: number[] = []
  const closeAll = () => {
    for (const fd of open.splice(0)) closeSync(fd)
  }
  try {
    const limit = Math.max(LEAST_LIMIT, MAX_RATIO * part.length)
    const seen = new Set<string>()
    let bytes = 0
    // Twice the limit, because skipped entries are read too.
    await readEntries(unpackedStream(part, refuse, 2 * limit), refuse, ({ path, kind, size }) => {
      if (kind !== 'File' || !PARTS.test(path)) return undefined
      bytes += size
      if (bytes > limit) throw refuse(`it unpacks to more than ${MAX_RATIO} times its ${part.length} bytes`)
      if (seen.has(path)) throw refuse(`it has ${path} twice`)
      seen.add(path)
      closeAll()
      const fd = openSync(join(folder, path), 'w')
      open.push(fd)
      return (chunk) => writeFileSync(fd, chunk)
    })
  } finally {
    closeAll()
  }
}

/** As a file, for programs that do not accept a folder. */
export async function asLayoutFile<T>(path: string, work: (file: string) => T): Promise<T> {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return withLayout(path, async () => work(path))
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-layout-'))
  try {
    const file = join(folder, 'image.tar')
    await writeLayoutFile(LayoutStore.open(path), file)
    return work(file)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A new layout replaces an older one as a whole; anything else at its path stays. */
export async function withNewLayout<T>(path: string, work: (folder: string) => Promise<T>): Promise<T> {
  mkdirSync(dirname(path), { recursive: true })
  const isFile = path.endsWith('.tar')
  if (!isFile && existsSync(path) && !isLayout(path))
    throw new KubeNodeError(
      ociErrors.KN13010_layout({ folder: path, why: 'it has something else in it; name another folder' }),
    )
  const made = mkdtempSync(`${path}.new-`)
  try {
    const answer = await work(made)
    if (isFile) {
      await writeLayoutFile(LayoutStore.open(made), `${path}.partial`)
      renameSync(`${path}.partial`, path)
    } else {
      rmSync(path, { recursive: true, force: true })
      renameSync(made, path)
    }
    return answer
  } finally {
    rmSync(made, { recursive: true, force: true })
    rmSync(`${path}.partial`, { force: true })
  }
}

const isLayout = (path: string): boolean =>
  statSync(path).isDirectory() && (readdirSync(path).length === 0 || existsSync(join(path, LAYOUT_FILE)))

/** Tags of the image itself; signatures have tags too. */
const taggedIn = (store: LayoutStore): readonly Descriptor[] =>
  store.manifests.filter(({ annotations }) => annotations?.[REF_NAME]?.endsWith('.sig') === false)

export function onlyTag(store: LayoutStore): string {
  const [image, ...more] = taggedIn(store)
  const tag = image?.annotations?.[REF_NAME]
  if (tag === undefined || more.length > 0)
    throw new KubeNodeError(
      ociErrors.KN13010_layout({ folder: store.folder, why: `it has ${taggedIn(store).length} images, not one` }),
    )
  return tag
}

/** HOST/NAME from the build. */
export function imageNameOf(store: LayoutStore): string {
  const name = taggedIn(store)[0]?.annotations?.[CONTAINERD_NAME] ?? ''
  return name.replace(/:[^/:]*$/, '')
}

export interface NamedImage {
  /** HOST/NAME:TAG, as containerd lists it. */
  readonly name: string
  readonly digest: string
}

export function imageIn(store: LayoutStore): NamedImage {
  const [image] = taggedIn(store)
  const name = image?.annotations?.[CONTAINERD_NAME]
  if (image === undefined || name === undefined)
    throw new KubeNodeError(ociErrors.KN13010_layout({ folder: store.folder, why: 'its image has no name' }))
  return { name, digest: image.digest }
}
