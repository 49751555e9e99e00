// Listens for git server webhooks at /hooks/NAMESPACE/NAME. An authentic request only means "read now": the FleetSource gets a mark, and the leading
// sync reads its repository. Every replica listens, leader or not.
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, Server, ServerResponse, IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fleetSource, type FleetSource } from '#api/kinds/fleet-source.ts'
import { ANNOTATIONS, FIELD_MANAGERS } from '#api/names.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { KubeClient } from '#kube/client.ts'
import { type Clock, timestamp } from '#lib/clock.ts'
import { boundConnections } from '#lib/connection-bound.ts'
import { messageOf } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import type { Logger } from '#lib/log.ts'
import { nodeHttp } from '#lib/node-http.ts'
import type { SharedInformer } from '#runtime/informers.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { namespacedName } from '#api/schema/object-meta.ts'
import { secretOf } from '../git/access.ts'
import { HookReads } from './hook-reads.ts'
import { sha256, sha256Hex } from '#lib/sha256.ts'

export interface HooksOptions {
  readonly host: string
  /** 0 lets the system choose. */
  readonly port: number
  readonly client: Pick<KubeClient, 'get' | 'patch'>
  readonly sources: SharedInformer<FleetSource>
  readonly clock: Clock
  readonly log: Logger
}

