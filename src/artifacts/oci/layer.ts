// Packs entries into a layer: a tar compressed with Node.js' zlib at a fixed level, so equal entries give equal bytes.
import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream, rmSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { MEDIA, type Descriptor } from './descriptor.ts'
import type { ImageStore } from './image-store.ts'
import { measured } from './measured.ts'
import type { TarEntry } from './tar-entry.ts'
import { tarPieces } from './tar-writer.ts'
import { piecesOf } from './pieces.ts'

export interface Layer {
  readonly descriptor: Descriptor
  /** Digest of the uncompressed archive. */
  readonly diffId: string
}

/** A higher level takes twice as long for one percent. */
const LEVEL = 6
/** Archives are compressed in chunks of one size, whatever the file sizes. */
const PIECE_BYTES = 1024 * 1024

/** `scratch` is an existing folder for one file at a time. */
export async function writeLayer(store: ImageStore, scratch: string, entries: readonly TarEntry[]): Promise<Layer> {
  const path = join(scratch, 'layer.tar.gz')
  const whole = createHash('sha256')
  const packed = measured()
  try {
    const archive = Readable.from(hashed(piecesOf(tarPieces(entries), PIECE_BYTES), whole))
    await pipeline(archive, createGzip({ level: LEVEL }), packed.stream, createWriteStream(path))
    const { bytes: size, sha256 } = packed.total()
    const descriptor = { mediaType: MEDIA.layer, digest: `sha256:${sha256}`, size }
    if (!(await store.hasBlob(descriptor)))
      await store.putBlob({ descriptor, from: (start) => createReadStream(path, { start }) as AsyncIterable<Buffer> })
    return { descriptor, diffId: `sha256:${whole.digest('hex')}` }
  } finally {
    rmSync(path, { force: true })
  }
}

async function* hashed(pieces: AsyncIterable<Buffer>, hash: ReturnType<typeof createHash>): AsyncGenerator<Buffer> {
  for await (const piece of pieces) {
    hash.update(piece)
    yield piece
  }
}
