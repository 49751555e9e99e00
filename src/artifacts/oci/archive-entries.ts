// Reads the entries of an untrusted tar, including all forms of long names. Writes nothing under the names in it, and limits everything: entries, bytes, length
// and depth of paths, and the size of extended headers.
import { Parser, type ReadEntry } from 'tar'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { printableLine } from '#lib/printable.ts'
import { withoutEnd } from '#lib/without-ends.ts'
import type { Refuse } from './unpacked-stream.ts'

export interface ArchiveEntry {
  /** Relative, without `.` and `..`; the root itself is left out. */
  readonly path: string
  readonly kind: 'File' | 'Folder' | 'Link' | 'HardLink' | 'Other'
  /** Permission bits including set-id and sticky. */
  readonly mode: number
  readonly size: number
  /** For links, unmodified. */
  readonly target: string
}

/** Receives a file's content in chunks; undefined skips it. */
export type ContentSink = ((chunk: Buffer) => void) | undefined

const MAX_ENTRIES = 200_000
const MAX_PATH = 1_024
const MAX_DEPTH = 64
/** Room for a path, a link target and a few attributes. */
const MAX_HEADER_BYTES = 64 * 1_024
const BLOCK = 512

const KINDS: Readonly<Record<string, ArchiveEntry['kind']>> = {
  File: 'File',
  OldFile: 'File',
  ContiguousFile: 'File',
  Directory: 'Folder',
  SymbolicLink: 'Link',
  Link: 'HardLink',
}

/** Whether the bytes are a tar; a download may be a bare program. */
export const isTarHead = (head: Buffer): boolean => head.toString('latin1', 257, 262) === 'ustar'

export async function readEntries(
  chunks: AsyncIterable<Buffer>,
  refuse: Refuse,
  onEntry: (entry: ArchiveEntry) => ContentSink,
  maxEntries = MAX_ENTRIES,
): Promise<void> {
  const reading = new Reading(refuse, onEntry, maxEntries)
  for await (const chunk of headChecked(chunks, refuse)) reading.write(chunk)
  await reading.end()
}

/** The parser would decompress nested archives by itself, bypassing these limits. */
async function* headChecked(chunks: AsyncIterable<Buffer>, refuse: Refuse): AsyncGenerator<Buffer> {
  let head: Buffer | undefined = Buffer.alloc(0)
  for await (const chunk of chunks) {
    if (head === undefined) {
      yield chunk
      continue
    }
    head = head.length === 0 ? chunk : Buffer.concat([head, chunk])
    if (head.length < BLOCK) continue
    if (!isTarHead(head)) throw refuse('it is no tar archive')
    yield head
    head = undefined
  }
  if (head !== undefined) throw refuse('it is no tar archive')
}

class Reading {
  readonly #refuse: Refuse
  readonly #onEntry: (entry: ArchiveEntry) => ContentSink
  readonly #parser: Parser
  readonly #maxEntries: number
  #problem: unknown
  #entries = 0

  constructor(refuse: Refuse, onEntry: (entry: ArchiveEntry) => ContentSink, maxEntries: number) {
    this.#refuse = refuse
    this.#onEntry = onEntry
    this.#maxEntries = maxEntries
    this.#parser = new Parser({
      strict: true,
      maxMetaEntrySize: MAX_HEADER_BYTES,
      onReadEntry: (entry) => this.#read(entry),
    })
    this.#parser.on('error', (e: unknown) => (this.#problem ??= e))
    // The parser skips an overlong header and would then return its entry under the wrong name.
    this.#parser.on('ignoredEntry', () => (this.#problem ??= refuse('it has an entry that no reader knows')))
  }

  write(chunk: Buffer): void {
    this.#parser.write(chunk)
    this.#check()
  }

  async end(): Promise<void> {
    const ended = new Promise<void>((resolve) => {
      this.#parser.on('end', resolve)
      this.#parser.on('error', () => resolve())
    })
    this.#parser.end()
    await ended
    this.#check()
  }

  #check(): void {
    if (this.#problem === undefined) return
    throw this.#problem instanceof KubeNodeError ? this.#problem : this.#refuse(messageOf(this.#problem), this.#problem)
  }

  #read(entry: ReadEntry): void {
    try {
      const head = this.#headOf(entry)
      const sink = this.#problem === undefined && head !== undefined ? this.#onEntry(head) : undefined
      if (sink !== undefined) entry.on('data', sink)
    } catch (e) {
      this.#problem ??= e
    }
    entry.resume()
  }

  #headOf({ path, type, mode, size, linkpath }: ReadEntry): ArchiveEntry | undefined {
    if (++this.#entries > this.#maxEntries) throw this.#refuse(`it has more than ${this.#maxEntries} entries`)
    if (!Number.isSafeInteger(size) || size < 0) throw this.#refuse(`an entry has the size ${size}`)
    const kind = KINDS[type] ?? 'Other'
    const plain = plainPath(path)
    if (plain === undefined) throw this.#refuse(`${printableLine(JSON.stringify(path.slice(0, 120)))} is no plain path`)
    return plain === '' ? undefined : { path: plain, kind, mode: (mode ?? 0) & 0o7777, size, target: linkpath ?? '' }
  }
}

/** Without `./`, a leading slash or a trailing slash; undefined for paths that climb or hide something. */
function plainPath(path: string): string | undefined {
  const bare = withoutEnd(path.replace(/^(?:\.?\/)+/, ''), /\//)
  if (bare === '' || bare === '.') return ''
  const parts = bare.split('/')
  const isBad = (p: string): boolean => p === '' || p === '.' || p === '..' || /[\\\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(p)
  return parts.some(isBad) || bare.length > MAX_PATH || parts.length > MAX_DEPTH ? undefined : bare
}
