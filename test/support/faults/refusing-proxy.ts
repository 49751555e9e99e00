// A reverse proxy before an API server that can refuse everything for a while, as an overloaded or restarting server does, and counts who asks meanwhile.
// It ends TLS, so it speaks for its clients as the administrator: their certificates say whom it impersonates.
import { once } from 'node:events'
import https from 'node:https'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { newAuthority } from '../servers/tls.ts'

export interface Refusal {
  readonly code: number
  readonly reason: string
  readonly retryAfterSeconds?: number
  /** Writes pass: only lists and watches expire. */
  readonly onlyReads?: boolean
}

export const REFUSALS = {
  '429 with Retry-After': { code: 429, reason: 'TooManyRequests', retryAfterSeconds: 1 },
  '503': { code: 503, reason: 'ServiceUnavailable' },
  '410 on every list and watch': { code: 410, reason: 'Expired', onlyReads: true },
} as const satisfies Readonly<Record<string, Refusal>>

export interface Upstream {
  readonly url: string
  readonly ca: string
  readonly cert: string
  readonly key: string
}

export interface RefusingProxy {
  readonly url: string
  /** Signed the proxy's own certificate. */
  readonly ca: string
  /** Ends every watch, and refuses until it is ended. */
  begin(refusal: Refusal): void
  /** Requests since `begin`, by user. */
  end(): ReadonlyMap<string, number>
  close(): Promise<void>
}

const listOf = (value: string | string[] | undefined): string[] =>
  value === undefined ? [] : typeof value === 'string' ? [value] : value

export async function startRefusingProxy({ url, ca, cert, key }: Upstream): Promise<RefusingProxy> {
  const own = await newAuthority('refusing-proxy')
  const target = new URL(url)
  const agent = new https.Agent({ keepAlive: true, ca, cert, key })
  const watches = new Set<ServerResponse>()
  const asked = new Map<string, number>()
  let refusal: Refusal | undefined

  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    const { subject } = (request.socket as TLSSocket).getPeerCertificate()
    const user = listOf(subject?.CN)[0] ?? ''
    if (refusal !== undefined) asked.set(user, (asked.get(user) ?? 0) + 1)
    const isRead = request.method === 'GET' && /[?&](watch=|limit=|resourceVersion)/.test(request.url ?? '')
    if (refusal !== undefined && (refusal.onlyReads !== true || isRead)) return refuse(request, response, refusal)
    const headers = {
      ...request.headers,
      host: target.host,
      'impersonate-user': user,
      'impersonate-group': listOf(subject?.O),
    }
    const { hostname, port } = target
    const upstream = https.request({
      hostname,
      port,
      path: request.url ?? '/',
      method: request.method ?? 'GET',
      headers,
      agent,
    })
    if (/[?&]watch=/.test(request.url ?? '')) watches.add(response)
    response.once('close', () => {
      watches.delete(response)
      upstream.destroy()
    })
    upstream.on('error', () => response.destroy())
    upstream.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.on('error', () => response.destroy())
      answer.pipe(response)
    })
    request.pipe(upstream)
  }

  const authorities = [ca, own.cert]
  const server = https.createServer({ ...(await own.server()), ca: authorities, requestCert: true }, onRequest)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ca: own.cert,
    begin: (next) => {
      asked.clear()
      refusal = next
      for (const watch of watches) watch.destroy()
    },
    end: () => {
      refusal = undefined
      return new Map(asked)
    },
    close: async () => {
      server.closeAllConnections()
      server.close()
      agent.destroy()
      await once(server, 'close')
    },
  }
}

function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  { code, reason, retryAfterSeconds }: Refusal,
): void {
  request.resume()
  const details = retryAfterSeconds === undefined ? {} : { retryAfterSeconds }
  response.writeHead(code, {
    'content-type': 'application/json',
    ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
  })
  response.end(
    JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', message: reason, reason, code, details }),
  )
}
