// Writes a request as JSON, piece by piece.
import type { RenderRequest } from './protocol.ts'

const PIECE_CHARS = 256 * 1024

/** The request as JSON, a few files at a time: all at once would block other work for a second. */
export function* piecesOf({ files, ...rest }: RenderRequest): Generator<string> {
  let piece = `${JSON.stringify(rest).slice(0, -1)},"files":{`
  let separator = ''
  for (const [path, text] of Object.entries(files)) {
    piece += `${separator}${JSON.stringify(path)}:${JSON.stringify(text)}`
    separator = ','
    if (piece.length < PIECE_CHARS) continue
    yield piece
    piece = ''
  }
  yield `${piece}}}`
}
