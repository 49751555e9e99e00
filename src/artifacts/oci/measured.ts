// A pass-through stream that computes its size and SHA-256.
import { createHash } from 'node:crypto'
import { Transform } from 'node:stream'

export interface Measured {
  readonly stream: Transform
  /** Valid once everything has passed. */
  readonly total: () => { readonly bytes: number; readonly sha256: string }
}

export function measured(): Measured {
  const hash = createHash('sha256')
  let bytes = 0
  const stream = new Transform({
    transform(chunk: Buffer, _, done) {
      bytes += chunk.length
      hash.update(chunk)
      done(null, chunk)
    },
  })
  return { stream, total: () => ({ bytes, sha256: hash.digest('hex') }) }
}
