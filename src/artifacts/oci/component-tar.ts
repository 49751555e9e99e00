// Reads a tar by an allow-list: regular files and folders with plain names, long ones in an extended header (pax), nothing else. Anything else refuses the
// whole archive before any byte of that entry is written; nothing is skipped, sanitized or guessed.
import { KubeNodeError } from '#lib/errors.ts'
import { foldName } from '#lib/fold-name.ts'
import { printableLine } from '#lib/printable.ts'
import { componentTarErrors } from './component-tar-errors.ts'

export interface TarLimits {
  readonly entries: number
  /** Total size of the files. */
  readonly bytes: number
}

export interface TarFileSink {
  write(chunk: Buffer): Promise<void>
  end(): Promise<void>
}

/** Paths are relative, with "/" between checked names. */
export interface TarSink {
  folder(path: string): Promise<void>
  file(path: string, mode: number, size: number): Promise<TarFileSink>
}

/** Limits per archive; `kubenode artifact pack` refuses larger ones too. */
export const ARCHIVE_LIMITS: TarLimits = { entries: 100_000, bytes: 16 * 2 ** 30 }

const BLOCK = 512
const MAX_PATH = 1_024
const MAX_DEPTH = 32
/** Room for the longest path in the longest encoding, its time, and a size. */
const MAX_EXTENDED_BYTES = 8 * 1_024
/** Tar pads its last record with zeros; the largest record is 1 MiB. */
const MAX_AFTER_END = 1024 * 1024

export const tarRefused = (why: string) => new KubeNodeError(componentTarErrors.KN8020({ why }), { data: { why } })

interface Header {
  readonly path: string
  readonly kind: 'File' | 'Folder'
  readonly mode: number
  readonly size: number
}

export async function readTar(chunks: AsyncIterable<Buffer>, limits: TarLimits, sink: TarSink): Promise<void> {
  const input = new Blocks(chunks)
  const seen = new TarNames(limits.entries)
  let bytes = 0
  for (;;) {
    const block = await input.exactly(BLOCK)
    if (block === undefined) throw tarRefused('the end-of-archive marker is missing')
    if (isZero(block)) break
    const header = await headerAfter(input, block)
    seen.add(header)
    bytes += header.size
    if (bytes > limits.bytes) throw tarRefused(`its files exceed ${limits.bytes} bytes`)
    if (header.kind === 'Folder') await sink.folder(header.path)
    else await copyFile(input, header, sink)
  }
  let after = 0
  for (let rest = await input.some(); rest !== undefined; rest = await input.some()) {
    after += rest.length
    if (!isZero(rest)) throw tarRefused('data follows the end-of-archive marker')
    if (after > MAX_AFTER_END) throw tarRefused(`more than ${MAX_AFTER_END} bytes follow the end-of-archive marker`)
  }
}

/** A path too long for a header is in an extended header before it, which applies to the next entry only. */
async function headerAfter(input: Blocks, block: Buffer): Promise<Header> {
  const first = parseHeader(block)
  if (first.kind !== 'Extended') return checkedHeader(first)
  if (first.size === 0 || first.size > MAX_EXTENDED_BYTES)
    throw tarRefused(`an extended header has ${first.size} bytes, at most ${MAX_EXTENDED_BYTES}`)
  const bytes = await input.exactly(Math.ceil(first.size / BLOCK) * BLOCK)
  const next = await input.exactly(BLOCK)
  if (bytes === undefined || next === undefined) throw tarRefused('it is truncated in an extended header')
  if (!isZero(bytes.subarray(first.size))) throw tarRefused('an extended header has data after its end')
  const extended = extendedOf(bytes.subarray(0, first.size))
  const header = parseHeader(next, extended.get('path'))
  const size = extended.get('size')
  // With two sizes, readers would disagree about the entry.
  if (size !== undefined && size !== String(header.size)) throw tarRefused('an entry has two sizes')
  return checkedHeader(header)
}

const checkedHeader = ({ kind, path, ...rest }: RawHeader): Header => {
  if (kind === 'Extended') throw tarRefused('an extended header is followed by another one')
  return { kind, path: checkedPath(path, kind), ...rest }
}

/** Allowed keywords; any other could change what another reader extracts. */
const EXTENDED = new Map([
  ['path', /^[^\0]+$/],
  ['size', /^\d{1,15}$/],
  ['mtime', /^\d{1,12}(?:\.\d{1,9})?$/],
])

