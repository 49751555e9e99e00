// What a fake vendor does with a request, as a pure handler that tests serve over HTTP.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { FakeRegion } from './region.ts'

export interface FakeRequest {
  readonly method: string
  /** Path and query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Known where a thread of its own takes the requests; otherwise they arrive when they are answered. */
  readonly arrivedAt?: number
}

export interface FakeAnswer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly text: string
}

export type Handler = (request: FakeRequest) => FakeAnswer | 'Lost' | 'Hang' | 'Huge'

/** Faults of the network and of the vendor's servers around what it really does. */
export const faulty =
  (
    region: FakeRegion,
    isOrder: (request: FakeRequest) => boolean,
    handler: (request: FakeRequest) => FakeAnswer,
  ): Handler =>
  (request) => {
    const { faults, options } = region
    const now = faults.next
    faults.next = undefined
    if (now === 'Hang' || now === 'Huge') return now
    if (now === 'Nonsense') return { status: 200, text: '<html><body>Sign in to this network</body></html>' }
    if (options.random.next() < faults.serverErrors) return { status: 502, text: 'bad gateway' }
    const answer = handler(request)
    return answer.status === 200 && isOrder(request) && options.random.next() < faults.lostReplies ? 'Lost' : answer
  }

const HUGE_BYTES = 100 * 1024 * 1024
const LONGEST_HEADERS = 256 * 1024

export interface FakeServer {
  readonly url: string
  /** Bytes that were sent of answers that have no end. */
  readonly sent: () => number
  close(): Promise<void>
}

export async function serveFake(handler: Handler): Promise<FakeServer> {
  let sent = 0
  const server = createServer(
    { maxHeaderSize: LONGEST_HEADERS },
    (request, response) => void answerTo(request, response),
  )
  async function answerTo(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    const answer = handler({
      method: request.method ?? '',
      path: request.url ?? '',
      headers: Object.fromEntries(Object.entries(request.headers).map(([k, v]) => [k, String(v)])),
      body,
    })
    if (answer === 'Hang') return
    if (answer === 'Lost') {
      request.socket.destroy()
      return
    }
    if (answer === 'Huge') {
      response.writeHead(200)
      const chunk = Buffer.alloc(64 * 1024, ' ')
      const more = (): void => {
        while (sent < HUGE_BYTES && !response.destroyed) {
          sent += chunk.length
          if (!response.write(chunk)) return
        }
        response.end()
      }
      response.on('drain', more)
      more()
      return
    }
    response.writeHead(answer.status, { ...answer.headers }).end(answer.text)
  }
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    sent: () => sent,
    close: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
