// Checks a pack from a server before isomorphic-git unpacks it, because isomorphic-git keeps whatever a stream inflates to in memory. Every object is
// inflated here first, up to its declared size and no further.
import { deltaSizes } from '../objects/delta.ts'
import { Damaged, compressedBound, inflateMeasured } from '../objects/inflate.ts'
import { MAX_HEADER_BYTES, entryIn } from '../objects/pack.ts'
import { MIB } from '#lib/bytes.ts'

const HEADER_BYTES = 12
/** A fleet of a thousand clusters adds a few thousand files a year. Building the index compares each of them 256 times. */
const MAX_OBJECTS = 500_000
/** Size of one object, or of a delta's result. */
const MAX_OBJECT_BYTES = 64 * MIB
/** Total size: a minute of work for a decompressor written in JavaScript. */
const MAX_ALL_BYTES = 1024 * MIB

export function requireBoundedPack(pack: Buffer): void {
  if (pack.toString('latin1', 0, 4) !== 'PACK' || pack.length < HEADER_BYTES) throw new Damaged('is no pack')
  const objects = pack.readUInt32BE(8)
  if (objects > MAX_OBJECTS) throw new Damaged(`has ${objects} objects (limit ${MAX_OBJECTS})`)
  let all = 0
  const count = (bytes: number) => {
    all += bytes
    if (bytes > MAX_OBJECT_BYTES)
      throw new Damaged(`has an object of ${bytes} bytes (limit ${MAX_OBJECT_BYTES / MIB} MiB)`)
    if (all > MAX_ALL_BYTES) throw new Damaged(`unpacks to more than ${MAX_ALL_BYTES / MIB} MiB`)
  }
  let at = HEADER_BYTES
  for (let n = 0; n < objects; n++) {
    const { size, dataAt, is } = entryIn(pack.subarray(at, at + MAX_HEADER_BYTES), at)
    count(size)
    const { content, taken } = inflateMeasured(pack.subarray(dataAt, dataAt + compressedBound(size)), size)
    if (typeof is !== 'string') count(deltaSizes(content).result)
    at = dataAt + taken
  }
}
