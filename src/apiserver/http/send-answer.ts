// Writes an answer. A long one goes out piece by piece as its reader takes it, so that a slow reader holds references, not copies.
import type { ServerResponse } from 'node:http'
import type { Clock } from '#lib/clock.ts'
import { encodeJson } from '../codec/json.ts'
import type { Answer } from '../handlers/context.ts'
import { JSON_TYPE } from '../handlers/encode.ts'
import type { Refusal } from '../status/refusal.ts'
import { warningHeaders } from './warning-header.ts'

/** One write of a long answer: large enough that the cost of a write does not show, small beside what a connection holds anyway. */
const PIECE_BYTES = 256 * 1024
/** A reader that takes nothing for so long is gone. */
const STALLED_MS = 60_000

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
  if (Buffer.isBuffer(body)) {
    headers['content-length'] = body.length
    response.writeHead(code, headers).end(body)
    return
  }
  headers['content-length'] = body.reduce((n, p) => n + p.length, 0)
  response.writeHead(code, headers)
  sendPieces(response, body, clock)
}

function sendPieces(response: ServerResponse, parts: readonly Buffer[], clock: Clock): void {
  let next = 0
  const more = (): void => {
    while (next < parts.length) {
      const from = next
      for (let bytes = 0; next < parts.length && bytes < PIECE_BYTES; next++) bytes += parts[next]?.length ?? 0
      const piece = Buffer.concat(parts.slice(from, next))
      if (next >= parts.length) return void response.end(piece)
      if (!response.write(piece)) return waitForReader()
    }
    response.end()
  }
  const waitForReader = (): void => {
    const stalled = clock.after(STALLED_MS, () => response.destroy())
    const gone = () => stalled.cancel()
    response.once('close', gone)
    response.once('drain', () => {
      response.off('close', gone)
      stalled.cancel()
      more()
    })
  }
  more()
}
