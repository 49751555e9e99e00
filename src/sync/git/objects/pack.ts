// Reads one pack of a repository through its index (version 2), a few bytes at a time: neither file is ever loaded into memory.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { readVarint } from './delta.ts'
import { Damaged, compressedBound, inflateExactly } from './inflate.ts'

const OID_BYTES = 20
const INDEX_MAGIC = 0xff744f63
const FANOUT_AT = 8
const NAMES_AT = FANOUT_AT + 256 * 4
/** Offsets with this bit set are indexes into the table of 64-bit offsets. */
const LARGE = 0x80000000
/** Type and size take at most ten bytes, the base of a delta twenty. */
export const MAX_HEADER_BYTES = 32

export type PackType = 'commit' | 'tree' | 'blob' | 'tag'
const TYPES: Readonly<Record<number, PackType>> = { 1: 'commit', 2: 'tree', 3: 'blob', 4: 'tag' }
const OFFSET_DELTA = 6
const REFERENCE_DELTA = 7

export interface PackEntry {
  /** Inflated size: of the object, or of the delta. */
  readonly size: number
  readonly dataAt: number
  readonly is: PackType | { readonly baseAt: number } | { readonly base: string }
}

/** Opened for one read and closed again: a pack may be replaced at any moment. */
function withFile<T>(path: string, read: (fd: number, size: number) => T): T {
  const fd = openSync(path, 'r')
  try {
    return read(fd, fstatSync(fd).size)
  } finally {
    closeSync(fd)
  }
}

function bytesAt(fd: number, at: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  return bytes.subarray(0, readSync(fd, bytes, 0, length, at))
}

function exactly(fd: number, at: number, length: number): Buffer {
  const bytes = bytesAt(fd, at, length)
  if (bytes.length !== length) throw new Damaged('lies in a pack whose index is truncated')
  return bytes
}

export class Pack {
  readonly #path: string
  readonly #index: string

  /** `path` without .pack and .idx. */
  constructor(path: string) {
    this.#path = `${path}.pack`
    this.#index = `${path}.idx`
  }

  offsetOf(oid: string): number | undefined {
    const wanted = Buffer.from(oid, 'hex')
    return withFile(this.#index, (fd) => {
      const { count, from, to } = bucket(fd, wanted[0] ?? 0)
      let [low, high] = [from, to]
      while (low < high) {
        const middle = Math.floor((low + high) / 2)
        const order = exactly(fd, NAMES_AT + middle * OID_BYTES, OID_BYTES).compare(wanted)
        if (order === 0) return offsetAt(fd, count, middle)
        if (order < 0) low = middle + 1
        else high = middle
      }
      return undefined
    })
  }

  /** Returns at most `limit` ids that start with these hexadecimal digits (two or more). */
  idsWithPrefix(prefix: string, limit: number): readonly string[] {
    const least = Buffer.from(prefix.padEnd(2 * OID_BYTES, '0'), 'hex')
    return withFile(this.#index, (fd) => {
      const { from, to } = bucket(fd, least[0] ?? 0)
      let [low, high] = [from, to]
      while (low < high) {
        const middle = Math.floor((low + high) / 2)
        if (exactly(fd, NAMES_AT + middle * OID_BYTES, OID_BYTES).compare(least) < 0) low = middle + 1
        else high = middle
      }
      const ids: string[] = []
      for (let i = low; i < to && ids.length < limit; i++) {
        const id = exactly(fd, NAMES_AT + i * OID_BYTES, OID_BYTES).toString('hex')
        if (!id.startsWith(prefix)) break
        ids.push(id)
      }
      return ids
    })
  }

  entryAt(offset: number): PackEntry {
    return withFile(this.#path, (fd) => entryIn(bytesAt(fd, offset, MAX_HEADER_BYTES), offset))
  }

  /** The caller has checked the size against its limits. */
  inflate({ dataAt, size }: PackEntry): Buffer {
    return withFile(this.#path, (fd, end) => {
      const length = Math.max(0, Math.min(compressedBound(size), end - dataAt))
      return inflateExactly(bytesAt(fd, dataAt, length), size)
    })
  }
}

/** `head`: the first bytes of the entry at this offset in its pack. */
export function entryIn(head: Buffer, offset: number): PackEntry {
  const first = head[0]
  if (first === undefined) throw new Damaged('lies outside of its pack')
  const rest = first < 0x80 ? { value: 0, at: 1 } : readVarint(head, 1)
  const size = (first & 0x0f) + rest.value * 16
  const kind = (first >> 4) & 7
  const type = TYPES[kind]
  if (type !== undefined) return { size, dataAt: offset + rest.at, is: type }
  if (kind === REFERENCE_DELTA) {
    const base = head.subarray(rest.at, rest.at + OID_BYTES).toString('hex')
    return { size, dataAt: offset + rest.at + OID_BYTES, is: { base } }
  }
  if (kind !== OFFSET_DELTA) throw new Damaged(`has the unknown type ${kind}`)
  const back = backwards(head, rest.at)
  if (back.value <= 0 || back.value > offset) throw new Damaged('has a delta base outside of its pack')
  return { size, dataAt: offset + back.at, is: { baseAt: offset - back.value } }
}

/** The index rows of ids that start with this byte. */
function bucket(fd: number, first: number): { readonly count: number; readonly from: number; readonly to: number } {
  const head = exactly(fd, 0, NAMES_AT)
  if (head.readUInt32BE(0) !== INDEX_MAGIC || head.readUInt32BE(4) !== 2)
    throw new Damaged('lies in a pack whose index is not of version 2')
  const row = (i: number) => (i < 0 ? 0 : head.readUInt32BE(FANOUT_AT + i * 4))
  return { count: row(255), from: row(first - 1), to: row(first) }
}

function offsetAt(fd: number, count: number, row: number): number {
  const offsets = NAMES_AT + count * (OID_BYTES + 4)
  const small = exactly(fd, offsets + row * 4, 4).readUInt32BE(0)
  if (small < LARGE) return small
  return Number(exactly(fd, offsets + count * 4 + (small - LARGE) * 8, 8).readBigUInt64BE(0) & 0xf_ffff_ffff_ffffn)
}

/** Git's other number format: highest bits first, plus one for each following byte. */
function backwards(bytes: Uint8Array, from: number): { readonly value: number; readonly at: number } {
  let value = -1
  for (let at = from; at < bytes.length && value < 2 ** 45; at++) {
    const byte = bytes[at] ?? 0
    value = (value + 1) * 128 + (byte & 0x7f)
    if (byte < 0x80) return { value, at: at + 1 }
  }
  throw new Damaged('has a damaged delta base')
}
