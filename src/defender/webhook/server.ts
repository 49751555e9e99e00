// HTTPS for AdmissionReviews: paths that only the API server knows, one method, bounded bodies, and no resources held for strangers.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Server, createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { defined } from '#lib/defined.ts'
import { systemClock } from '#lib/system-clock.ts'
import { boundConnections, SILENT_MS } from '#lib/connection-bound.ts'
import { assertNever, KubeNodeError, messageOf } from '#lib/errors.ts'
import { isDeeperJson } from '#lib/json.ts'
import type { Logger } from '#lib/log.ts'
import { reviewApproval } from '../guard/approved-request.ts'
import type { AskGuard } from '../guard/guard.ts'
import { reviewDeletion } from '../guard/review.ts'
import { reviewAgentEvent } from './agent-event.ts'
import type { WebhookCertificate } from './certificate.ts'
import type { AdmissionAnswer } from './answer.ts'
import { type AdmissionRequest, type Judge, parseReview, review } from './review.ts'
import type { Door, SecretPaths } from './secret-paths.ts'
import { defenderErrors } from '../defender-errors.ts'

/** The API server limits our objects to 1.5 MiB. An update review holds two, plus some room. */
const MAX_BODY_BYTES = 4 * 1024 * 1024
/** The API server requires an answer within ten seconds. */
const REQUEST_TIMEOUT_MS = 10_000
/** How often Node checks for late headers on a reused connection. */
const CHECK_MS = 1_000
/** Longer than API servers keep an idle connection. If we closed it first, it might carry a review that its sender does not repeat. */
const KEEP_IDLE_MS = 120_000
/** API servers keep a few connections each. */
const MOST_CONNECTIONS = 64

export interface WebhookServerOptions {
  readonly certificate: WebhookCertificate
  readonly paths: Pick<SecretPaths, 'doorOf'>
  /** PEM: only clients with a certificate of this authority are answered. Without it, the secret path is the only protection. */
  readonly clientCa?: string
  readonly judge: Judge
  readonly guard: AskGuard
  readonly log: Logger
  readonly host: string
  /** 0 lets the system choose. */
  readonly port: number
}

interface Reply {
  readonly status: number
  readonly body: unknown
}

export class WebhookServer {
  readonly #options: WebhookServerOptions
  readonly #server: Server
  #isDraining = false

  constructor(options: WebhookServerOptions) {
    this.#options = options
    const { cert, key } = options.certificate
    const { clientCa } = options
    const clients = clientCa === undefined ? {} : { ca: clientCa, requestCert: true, rejectUnauthorized: true }
    const times = {
      requestTimeout: REQUEST_TIMEOUT_MS,
      headersTimeout: SILENT_MS,
      connectionsCheckingInterval: CHECK_MS,
      keepAliveTimeout: KEEP_IDLE_MS,
    }
    const limits = { ...times, handshakeTimeout: SILENT_MS, maxHeaderSize: 16_384 }
    this.#server = createServer({ cert, key, minVersion: 'TLSv1.2', ...clients, ...limits }, (request, response) => {
      void this.#handle(request, response)
    })
    boundConnections(this.#server, {
      most: MOST_CONNECTIONS,
      longestRequestMs: REQUEST_TIMEOUT_MS,
      clock: systemClock,
      log: options.log,
    })
  }

  async start(): Promise<number> {
    const { host, port } = this.#options
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', (cause) =>
        reject(new KubeNodeError(defenderErrors.KN1206_webhook({ host, port, why: cause.message }), { cause })),
      )
      this.#server.listen(port, host, resolve)
    })
    return (this.#server.address() as AddressInfo).port
  }

  /** For new connections. Open ones keep their certificate. */
  renew({ cert, key }: WebhookCertificate): void {
    const { clientCa } = this.#options
    this.#server.setSecureContext({ cert, key, minVersion: 'TLSv1.2', ...defined({ ca: clientCa }) })
  }

  /** From now on every answer asks its client to reconnect, and a Service routes that to another replica. */
  drain(): void {
    this.#isDraining = true
  }

  /** Finishes reviews in progress, within the time that an API server waits. */
  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    this.#server.closeIdleConnections()
    const late = systemClock.after(REQUEST_TIMEOUT_MS, () => this.#server.closeAllConnections())
    await closed
    late.cancel()
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const reply = await this.#reply(request).catch((error: unknown): Reply => {
      this.#options.log.warn('admission review failed', { error: messageOf(error) })
      return { status: 500, body: { message: 'the admission review failed; see the Defender log' } }
    })
    response.writeHead(reply.status, {
      'content-type': 'application/json',
      connection: this.#isDraining || reply.status === 413 || reply.status === 404 ? 'close' : 'keep-alive',
    })
    response.end(JSON.stringify(reply.body))
  }

  async #reply(request: IncomingMessage): Promise<Reply> {
    const { judge, guard, paths } = this.#options
    const door = paths.doorOf((request.url ?? '').split('?', 1)[0] ?? '')
    // Before the body is read: a stranger costs one hash and one answer.
    if (door === undefined) return { status: 404, body: { message: 'not found' } }
    if (request.method !== 'POST') return { status: 405, body: { message: 'POST an AdmissionReview' } }
    const text = await bodyOf(request)
    if (text === undefined) return { status: 413, body: { message: `request body exceeds ${MAX_BODY_BYTES} bytes` } }
    const asked = parseReview(parsed(text))
    if (typeof asked === 'string') return { status: 400, body: { message: asked } }
    return { status: 200, body: await answerAt(door, asked, { judge, guard }) }
  }
}

function answerAt(
  door: Door,
  asked: AdmissionRequest,
  { judge, guard }: Pick<WebhookServerOptions, 'judge' | 'guard'>,
): AdmissionAnswer | Promise<AdmissionAnswer> {
  switch (door) {
    case 'kinds':
      return review(asked, judge)
    case 'deletions':
      return reviewDeletion(asked, guard)
    case 'certificates':
      return reviewApproval(asked)
    case 'events':
      return reviewAgentEvent(asked, judge.findMachine)
    default:
      return assertNever(door)
  }
}

/** Undefined if it is too large. The part received so far is dropped. */
async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > MAX_BODY_BYTES) return undefined
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request) {
    size += (chunk as Buffer).length
    if (size > MAX_BODY_BYTES) return undefined
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks).toString()
}

/** More than any server's object has. For the parser, each level costs more than its content. */
const MOST_LEVELS = 1_000

function parsed(text: string): unknown {
  if (isDeeperJson(Buffer.from(text), MOST_LEVELS)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
