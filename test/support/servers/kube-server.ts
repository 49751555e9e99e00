// Serves the fake over real HTTPS, with client certificates, tokens, permissions that can be withdrawn, and answers that can be broken on the wire.
import type { IncomingMessage, ServerResponse } from 'node:http'
import https from 'node:https'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { ConnectionError, failure } from '#kube/errors.ts'
import type { FakeKube } from '#test/doubles/kube/fake-kube.ts'
import type { ConnectionConfig } from '#kube/http/connection.ts'
import { answer } from './kube-face.ts'
import { newAuthority, type CertificateAuthority, type Pair } from './tls.ts'

interface Seen {
  readonly user: string
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
}

/** What a test may do to one request before the fake sees it; true means it has answered itself. */
type Interference = (seen: Seen, response: ServerResponse, request: IncomingMessage) => boolean | Promise<boolean>

export interface KubeServer {
  readonly url: string
  readonly port: number
  readonly authority: CertificateAuthority
  /** Everything a client of this user needs. */
  config(user?: string): Promise<ConnectionConfig>
  readonly tokens: Map<string, string>
  /** False refuses with 403. May be replaced at any time. */
  allow: (seen: Seen) => boolean
  interfere: Interference | undefined
  readonly requests: Seen[]
  /** Goes over to another CA and a certificate of it; open connections live on. */
  rotate(authority: CertificateAuthority): Promise<void>
  /** Ends all connections, as a restart does. */
  dropConnections(): void
  close(): Promise<void>
}

export async function serveFake(fake: FakeKube, port = 0): Promise<KubeServer> {
  let authority = await newAuthority()
  const tokens = new Map<string, string>()
  const requests: Seen[] = []
  const material = (own: Pair, ca: CertificateAuthority) => ({ cert: own.cert, key: own.key, ca: [ca.cert] })
  const server = https.createServer({
    ...material(await authority.server(), authority),
    requestCert: true,
    rejectUnauthorized: false,
    keepAliveTimeout: 60_000,
  })
  server.on('request', (req, res) => {
    handle(req, res).catch((e: unknown) => {
      res.destroy(e instanceof Error ? e : new Error(String(e)))
    })
  })

  async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const user = userOf(req, tokens)
    const seen: Seen = { user: user ?? '', method: req.method ?? '', path: req.url ?? '', headers: req.headers }
    requests.push(seen)
    if (self.interfere !== undefined && (await self.interfere(seen, res, req))) return
    if (user === undefined) return json(res, 401, failure(401, 'Unauthorized'))
    if (!self.allow(seen))
      return json(res, 403, failure(403, `User "${user}" cannot ${seen.method} ${seen.path.split('?')[0]}`))
    const gone = new AbortController()
    res.on('close', () => gone.abort(new Error('the client went away')))
    try {
      const body = await textOf(req)
      const contentType = req.headers['content-type'] ?? ''
      const out = await answer(fake, fake.client({ actor: user }), {
        method: seen.method,
        url: seen.path,
        contentType,
        body,
        signal: gone.signal,
      })
      if (out.kind === 'lines') return await stream(res, out.lines)
      if (out.retryAfterSeconds !== undefined) res.setHeader('retry-after', String(out.retryAfterSeconds))
      send(res, out.status, out.text)
    } catch (e) {
      if (e instanceof ConnectionError || gone.signal.aborted) res.destroy()
      else throw e
    }
  }

  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const at = (server.address() as AddressInfo).port
  const self: KubeServer = {
    url: `https://127.0.0.1:${at}`,
    port: at,
    get authority() {
      return authority
    },
    tokens,
    allow: () => true,
    interfere: undefined,
    requests,
    async config(user = 'test') {
      const { cert, key } = await authority.client(user, ['system:masters'])
      return {
        server: self.url,
        ca: { data: authority.cert },
        clientCertificate: { cert: { data: cert }, key: { data: key } },
      }
    },
    async rotate(next) {
      authority = next
      server.setSecureContext(material(await next.server(), next))
    },
    dropConnections: () => server.closeAllConnections(),
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
  return self
}

function userOf(req: IncomingMessage, tokens: ReadonlyMap<string, string>): string | undefined {
  const bearer = /^Bearer (.+)$/.exec(req.headers.authorization ?? '')?.[1]
  if (bearer !== undefined) return tokens.get(bearer)
  const socket = req.socket as TLSSocket
  const name: unknown = socket.authorized ? socket.getPeerCertificate().subject.CN : undefined
  return typeof name === 'string' ? name : undefined
}

async function textOf(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of req as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

async function stream(res: ServerResponse, lines: AsyncIterable<string>): Promise<void> {
  res.writeHead(200, { 'content-type': 'application/json' })
  res.flushHeaders()
  for await (const line of lines) if (!res.write(line) && !res.destroyed) await writable(res)
  res.end()
}

/** Resolves when there is room again, or when the reader has left. */
function writable(res: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      res.off('drain', done)
      res.off('close', done)
      resolve()
    }
    res.on('drain', done)
    res.on('close', done)
  })
}

const json = (res: ServerResponse, status: number, value: unknown): void => send(res, status, JSON.stringify(value))

function send(res: ServerResponse, status: number, text: string): void {
  res.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
  res.end(text)
}
