// Applies a git delta: a list of copies from a base and of new bytes. Checks the declared sizes before it allocates memory.
import { Damaged } from './inflate.ts'

export interface DeltaSizes {
  readonly base: number
  readonly result: number
  /** Offset of the instructions. */
  readonly at: number
}

/** Seven bits per byte, lowest first; a size above 2^49 is invalid. */
const MAX_VARINT_BYTES = 7

export function readVarint(bytes: Uint8Array, from: number): { readonly value: number; readonly at: number } {
  let value = 0
  for (let i = 0; i < MAX_VARINT_BYTES; i++) {
    const byte = bytes[from + i]
    if (byte === undefined) break
    value += (byte & 0x7f) * 2 ** (7 * i)
    if (byte < 0x80) return { value, at: from + i + 1 }
  }
  throw new Damaged('has a damaged size')
}

export function deltaSizes(delta: Uint8Array): DeltaSizes {
  const base = readVarint(delta, 0)
  const result = readVarint(delta, base.at)
  return { base: base.value, result: result.value, at: result.at }
}

const COPY = 0x80
/** A copy of size 0 means this many bytes. */
const DEFAULT_COPY = 0x10000
/** Copies up to this length run byte by byte. */
const SHORT = 64

function byteAt(delta: Uint8Array, at: number): number {
  const byte = delta[at]
  if (byte === undefined) throw new Damaged('has a truncated delta')
  return byte
}

/** The caller has checked the sizes against its limits. */
export function applyDelta(base: Uint8Array, delta: Uint8Array, sizes: DeltaSizes): Buffer {
  if (base.length !== sizes.base) throw new Damaged(`is a delta of ${sizes.base} bytes, its base has ${base.length}`)
  const out = Buffer.alloc(sizes.result)
  let at = sizes.at
  let end = 0
  while (at < delta.length) {
    const op = delta[at++] ?? 0
    if (op === 0) throw new Damaged('has an unknown delta instruction')
    const from = op < COPY ? delta : base
    let offset = op < COPY ? at : 0
    let size = op < COPY ? op : 0
    if (op < COPY) at += op
    else {
      for (let i = 0; i < 4; i++) if ((op & (1 << i)) !== 0) offset += byteAt(delta, at++) * 2 ** (8 * i)
      for (let i = 0; i < 3; i++) if ((op & (0x10 << i)) !== 0) size += byteAt(delta, at++) * 2 ** (8 * i)
      if (size === 0) size = DEFAULT_COPY
    }
    if (offset + size > from.length || end + size > out.length) throw new Damaged('has a delta that leaves its bounds')
    // For a short piece, creating a view costs far more than the copy, and there may be millions.
    if (size <= SHORT) for (let i = 0; i < size; i++) out[end + i] = from[offset + i] ?? 0
    else out.set(from.subarray(offset, offset + size), end)
    end += size
  }
  if (end !== out.length) throw new Damaged(`declares ${out.length} bytes and makes ${end}`)
  return out
}
