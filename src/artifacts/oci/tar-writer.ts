// Writes tar archives whose bytes depend on their entries only: sorted by name, owned by root, without times, with every parent folder.
import { KubeNodeError } from '#lib/errors.ts'
import { ociErrors } from './oci-errors.ts'
import { FOLDER_MODE, type TarEntry } from './tar-entry.ts'

export const BLOCK = 512
const MAX_NAME = 100
const MAX_PREFIX = 155
/** Of the octal field. */
const MAX_SIZE = 0o77777777777
const LINK_MODE = 0o777
const TYPE = { File: '0', Link: '2', Folder: '5', Extended: 'x' } as const

/** Pieces of the archive in order; also the two empty blocks at its end. */
export function* tarPieces(entries: readonly TarEntry[]): Generator<Buffer> {
  for (const entry of inOrder(entries)) {
    const content = entry.kind === 'File' ? entry.content() : EMPTY
    if (content.length > MAX_SIZE) throw refused(entry.path, 'it is larger than 8 GiB')
    yield* headersOf(entry, content.length)
    if (content.length === 0) continue
    yield content
    yield paddingOf(content.length)
  }
  yield Buffer.alloc(2 * BLOCK)
}

const EMPTY = Buffer.alloc(0)

const paddingOf = (size: number): Buffer => Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK)

const refused = (path: string, why: string): KubeNodeError =>
  new KubeNodeError(ociErrors.KN13001({ path: JSON.stringify(path), why }))

/** By bytes of the path, so that no locale has a say and a folder comes before what it contains. */
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
  // Whiteout files delete what lower layers have.
  if (parts.at(-1)?.startsWith('.wh.') === true) throw refused(path, 'names that start with .wh. delete files')
  if (path.includes('\0')) throw refused(path, 'the name has a zero byte')
  if (entry.kind === 'Link' && (entry.target === '' || entry.target.includes('\0')))
    throw refused(path, 'it is a link without a target')
}

interface Fields {
  readonly name: Buffer
  readonly prefix: Buffer
  readonly mode: number
  readonly size: number
  readonly type: string
  readonly target: Buffer
}

/** A name that the fixed fields cannot hold is in an extended header before the entry. */
function* headersOf(entry: TarEntry, size: number): Generator<Buffer> {
  const path = entry.kind === 'Folder' ? `${entry.path}/` : entry.path
  const target = entry.kind === 'Link' ? entry.target : ''
  const split = splitName(path)
  const records = [
    ...(split === undefined ? [recordOf('path', path)] : []),
    ...(fits(target, MAX_NAME) ? [] : [recordOf('linkpath', target)]),
  ]
  if (records.length > 0) {
    const body = Buffer.from(records.join(''))
    yield header({ ...NOTHING, name: Buffer.from('PaxHeader'), mode: 0o644, size: body.length, type: TYPE.Extended })
    yield body
    yield paddingOf(body.length)
  }
  yield header({
    ...(split ?? { name: Buffer.from(path).subarray(0, MAX_NAME), prefix: EMPTY }),
    mode: entry.kind === 'Link' ? LINK_MODE : entry.mode & 0o7777,
    size,
    type: TYPE[entry.kind],
    target: Buffer.from(target).subarray(0, MAX_NAME),
  })
}

const NOTHING = { prefix: EMPTY, target: EMPTY }

/** Readers disagree about bytes beyond ASCII in the fixed fields. */
const isAscii = (text: string): boolean => /^[\x20-\x7e]*$/.test(text)
const fits = (text: string, most: number): boolean => isAscii(text) && text.length <= most

function splitName(path: string): Pick<Fields, 'name' | 'prefix'> | undefined {
  if (fits(path, MAX_NAME)) return { name: Buffer.from(path), prefix: EMPTY }
  if (!isAscii(path)) return undefined
  // The slash at the end of a folder does not split.
  const at = path.indexOf('/', path.length - MAX_NAME - 1)
  return at > 0 && at <= MAX_PREFIX && at < path.length - 1
    ? { name: Buffer.from(path.slice(at + 1)), prefix: Buffer.from(path.slice(0, at)) }
    : undefined
}

/** `LENGTH KEY=VALUE\n`, where the length counts itself. */
function recordOf(key: string, value: string): string {
  const rest = Buffer.byteLength(` ${key}=${value}\n`)
  let length = rest + String(rest).length
  if (rest + String(length).length > length) length++
  return `${length} ${key}=${value}\n`
}

function header({ name, prefix, mode, size, type, target }: Fields): Buffer {
  const block = Buffer.alloc(BLOCK)
  const octal = (value: number, at: number, width: number) =>
    block.write(`${value.toString(8).padStart(width - 1, '0')}\0`, at, 'latin1')
  name.copy(block, 0)
  octal(mode, 100, 8)
  octal(0, 108, 8)
  octal(0, 116, 8)
  octal(size, 124, 12)
  octal(0, 136, 12)
  block.fill(' ', 148, 156)
  block.write(type, 156, 'latin1')
  target.copy(block, 157)
  block.write('ustar\x0000', 257, 'latin1')
  octal(0, 329, 8)
  octal(0, 337, 8)
  prefix.copy(block, 345)
  const sum = block.reduce((all, byte) => all + byte, 0)
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1')
  return block
}
