// Reads the links of commits for a walk, within a total size: a hostile server sends thousands of commits with messages of a megabyte each.
import { setImmediate } from 'node:timers/promises'
import type { ObjectReader } from '../../trust/commit-facts.ts'
import type { ReadLinks } from '../../trust/history.ts'
import { parseLinks } from '../../trust/signed-object.ts'
import { Malformed } from '../../trust/ssh-wire.ts'

/** Reading blocks the event loop; other tasks get a turn after this many bytes. */
const BYTES_IN_A_ROW = 256 * 1024

/** Throws Malformed when a commit cannot be read, or the total size is exceeded. */
export function linksWithin(reader: Pick<ObjectReader, 'commitBytes'>, maxBytes: number): ReadLinks {
  let [read, inARow] = [0, 0]
  return async (id) => {
    const bytes = reader.commitBytes(id)
    read += bytes.length
    inARow += bytes.length
    if (read > maxBytes) throw new Malformed(`lies behind more than ${maxBytes} bytes of commits`)
    if (inARow > BYTES_IN_A_ROW) {
      await setImmediate()
      inARow = 0
    }
    return parseLinks(bytes)
  }
}
