// Writes an answer. A long one is sent piece by piece as its reader takes it, so that a slow reader holds references, not copies;
// and compressed, if the reader accepts that.
import type { ServerResponse } from 'node:http'
import type { Writable } from 'node:stream'
import { constants, createGzip } from 'node:zlib'
import type { Clock } from '#lib/clock.ts'
import { encodeJson } from '../codec/json.ts'
import type { Answer } from '../handlers/context.ts'
import { JSON_TYPE } from '../handlers/encode.ts'
import type { Refusal } from '../status/refusal.ts'
import { warningHeaders } from './warning-header.ts'

/** One write of a long answer: large enough to make the cost of a write negligible, small compared to a connection's own buffers. */
const PIECE_BYTES = 256 * 1024
/** A reader that takes nothing for this long is disconnected. */
const STALLED_MS = 60_000
/** Beyond it an answer is compressed, as quickly as can be; both as in a kube-apiserver. */
const GZIP_BYTES = 128 * 1024

export const refusalAnswer = (e: Refusal): Answer => ({
  code: e.status.code,
  body: encodeJson(e.status),
  type: JSON_TYPE,
  headers: e.headers,
})

export interface Sending {
  readonly clock: Clock
  readonly warnings?: ReadonlySet<string>
}

export function sendAnswer(response: ServerResponse, answer: Answer, { clock, warnings }: Sending): void {
  const { code, body, type } = answer
  const headers: Record<string, string | number | string[]> = {
    'cache-control': 'no-cache, private',
    ...answer.headers,
  }
  if (type !== undefined) headers['content-type'] = type
  if (warnings !== undefined && warnings.size > 0) headers['warning'] = [...warningHeaders(warnings)]
  if (body === undefined) {
    response.writeHead(code, headers).end()
    return
  }
  const pieces = Buffer.isBuffer(body) ? [body] : body
  const length = pieces.reduce((n, p) => n + p.length, 0)
  if (length > GZIP_BYTES && answer.verbatim !== true && takesGzip(response)) {
    headers['content-encoding'] = 'gzip'
    headers['vary'] =
      headers['vary'] === undefined ? 'Accept-Encoding' : [headers['vary'], 'Accept-Encoding'].join(', ')
    response.writeHead(code, headers)
    sendPieces({ response, sink: compressed(response), clock }, pieces)
    return
  }
  headers['content-length'] = length
  response.writeHead(code, headers)
  if (Buffer.isBuffer(body)) response.end(body)
  else sendPieces({ response, sink: response, clock }, body)
}

/** Named exactly, without a weight: as a kube-apiserver reads it. */
const takesGzip = ({ req }: ServerResponse): boolean =>
  (req.headers['accept-encoding'] ?? '').split(',').some((encoding) => encoding.trim() === 'gzip')

/** Compressed off the main thread; untaken output waits before the compressor, as it would before the connection. */
function compressed(response: ServerResponse): Writable {
  const zip = createGzip({ level: constants.Z_BEST_SPEED })
  zip.on('error', () => response.destroy())
  response.once('close', () => zip.destroy())
  zip.pipe(response)
  return zip
}

interface PieceWriter {
  readonly response: ServerResponse
  /** The response, or the compressor in front of it. */
  readonly sink: Writable
  readonly clock: Clock
}

function sendPieces({ response, sink, clock }: PieceWriter, parts: readonly Buffer[]): void {
  let next = 0
  const more = (): void => {
    while (next < parts.length) {
      const from = next
      for (let bytes = 0; next < parts.length && bytes < PIECE_BYTES; next++) bytes += parts[next]?.length ?? 0
      const piece = Buffer.concat(parts.slice(from, next))
      if (next >= parts.length) return void sink.end(piece)
      if (!sink.write(piece)) return waitForReader()
    }
    sink.end()
  }
  const waitForReader = (): void => {
    const stalled = clock.after(STALLED_MS, () => response.destroy())
    const gone = () => stalled.cancel()
    response.once('close', gone)
    sink.once('drain', () => {
      response.off('close', gone)
      stalled.cancel()
      more()
    })
  }
  more()
}
