// Passes content through while it is read, and fails at the end unless size and digest match.
import { createHash } from 'node:crypto'
import { KubeNodeError } from '#lib/errors.ts'
import type { Descriptor } from './descriptor.ts'
import { ociErrors } from './oci-errors.ts'

/** A reader must not use the content before the end. Never passes on more than the size. */
export async function* checked(
  pieces: AsyncIterable<Buffer>,
  { digest, size }: Pick<Descriptor, 'digest' | 'size'>,
): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  let length = 0
  const bad = (why: string) => new KubeNodeError(ociErrors.KN13010({ what: digest, why }))
  for await (const piece of pieces) {
    length += piece.length
    if (length > size) throw bad(`it is longer than ${size} bytes`)
    hash.update(piece)
    yield piece
  }
  if (length < size) throw bad(`it ends after ${length} of ${size} bytes`)
  const found = `sha256:${hash.digest('hex')}`
  if (found !== digest) throw bad(`its digest is ${found}`)
}
