// Inflates untrusted data, never beyond the declared size, whatever the stream contains.
import { constants, inflateSync } from 'node:zlib'
import { isObject } from '#lib/json.ts'

/** Deflate never makes data longer than this; further bytes belong to another object. */
export const compressedBound = (size: number): number => size + Math.ceil(size / 100) + 4_096

/** Bytes read for the header of a loose object; it needs at most 32. */
export const HEADER_BYTES = 512

export class Damaged extends Error {
  override readonly name = 'Damaged'
}

/** What zlib returns with `info`; its types omit it. */
interface InflatedWithInfo {
  readonly buffer: Buffer
  readonly engine: { readonly bytesWritten: number }
}

/** Exactly `size` bytes. A longer stream is stopped at the first extra byte. */
export const inflateExactly = (bytes: Uint8Array, size: number): Buffer => inflateMeasured(bytes, size).content

/** Also returns how many bytes of the stream were used. */
export function inflateMeasured(bytes: Uint8Array, size: number): { readonly content: Buffer; readonly taken: number } {
  let made: InflatedWithInfo
  try {
    made = inflateSync(bytes, { maxOutputLength: Math.max(1, size), info: true }) as unknown as InflatedWithInfo
  } catch (error) {
    const isTooLong = isObject(error) && error['code'] === 'ERR_BUFFER_TOO_LARGE'
    throw new Damaged(isTooLong ? `declares ${size} bytes and holds more` : 'is not a complete zlib stream')
  }
  const { buffer: content, engine } = made
  if (content.length !== size) throw new Damaged(`declares ${size} bytes and holds ${content.length}`)
  return { content, taken: engine.bytesWritten }
}

/** The start of a stream: a few hundred bytes in, at most half a megabyte out. */
export function inflateStart(bytes: Uint8Array): Buffer {
  try {
    return inflateSync(bytes.subarray(0, HEADER_BYTES), { finishFlush: constants.Z_SYNC_FLUSH })
  } catch {
    throw new Damaged('is not a zlib stream')
  }
}
