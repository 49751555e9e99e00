// Reads a file named by a user, up to a limit. A device never ends and a pipe may have no writer: neither may fill the memory or hang a command.
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'

/** Settings, keys, certificates, lists of names. */
const MAX_SMALL_BYTES = 8 * 1024 * 1024

/** Time for another program to produce the text while it is read, as in process substitution. */
const PIPE_WAIT_MS = 30_000
const RETRY_MS = 20
const CHUNK_BYTES = 64 * 1024

export const STANDARD_INPUT = 0

/** `file`: a path, or standard input. Throws a system error, or an error whose text explains the problem. */
export function readBounded(file: string | typeof STANDARD_INPUT, maxBytes: number = MAX_SMALL_BYTES): Buffer {
  // Without O_NONBLOCK, opening a pipe without a writer would block.
  const fd = file === STANDARD_INPUT ? file : openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const info = fstatSync(fd)
    if (info.isFile() && info.size > maxBytes) throw tooLarge(`${info.size} bytes`, maxBytes)
    const bytes = readToEnd(fd, maxBytes, file === STANDARD_INPUT ? Number.POSITIVE_INFINITY : PIPE_WAIT_MS)
    if (bytes.length === 0 && info.isFIFO() && file !== STANDARD_INPUT)
      throw new Error('it is a pipe that nothing writes to; write the text to a file and name that')
    return bytes
  } finally {
    if (fd !== STANDARD_INPUT) closeSync(fd)
  }
}

export const readBoundedText = (file: string | typeof STANDARD_INPUT, maxBytes: number = MAX_SMALL_BYTES): string =>
  readBounded(file, maxBytes).toString('utf8')

function readToEnd(fd: number, maxBytes: number, waitMs: number): Buffer {
  const parts: Buffer[] = []
  let waited = 0
  for (let size = 0; ;) {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
    const read = readOrWait(fd, chunk)
    if (read === 0) return Buffer.concat(parts, size)
    if (read === undefined) {
      if (waited >= waitMs) throw new Error(`it is a pipe without an end: nothing came for ${waitMs / 1_000} s`)
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS)
      waited += RETRY_MS
      continue
    }
    waited = 0
    size += read
    if (size > maxBytes) throw tooLarge('more', maxBytes)
    parts.push(chunk.subarray(0, read))
  }
}

/** Undefined: a writer has it open but has not written anything yet. */
function readOrWait(fd: number, chunk: Buffer): number | undefined {
  try {
    return readSync(fd, chunk)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EAGAIN') return undefined
    throw error
  }
}

const tooLarge = (seen: string, maxBytes: number): Error =>
  new Error(`it has ${seen}${seen === 'more' ? ' than' : ', more than'} the limit of ${maxBytes / 1024 / 1024} MiB`)
