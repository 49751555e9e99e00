// Cuts a byte stream into chunks of one size, except the last.
export async function* piecesOf(
  content: Iterable<Buffer> | AsyncIterable<Buffer>,
  pieceBytes: number,
): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = []
  let length = 0
  for await (const chunk of content)
    for (let at = 0; at < chunk.length;) {
      const part = chunk.subarray(at, at + pieceBytes - length)
      waiting.push(part)
      length += part.length
      at += part.length
      if (length < pieceBytes) continue
      yield Buffer.concat(waiting)
      waiting = []
      length = 0
    }
  if (length > 0) yield Buffer.concat(waiting)
}
