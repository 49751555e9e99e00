// Decompresses bytes, from memory or part of a file, whatever the compression, and never yields more than the limit: a bomb ends the read, not the disk.
import { spawn } from 'node:child_process'
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createZstdDecompress } from 'node:zlib'
import { KubeNodeError, messageOf } from '#lib/errors.ts'

export interface FilePart {
  readonly file: string
  readonly start: number
  /** In bytes. */
  readonly length: number
}

/** More than all release archives of node components together unpack to. */
const MAX_UNPACKED_BYTES = 4 * 2 ** 30
/** Eight times the dictionary of `xz -9`; a header may request gigabytes. */
const XZ_MEMORY = '512MiB'
const MAGIC_BYTES = 6

/** Creates the caller's error for an unreadable file. */
export type Refuse = (why: string, cause?: unknown) => Error

type Packing = 'none' | 'gzip' | 'zstd' | 'xz' | 'bzip2'

const MAGIC: readonly (readonly [Packing, readonly number[]])[] = [
  ['gzip', [0x1f, 0x8b]],
  ['zstd', [0x28, 0xb5, 0x2f, 0xfd]],
  ['xz', [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00]],
  ['bzip2', [0x42, 0x5a, 0x68]],
]

async function headOf(part: FilePart | Buffer): Promise<Buffer> {
  if (Buffer.isBuffer(part)) return part.subarray(0, MAGIC_BYTES)
  const { file, start, length } = part
  const handle = await open(file, 'r')
  try {
    const head = Buffer.alloc(Math.min(MAGIC_BYTES, length))
    await handle.read(head, 0, head.length, start)
    return head
  } finally {
    await handle.close()
  }
}

/** Detected by content: download names may be wrong. */
const packingOf = (head: Buffer): Packing =>
  MAGIC.find(([, magic]) => magic.every((byte, n) => head[n] === byte))?.[0] ?? 'none'

export async function* unpackedStream(
  part: FilePart | Buffer,
  refuse: Refuse,
  maxBytes = MAX_UNPACKED_BYTES,
): AsyncGenerator<Buffer> {
  const packing = packingOf(await headOf(part))
  if (packing === 'bzip2') throw refuse('it is compressed with bzip2; only gzip, xz and zstd are read')
  if (part.length === 0) return
  const raw = Buffer.isBuffer(part)
    ? Readable.from([part])
    : createReadStream(part.file, { start: part.start, end: part.start + part.length - 1 })
  let bytes = 0
  try {
    for await (const chunk of unpacked(raw, packing, refuse)) {
      bytes += chunk.length
      if (bytes > maxBytes) throw refuse(`it unpacks to more than ${maxBytes} bytes`)
      yield chunk
    }
  } catch (e) {
    throw e instanceof KubeNodeError ? e : refuse(messageOf(e), e)
  } finally {
    raw.destroy()
  }
}

function unpacked(raw: Readable, packing: Exclude<Packing, 'bzip2'>, refuse: Refuse): AsyncIterable<Buffer> {
  if (packing === 'none') return raw as AsyncIterable<Buffer>
  if (packing === 'xz') return throughXz(raw, refuse)
  const unpacker = packing === 'gzip' ? createGunzip() : createZstdDecompress()
  // Its error reaches the reader through the decompressor.
  pipeline(raw, unpacker).catch(() => undefined)
  return unpacker as AsyncIterable<Buffer>
}

/** Node.js has no xz. */
async function* throughXz(raw: Readable, refuse: Refuse): AsyncGenerator<Buffer> {
  const child = spawn('xz', ['--decompress', '--stdout', `--memlimit-decompress=${XZ_MEMORY}`], {
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const ended = new Promise<string | undefined>((resolve) => {
    let words = ''
    child.stderr.on('data', (chunk: Buffer) => (words = (words + chunk.toString('utf8')).slice(0, 200)))
    child.once('error', (e: NodeJS.ErrnoException) =>
      resolve(
        e.code === 'ENOENT' ? 'it needs the program xz, which is not installed here (package xz-utils)' : e.message,
      ),
    )
    child.once('close', (code) => resolve(code === 0 ? undefined : words.trim() || `xz ended with ${code}`))
  })
  // A program that exits early closes its input; its own message is the reason.
  pipeline(raw, child.stdin).catch(() => undefined)
  try {
    yield* child.stdout as AsyncIterable<Buffer>
    const problem = await ended
    if (problem !== undefined) throw refuse(problem)
  } finally {
    child.kill('SIGKILL')
  }
}