/** Records `LENGTH KEY=VALUE\n`, each key once; the length covers the whole record. */
function extendedOf(bytes: Buffer): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (let at = 0; at < bytes.length;) {
    const digits = /^([1-9]\d{0,4}) /.exec(bytes.toString('latin1', at, at + 6))?.[1]
    const length = Number(digits ?? 0)
    const record = bytes.subarray(at, at + length)
    const equals = record.indexOf('=')
    if (digits === undefined || record.length < length || equals < 0 || record.at(-1) !== 0x0a)
      throw tarRefused('an extended header is damaged')
    const key = record.toString('latin1', digits.length + 1, equals)
    const raw = record.subarray(equals + 1, -1)
    const value = raw.toString('utf8')
    if (!Buffer.from(value).equals(raw)) throw tarRefused('a name is not UTF-8')
    if (EXTENDED.get(key)?.test(value) !== true) throw tarRefused(`an extended header has ${shown(`${key}=${value}`)}`)
    if (found.has(key)) throw tarRefused(`an extended header has ${shown(key)} twice`)
    found.set(key, value)
    at += length
  }
  return found
}

async function copyFile(input: Blocks, { path, mode, size }: Header, sink: TarSink): Promise<void> {
  const out = await sink.file(path, mode, size)
  for (let left = size; left > 0;) {
    const chunk = await input.some(left)
    if (chunk === undefined) throw tarRefused(`it is truncated inside ${shown(path)}`)
    await out.write(chunk)
    left -= chunk.length
  }
  const padding = (BLOCK - (size % BLOCK)) % BLOCK
  const rest = padding === 0 ? Buffer.alloc(0) : await input.exactly(padding)
  if (rest === undefined || !isZero(rest)) throw tarRefused(`it is truncated after ${shown(path)}`)
  await out.end()
}

const ZEROS = Buffer.alloc(64 * 1024)

/** Compared natively: a callback per byte of a large chunk would block the event loop. */
function isZero(bytes: Buffer): boolean {
  for (let at = 0; at < bytes.length; at += ZEROS.length) {
    const part = bytes.subarray(at, at + ZEROS.length)
    if (!part.equals(ZEROS.subarray(0, part.length))) return false
  }
  return true
}

interface RawHeader extends Omit<Header, 'kind'> {
  readonly kind: Header['kind'] | 'Extended'
}

/** `extendedPath` replaces the header's path, which may be cut inside a character. Not yet validated. */
function parseHeader(block: Buffer, extendedPath?: string): RawHeader {
  if (block[0] === 0x1f && block[1] === 0x8b) throw tarRefused('it is compressed; only plain tar is supported')
  const sum = octal(block, 148, 8, 'checksum')
  // The checksum counts its own eight bytes as spaces.
  const real = block.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 0x20 : byte), 0)
  if (sum !== real) throw tarRefused('a header has a wrong checksum')
  if (block.toString('latin1', 257, 262) !== 'ustar') throw tarRefused('it is not a ustar archive')
  const type = String.fromCharCode(block[156] ?? 0)
  const path = extendedPath ?? (type === 'x' ? '' : headerPath(block))
  if (type !== 'x' && type !== '0' && type !== '\0' && type !== '5')
    throw tarRefused(`${shown(path)} is no regular file and no folder (type ${shown(type)})`)
  const kind = type === 'x' ? 'Extended' : type === '5' ? 'Folder' : 'File'
  const size = octal(block, 124, 12, 'size')
  if (kind === 'Folder' && size !== 0) throw tarRefused(`the folder ${shown(path)} has a non-zero size`)
  if (text(block, 157, 100) !== '') throw tarRefused(`${shown(path)} has a link target`)
  const mode = octal(block, 100, 8, 'mode')
  if ((mode & 0o7000) !== 0) throw tarRefused(`${shown(path)} has a set-id or sticky bit`)
  for (const [what, at, length] of UNUSED_NUMBERS) requireNumber(block, at, length, what)
  return { path, kind, mode: mode & 0o777, size }
}

function headerPath(block: Buffer): string {
  const [prefix, name] = [text(block, 345, 155), text(block, 0, 100)]
  return prefix === '' ? name : `${prefix}/${name}`
}