const secretType = coreKind('Secret')
/** Git servers shorten their payloads; the largest pushes take a few hundred KB. */
const MAX_BODY_BYTES = 256 * 1024
const MOST_CONNECTIONS = 64
const LONGEST_REQUEST_MS = 10_000
/** Delay until a new token counts. Anyone may send requests, so not every request may cause an API call. */
const TOKEN_FOR_MS = 10_000
const PATH = /^\/hooks\/([a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)\/([a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?)$/

interface Known {
  readonly at: number
  readonly token: Promise<string | undefined>
}

/** Shorter tokens can be guessed by brute force. */
const MIN_TOKEN_CHARS = 16
const SIGNATURE = /^sha256=([0-9a-f]{64})$/

/**
 * GitHub, Gitea, Forgejo and scripts sign the body (X-Hub-Signature-256); GitLab sends the token itself (X-Gitlab-Token). If several headers are
 * present, each must be right.
 */
export function isAuthentic(headers: IncomingHttpHeaders, body: Uint8Array, token: string | undefined): boolean {
  // Without a token, does the same work as with one, so that response times do not reveal which sources exist.
  const key = token ?? 'x'.repeat(MIN_TOKEN_CHARS)
  const [signature, plain] = [headers['x-hub-signature-256'], headers['x-gitlab-token']]
  const expected = createHmac('sha256', key).update(body).digest()
  const verdicts = [
    ...(signature === undefined ? [] : [isEqual(hexIn(String(signature)), expected)]),
    ...(plain === undefined ? [] : [isEqual(sha256(String(plain)), sha256(key))]),
  ]
  return verdicts.length > 0 && verdicts.every(Boolean) && token !== undefined && token.length >= MIN_TOKEN_CHARS
}

const hexIn = (text: string): Buffer => Buffer.from(SIGNATURE.exec(text)?.[1] ?? '', 'hex')
const isEqual = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b)

export class HooksServer {
  readonly name = 'git-webhooks'
  readonly #options: HooksOptions
  readonly #server: Server
  readonly #reads: HookReads
  readonly #tokens = new Map<string, Known>()

  constructor(options: HooksOptions) {
    const { clock, log } = options
    this.#options = options
    this.#reads = new HookReads(clock, (source) => void this.#mark(source))
    this.#server = nodeHttp.createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => {
        log.warn('cannot answer a webhook of a git server', { error: messageOf(error) })
        answer(response, 503, 'not available; retry')
      })
    })
    this.#server.on('clientError', (_, socket) => socket.destroy())
    boundConnections(this.#server, {
      most: MOST_CONNECTIONS,
      longestRequestMs: LONGEST_REQUEST_MS,
      shares: true,
      clock,
      log,
    })
  }

  async start(): Promise<void> {
    const { host, port, log } = this.#options
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(port, host, resolve)
    })
    log.info('listening for webhooks of git servers', { host, port: this.port })
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  stop(): Promise<void> {
    this.#reads.stop()
    return new Promise((resolve) => {
      this.#server.close(() => resolve())
      this.#server.closeAllConnections()
    })
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url = '', headers } = request
    const [path = ''] = url.split('?', 1)
    const [, namespace = '', name = ''] = PATH.exec(path) ?? []
    if (name === '') return refuse(request, response, 404, 'not found; webhooks go to /hooks/NAMESPACE/NAME')
    if (method !== 'POST') return refuse(request, response, 405, 'method not allowed; use POST')
    const body = await bodyOf(request)
    if (body === undefined) return refuse(request, response, 413, `more than ${MAX_BODY_BYTES} bytes`)
    const { sources } = this.#options
    this.#forget()
    const source = sources.get({ namespace, name })
    const token = source === undefined ? undefined : await this.#tokenOf(source)
    // The same answer whether the source does not exist, has no webhook, or has another token.
    if (source === undefined || !isAuthentic(headers, body, token))
      return answer(response, 401, 'not authentic: check the secret of the webhook')
    const digest = sha256Hex(body)
    const accepted = this.#reads.accept(namespacedName(source), digest)
    return answer(response, 202, ANSWERS[accepted])
  }

  #tokenOf(source: FleetSource): Promise<string | undefined> {
    const { webhook } = source.spec
    if (webhook === undefined) return Promise.resolve(undefined)
    const { client, clock } = this.#options
    const { namespace, name } = secretOf(source, webhook.secretRef)
    const key = `${namespacedName(source)} ${name}`
    const known = this.#tokens.get(key)
    const now = clock.monotonic()
    if (known !== undefined && now - known.at < TOKEN_FOR_MS) return known.token
    const token = client.get(secretType, { namespace, name }).then(tokenIn)
    this.#tokens.set(key, { at: now, token })
    // A failed read is not cached.
    token.catch(() => this.#tokens.delete(key))
    return token
  }

  /** Forgets deleted sources, and tokens that must be read again anyway. */
  #forget(): void {
    const { clock, sources } = this.#options
    const now = clock.monotonic()
    for (const [key, { at }] of this.#tokens) if (now - at >= TOKEN_FOR_MS) this.#tokens.delete(key)
    const there = new Set(sources.list().map(namespacedName))
    this.#reads.keep((source) => there.has(source))
  }

  async #mark(source: string): Promise<void> {
    const { client, clock, log } = this.#options
    const [namespace = '', name = ''] = source.split('/')
    const value = { metadata: { annotations: { [ANNOTATIONS.reconcile]: timestamp(clock.now()) } } }
    try {
      await client.patch(
        fleetSource,
        { namespace, name },
        { type: 'merge', value },
        { fieldManager: FIELD_MANAGERS.sync },
      )
    } catch (error) {
      // The next interval reads it.
      log.warn('cannot mark a source that a webhook named', { source, error: messageOf(error) })
    }
  }
}

const ANSWERS = {
  Read: 'the repository is read now',
  Later: 'the repository is read within seconds',
  Duplicate: 'this request came before',
} as const

function tokenIn(secret: KubeObject | undefined): string | undefined {
  const data = secret?.['data']
  const value = isObject(data) ? data['token'] : undefined
  return typeof value === 'string' ? Buffer.from(value, 'base64').toString('utf8').trim() : undefined
}

/** Undefined when it is too long. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > MAX_BODY_BYTES) return undefined
  const parts: Buffer[] = []
  let size = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length
    if (size > MAX_BODY_BYTES) return undefined
    parts.push(part)
  }
  return Buffer.concat(parts)
}

/** Does not read the rest of the request. */
function refuse(request: IncomingMessage, response: ServerResponse, status: number, text: string): void {
  response.setHeader('connection', 'close')
  response.once('finish', () => request.destroy())
  answer(response, status, text)
}

function answer(response: ServerResponse, status: number, text: string): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' })
  response.end(`${text}\n`)
}
