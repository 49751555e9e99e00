// Writes tars whose bytes depend only on their entries: sorted by name, without owner and time, with every parent folder. The package formats the headers; this
// file decides what may be in them.
import { Header, Pax } from 'tar'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { ociErrors } from './oci-errors.ts'
import { FOLDER_MODE, type TarEntry } from './tar-entry.ts'

export const BLOCK = 512
const MAX_NAME = 100
const NAME_END = MAX_NAME - 1
const SUM_AT = 148
const PREFIX_AT = 345
const DOT = 0x2e
/** Limit of the octal field. */
const MAX_SIZE = 0o77777777777
const LINK_MODE = 0o777
const TYPE = { File: 'File', Link: 'SymbolicLink', Folder: 'Directory' } as const
/** The same for all files, to be independent of the machine. */
const TIME = new Date(0)

/** Chunks of the archive in order, including the two empty blocks at its end. */
export function* tarPieces(entries: readonly TarEntry[]): Generator<Buffer> {
  for (const entry of inOrder(entries)) {
    const content = entry.kind === 'File' ? entry.content() : EMPTY
    if (content.length > MAX_SIZE) throw refused(entry.path, 'it is larger than 8 GiB')
    yield headerOf({ ...entry, size: content.length })
    if (content.length === 0) continue
    yield content
    yield paddingOf(content.length)
  }
  yield endOfTar()
}

const EMPTY = Buffer.alloc(0)

export const paddingOf = (size: number): Buffer => Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK)
export const endOfTar = (): Buffer => Buffer.alloc(2 * BLOCK)

const refused = (path: string, why: string): KubeNodeError =>
  new KubeNodeError(ociErrors.KN1101_layer({ path: JSON.stringify(path), why }))

/** By path bytes: independent of the locale, and a folder comes before its content. */
function inOrder(entries: readonly TarEntry[]): readonly TarEntry[] {
  const byPath = new Map<string, TarEntry>()
  for (const entry of entries) {
    requireUsable(entry)
    if (byPath.has(entry.path)) throw refused(entry.path, 'two entries have this name')
    byPath.set(entry.path, entry)
  }
  for (const path of byPath.keys())
    for (let parent = parentOf(path); parent !== ''; parent = parentOf(parent)) {
      const there = byPath.get(parent)
      if (there === undefined) byPath.set(parent, { kind: 'Folder', path: parent, mode: FOLDER_MODE })
      else if (there.kind !== 'Folder') throw refused(path, `${parent} is no folder`)
    }
  return [...byPath.values()].toSorted((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)))
}

const parentOf = (path: string): string => path.slice(0, Math.max(0, path.lastIndexOf('/')))

function requireUsable(entry: TarEntry): void {
  const { path } = entry
  const parts = path.split('/')
  if (parts.some((part) => part === '' || part === '.' || part === '..')) throw refused(path, 'the path is not plain')
  // Whiteout files delete content of lower layers.
  if (parts.at(-1)?.startsWith('.wh.') === true) throw refused(path, 'names that start with .wh. delete files')
  if (path.includes('\0')) throw refused(path, 'the name has a zero byte')
  if (entry.kind === 'Link' && (entry.target === '' || entry.target.includes('\0')))
    throw refused(path, 'it is a link without a target')
}

export interface TarHeader {
  readonly kind: TarEntry['kind']
  readonly path: string
  readonly mode?: number
  readonly target?: string
  /** Size of the content, which follows with padding. */
  readonly size: number
}

/** A name or target that does not fit the fixed fields goes into an extended header before the entry. */
export function headerOf({ kind, path, mode = LINK_MODE, target, size }: TarHeader): Buffer {
  const isFolder = kind === 'Folder'
  const fields = {
    path: isFolder ? `${path}/` : path,
    size,
    ...defined({ linkpath: target }),
    ...(!isFolder && { mtime: TIME }),
  }
  const header = new Header({ ...fields, type: TYPE[kind], mode: mode & 0o7777 })
  const isExtended = header.encode()
  if (header.block === undefined) throw refused(path, 'its header cannot be written')
  clearDotPrefix(header.block)
  return isExtended ? Buffer.concat([new Pax(fields).encode(), header.block]) : header.block
}

/** The package puts a name of exactly 100 bytes without folders into the folder `.`, which is a different name to readers that compare names. */
function clearDotPrefix(header: Buffer): void {
  const isDot = header[PREFIX_AT] === DOT && header[PREFIX_AT + 1] === 0
  if (!isDot || header[NAME_END] === 0) return
  header[PREFIX_AT] = 0
  const sum = Number.parseInt(header.toString('latin1', SUM_AT, SUM_AT + 8), 8) - DOT
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, SUM_AT, 'latin1')
}
