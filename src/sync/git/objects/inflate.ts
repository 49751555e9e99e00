// Inflates untrusted data: never more than was declared, whatever the stream contains.
import { constants, inflateSync } from 'node:zlib'
import { isObject } from '#lib/json.ts'

/** Deflate never makes data longer than this; anything behind it belongs to another object. */
export const compressedBound = (size: number): number => size + Math.ceil(size / 100) + 4_096

/** Bytes that are read for the header of a loose object; it takes 32 at most. */
export const HEADER_BYTES = 512

export class Damaged extends Error {
  override readonly name = 'Damaged'
}

/** Exactly `size` bytes. A stream that holds more is stopped at the first byte too many. */
export function inflateExactly(bytes: Uint8Array, size: number): Buffer {
  let out: Buffer
  try {
    out = inflateSync(bytes, { maxOutputLength: Math.max(1, size) })
  } catch (error) {
    const isTooLong = isObject(error) && error['code'] === 'ERR_BUFFER_TOO_LARGE'
    throw new Damaged(isTooLong ? `declares ${size} bytes and holds more` : 'is not a complete zlib stream')
  }
  if (out.length !== size) throw new Damaged(`declares ${size} bytes and holds ${out.length}`)
  return out
}

/** The start of a stream: a few hundred bytes in, at most half a megabyte out. */
export function inflateStart(bytes: Uint8Array): Buffer {
  try {
    return inflateSync(bytes.subarray(0, HEADER_BYTES), { finishFlush: constants.Z_SYNC_FLUSH })
  } catch {
    throw new Damaged('is not a zlib stream')
  }
}