/** Fields not used here must still be valid: another reader could skip the entry because of a bad number, and unpack less. */
const UNUSED_NUMBERS = [
  ['user', 108, 8],
  ['group', 116, 8],
  ['time', 136, 12],
  ['device', 329, 8],
  ['device', 337, 8],
] as const

/** Octal or empty, as `kubenode artifact pack` writes them. */
function requireNumber(block: Buffer, at: number, length: number, what: string): void {
  if (!/^ *[0-7]*[ \0]*$/.test(block.toString('latin1', at, at + length)))
    throw tarRefused(`a header has a ${what} that is not an octal number`)
}

/** Digits, then a NUL or a space; base-256 and signs are refused. */
function octal(block: Buffer, at: number, length: number, what: string): number {
  const raw = block.toString('latin1', at, at + length)
  const m = /^ *([0-7]+)[ \0]*$/.exec(raw)
  if (m === null) throw tarRefused(`a header has a ${what} that is not an octal number`)
  return Number.parseInt(m[1] ?? '', 8)
}

function text(block: Buffer, at: number, length: number): string {
  const field = block.subarray(at, at + length)
  const end = field.indexOf(0)
  if (end !== -1 && !isZero(field.subarray(end))) throw tarRefused('a header has data after the end of a name')
  const bytes = end === -1 ? field : field.subarray(0, end)
  const out = bytes.toString('utf8')
  if (!Buffer.from(out).equals(bytes)) throw tarRefused('a name is not UTF-8')
  return out
}

export function checkedPath(path: string, kind: Header['kind']): string {
  const bare = kind === 'Folder' && path.endsWith('/') ? path.slice(0, -1) : path
  const parts = bare.split('/')
  const isBad = (p: string) =>
    p === '' || p === '.' || p === '..' || p.length > 255 || /[\\\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(p)
  if (parts.some(isBad)) throw tarRefused(`${shown(path)} is no plain relative path`)
  if (bare.length > MAX_PATH || parts.length > MAX_DEPTH) throw tarRefused(`${shown(path)} is too long or too deep`)
  return bare
}

/** JSON does not escape direction marks and some control characters. */
const shown = (text: string): string => printableLine(JSON.stringify(text.slice(0, 120)))

/** Every name once, ignoring case and Unicode form, and no file in place of a folder. */
export class TarNames {
  readonly #kinds = new Map<string, Header['kind']>()
  readonly #limit: number
  #count = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  add({ path, kind }: Pick<Header, 'path' | 'kind'>): void {
    if (++this.#count > this.#limit) throw tarRefused(`it has more than ${this.#limit} entries`)
    const key = foldName(path)
    const parts = key.split('/')
    for (let n = 1; n < parts.length; n++) {
      const parent = parts.slice(0, n).join('/')
      const known = this.#kinds.get(parent)
      if (known === 'File') throw tarRefused(`${shown(path)} lies below a file`)
      // Implied folders count too: no file of that name may follow.
      if (known === undefined) this.#kinds.set(parent, 'Folder')
    }
    const known = this.#kinds.get(key)
    if (known === 'File' || (known === 'Folder' && kind === 'File'))
      throw tarRefused(`${shown(path)} appears twice, or differs from another name in case only`)
    this.#kinds.set(key, kind)
  }
}

/** Reads a stream in chunks of requested sizes. */
class Blocks {
  readonly #source: AsyncIterator<Buffer>
  #held: Buffer = Buffer.alloc(0)

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#source = chunks[Symbol.asyncIterator]()
  }

  /** Undefined if the stream ends first. */
  async exactly(n: number): Promise<Buffer | undefined> {
    const parts: Buffer[] = []
    for (let left = n; left > 0;) {
      const part = await this.some(left)
      if (part === undefined) return undefined
      parts.push(part)
      left -= part.length
    }
    return Buffer.concat(parts)
  }

  /** The available bytes, at most `n`; undefined at the end. */
  async some(n = Number.POSITIVE_INFINITY): Promise<Buffer | undefined> {
    while (this.#held.length === 0) {
      const next = await this.#source.next()
      if (next.done === true) return undefined
      this.#held = next.value
    }
    const part = this.#held.subarray(0, Math.min(n, this.#held.length))
    this.#held = this.#held.subarray(part.length)
    return part
  }
}
