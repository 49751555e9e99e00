// Splits a byte stream into lines and holds at most one bounded line.
import { KubeNodeError } from '#lib/errors.ts'
import { kubeErrors } from '../kube-errors.ts'

/** An object in etcd is at most 1.5 MiB; with managedFields and escapes an event stays far below this. */
const MAX_LINE_BYTES = 16 * 1024 * 1024

const NEWLINE = 10

export class LineTooLong extends KubeNodeError {
  constructor(bytes: number, limit: number) {
    super(kubeErrors.KN2410_broken({ limit, bytes }), { retry: 'later' })
  }
}

/** The stream ended inside a line; the partial line is useless. */
export class CutLine extends KubeNodeError {
  constructor(bytes: number) {
    super(kubeErrors.KN2410_end({ bytes }), {
      retry: 'later',
    })
  }
}

/** Yields whole, non-empty lines. Throws CutLine if the stream ends inside one, and LineTooLong before a line exceeds the limit. */
export async function* linesOf(
  chunks: AsyncIterable<Buffer>,
  limit = MAX_LINE_BYTES,
): AsyncGenerator<string, void, undefined> {
  let parts: Buffer[] = []
  let size = 0
  for await (const chunk of chunks) {
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      const tail = chunk.subarray(start, end)
      start = end + 1
      size += tail.length
      if (size > limit) throw new LineTooLong(size, limit)
      const line = parts.length === 0 ? tail.toString() : Buffer.concat([...parts, tail]).toString()
      parts = []
      size = 0
      if (line.trim() !== '') yield line
    }
    const rest = chunk.subarray(start)
    size += rest.length
    if (size > limit) throw new LineTooLong(size, limit)
    if (rest.length > 0) parts.push(rest)
  }
  if (size > 0) throw new CutLine(size)
}
