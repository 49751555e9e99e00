// Writes an answer. A long one is sent piece by piece as its reader takes it, so that a slow reader holds references, not copies;
// and compressed, if the reader accepts that.
import type { ServerResponse } from 'node:http'
import type { Writable } from 'node:stream'
import { constants, createGzip } from 'node:zlib'
import type { Clock } from '#lib/clock.ts'
import { encodeJson } from '../codec/json.ts'
import type { Reader } from '../flow/gate.ts'
import type { Answer, Streamed } from '../handlers/context.ts'
import { JSON_TYPE } from '../handlers/encode.ts'
import type { Refusal } from '../status/refusal.ts'
import { warningHeaders } from './warning-header.ts'

/** One write of a long answer: large enough to make the cost of a write negligible, small compared to a connection's own buffers. */
const PIECE_BYTES = 256 * 1024
/** A reader that takes nothing for this long is disconnected. */
const STALLED_MS = 60_000
/** One that takes nothing for this long answers for all that its answer keeps in memory. */
const SLOW_MS = 2_000
/** The buffers of a connection hold as much in any case. */
const SMALL_BYTES = 16 * 1024
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
  /** Told what is sent and what is not taken; a refusal has none. */
  readonly reader?: Reader
}

export function sendAnswer(response: ServerResponse, answer: Answer, sending: Sending): void {
  const { code, body, type } = answer
  const { warnings, reader } = sending
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
  const { length, keeps, next } = Buffer.isBuffer(body) ? whole(body) : streamed(body)
  if (reader !== undefined) response.once('close', () => reader.end())
  let sink: Writable = response
  if ((length ?? PIECE_BYTES) > GZIP_BYTES && answer.verbatim !== true && takesGzip(response)) {
    headers['content-encoding'] = 'gzip'
    headers['vary'] =
      headers['vary'] === undefined ? 'Accept-Encoding' : [headers['vary'], 'Accept-Encoding'].join(', ')
    sink = compressed(response)
  } else if (length !== undefined) headers['content-length'] = length
  response.writeHead(code, headers)
  sendPieces({ response, sink, sending, keeps }, next)
}

interface Pieces {
  /** Undefined: known only when all are made, and more than one piece. */
  readonly length: number | undefined
  readonly keeps: number
  /** Undefined: the last one was given. */
  readonly next: () => Buffer | undefined
}

/** It is in memory as a whole, and counts as a whole. */
function whole(body: Buffer): Pieces {
  let rest: Buffer | undefined = body
  const next = (): Buffer | undefined => {
    const piece = rest
    rest = undefined
    return piece
  }
  return { length: body.length, keeps: 0, next }
}

/** The first piece is made at once: what cannot be made is refused, and a short answer states its length. */
function streamed({ parts, length, keeps }: Streamed): Pieces {
  const pieces = piecesOf(parts)
  const made: Buffer[] = []
  const make = (): void => {
    const { done, value } = pieces.next()
    if (done !== true) made.push(value)
  }
  make()
  const [first] = made
  const isShort = first === undefined || first.length < PIECE_BYTES
  return {
    length: length ?? (isShort ? (first?.length ?? 0) : undefined),
    keeps,
    next: () => {
      if (made.length === 0) make()
      return made.shift()
    },
  }
}

/** Small parts together, large ones in several pieces that are not copied. All but the last are as large as a piece may be. */
export function* piecesOf(parts: Iterable<Buffer>): Generator<Buffer, void> {
  let gathered: Buffer[] = []
  let bytes = 0
  const piece = (): Buffer => {
    const [only] = gathered
    const made = only !== undefined && gathered.length === 1 ? only : Buffer.concat(gathered)
    gathered = []
    bytes = 0
    return made
  }
  for (const part of parts)
    for (let at = 0; at < part.length;) {
      const taken = part.subarray(at, at + PIECE_BYTES - bytes)
      gathered.push(taken)
      bytes += taken.length
      at += taken.length
      if (bytes === PIECE_BYTES) yield piece()
    }
  if (bytes > 0) yield piece()
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
  readonly sending: Sending
  /** Bytes that stay in memory until the last piece is sent. */
  readonly keeps: number
}

function sendPieces({ response, sink, sending, keeps }: PieceWriter, next: () => Buffer | undefined): void {
  const { clock, reader } = sending
  let isSlow = false
  let piece = next()
  const more = (): void => {
    while (piece !== undefined) {
      const now = piece
      piece = next()
      reader?.sent(now.length)
      if (now.length > SMALL_BYTES) reader?.hold(now.length)
      // the rest of the last piece is released with the answer
      if (piece === undefined) return void sink.end(now)
      if (!sink.write(now, () => reader?.give(now.length))) return waitForReader()
    }
    sink.end()
  }
  const waitForReader = (): void => {
    const slow =
      reader &&
      clock.after(SLOW_MS, () => {
        if (!isSlow) reader.hold(keeps)
        isSlow = true
      })
    const stalled = clock.after(STALLED_MS, () => response.destroy())
    const gone = (): void => {
      slow?.cancel()
      stalled.cancel()
    }
    response.once('close', gone)
    sink.once('drain', () => {
      response.off('close', gone)
      gone()
      try {
        more()
      } catch {
        // the head has been sent: a cut answer says that it is not whole
        response.destroy()
      }
    })
  }
  more()
}
