// A download as a common interface: a file tree, the publisher's metadata, and a second pass that copies chosen files.
import { createHash } from 'node:crypto'
import { closeSync, createReadStream, mkdirSync, openSync, statSync, writeSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { KubeNodeError } from '#lib/errors.ts'
import { systemTrouble } from '#lib/system-trouble.ts'
import { artifactErrors } from '../artifact-errors.ts'
import { readEntries, type ArchiveEntry } from '../../oci/archive-entries.ts'
import { unpackedStream, type FilePart, type Refuse } from '../../oci/unpacked-stream.ts'
import { FileTree, type TreeFile } from './file-tree.ts'

export const sourceRefused = (file: string, why: string, cause?: unknown): KubeNodeError =>
  new KubeNodeError(artifactErrors.KN1130({ file, why }), cause === undefined ? {} : { cause })

export const refusalOf =
  (file: string): Refuse =>
  (why, cause) =>
    sourceRefused(file, why, cause)

export const openedPart = (part: FilePart): AsyncIterable<Buffer> => unpackedStream(part, refusalOf(part.file))

export type SourceKind = 'deb' | 'tar' | 'image'

export interface Source {
  readonly kind: SourceKind
  /** File name as downloaded. */
  readonly name: string
  readonly sha256: string
  readonly tree: FileTree
  readonly layers: readonly FilePart[]
  /** Set if the download is the program itself. */
  readonly isProgram?: true
  readonly facts: Publisher
}

/** Fields that the format does not provide are left out. */
export interface Publisher {
  readonly component?: string
  readonly version?: string
  readonly arch?: string
  /** The package's requirements on the host, in its own words. */
  readonly depends?: readonly string[]
  /** Names of scripts that its own installer would run. */
  readonly scripts?: readonly string[]
  /** Absolute paths. */
  readonly conffiles?: readonly string[]
}

/** Larger than any release archive of a node component. */
const MAX_SOURCE_BYTES = 4 * 2 ** 30
/** Limit per text; templates have the same. */
export const MAX_TEXT_BYTES = 65_536
/** Limit for all texts of one download. */
const MAX_TEXTS_BYTES = 32 * 2 ** 20
/** Units and files in etc: the basis of decisions, and the files that people may read in git. */
const TEXT = /(?:^|\/)etc\/|(?:^|\/)systemd\/system\/|^[^/]*\.(?:service|socket|timer)$/

export function wholeFile(path: string): FilePart {
  let length: number
  try {
    const stat = statSync(path)
    if (!stat.isFile()) throw new Error('it is not a regular file')
    length = stat.size
  } catch (cause) {
    throw new KubeNodeError(artifactErrors.KN1011_input({ what: 'download', path, why: systemTrouble(cause) }), {
      cause,
    })
  }
  if (length > MAX_SOURCE_BYTES)
    throw sourceRefused(path, `it has ${length} bytes, at most ${MAX_SOURCE_BYTES} are read`)
  return { file: path, start: 0, length }
}

export async function digestOfFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) hash.update(chunk)
  return hash.digest('hex')
}

/** Applies layers on top of each other, as an image does; a package has one. */
export async function readTree(
  layers: readonly FilePart[],
  isText: (path: string) => boolean = (path) => TEXT.test(path),
): Promise<FileTree> {
  const tree = new FileTree()
  let texts = 0
  for (const [layer, part] of layers.entries()) {
    const found: { readonly entry: ArchiveEntry; readonly pieces: Buffer[] | undefined }[] = []
    const seen = new Set<string>()
    await readEntries(openedPart(part), refusalOf(part.file), (entry) => {
      if (entry.kind === 'File' && seen.size === seen.add(entry.path).size)
        throw sourceRefused(part.file, `it has ${JSON.stringify(entry.path)} twice`)
      const isKept = entry.kind === 'File' && entry.size <= MAX_TEXT_BYTES && isText(entry.path)
      const pieces: Buffer[] | undefined = isKept ? [] : undefined
      found.push({ entry, pieces })
      if (isKept && (texts += entry.size) > MAX_TEXTS_BYTES)
        throw sourceRefused(part.file, `its texts exceed ${MAX_TEXTS_BYTES} bytes`)
      return pieces === undefined ? undefined : (chunk) => pieces.push(chunk)
    })
    for (const { entry } of found) deleteBelow(tree, entry)
    for (const { entry, pieces } of found) put(tree, entry, layer, pieces)
  }
  return tree
}

const WHITEOUT = '.wh.'
const OPAQUE = '.wh..wh..opq'

function deleteBelow(tree: FileTree, { path }: ArchiveEntry): void {
  const name = basename(path)
  const folder = dirname(path) === '.' ? '' : dirname(path)
  if (name === OPAQUE) tree.clear(folder)
  else if (name.startsWith(WHITEOUT)) tree.remove(join(folder, name.slice(WHITEOUT.length)))
}

function put(tree: FileTree, entry: ArchiveEntry, layer: number, pieces: readonly Buffer[] | undefined): void {
  const { path, kind, mode, size, target } = entry
  if (basename(path).startsWith(WHITEOUT)) return
  if (kind === 'Folder') tree.folder(path)
  else if (kind === 'Link') tree.put({ kind, path, target })
  // A hard link's target is relative to its archive's root.
  else if (kind === 'HardLink') tree.put({ kind: 'Link', path, target: `/${target.replace(/^\.?\//, '')}` })
  else if (kind === 'Other') tree.put({ kind, path })
  else tree.put({ kind, path, layer, mode, size, ...(pieces !== undefined && { content: Buffer.concat(pieces) }) })
}

/** Copies chosen files to chosen paths in a second pass: nothing else is ever written to disk. */
export async function copyFiles(
  source: Pick<Source, 'layers' | 'isProgram'>,
  wanted: readonly { readonly file: TreeFile; readonly to: string }[],
): Promise<void> {
  for (const [layer, part] of source.layers.entries()) {
    const here = wanted.filter(({ file }) => file.layer === layer)
    if (here.length === 0) continue
    if (source.isProgram === true) {
      const out = outputs(here.map(({ to }) => to))
      for await (const chunk of openedPart(part)) out.write(chunk)
      out.close()
      continue
    }
    const places = Map.groupBy(here, ({ file }) => file.path)
    const missing = new Set(places.keys())
    const closing: (() => void)[] = []
    try {
      await readEntries(openedPart(part), refusalOf(part.file), ({ path, kind, size }) => {
        const found = kind === 'File' ? places.get(path) : undefined
        if (found === undefined || found[0]?.file.size !== size) return undefined
        missing.delete(path)
        const out = outputs(found.map(({ to }) => to))
        closing.push(out.close)
        return out.write
      })
    } finally {
      for (const close of closing) close()
    }
    if (missing.size > 0) throw sourceRefused(part.file, 'it changed while it was read')
  }
}

function outputs(paths: readonly string[]): { readonly write: (chunk: Buffer) => void; readonly close: () => void } {
  const open = paths.map((path) => {
    mkdirSync(dirname(path), { recursive: true })
    return openSync(path, 'wx', 0o600)
  })
  return {
    write: (chunk) => {
      for (const fd of open) for (let at = 0; at < chunk.length;) at += writeSync(fd, chunk, at)
    },
    close: () => {
      for (const fd of open) closeSync(fd)
    },
  }
}
