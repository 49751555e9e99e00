// One request to a registry. Sends credentials only to the host they are for; bounds responses in time and size.
import type { IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { Readable } from 'node:stream'
import { defined } from '#lib/defined.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { nodeHttp } from '#lib/node-http.ts'
import { refuseUpgrade } from '#lib/refuse-upgrade.ts'
import { ociErrors } from './oci-errors.ts'

export interface RegistryAnswer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  /** The final URL after redirects. */
  readonly url: URL
  /** Must be read or destroyed. */
  readonly body: IncomingMessage
}

export interface RegistryRequest {
  readonly method: string
  readonly url: URL
  readonly headers?: Readonly<Record<string, string | number>>
  readonly body?: Buffer
  /** The operation, for messages: "read the manifest". */
  readonly what: string
}

export interface HttpOptions {
  /** PEM; Node.js' CAs if left out. */
  readonly ca?: string
  /** Hosts that may be reached without TLS. */
  readonly insecure: readonly string[]
}

/** A registry that is silent for this long will not answer. */
const SILENT_MS = 60_000
const MAX_REDIRECTS = 5
const REDIRECTS = [301, 302, 303, 307, 308]
const SECRET_HEADER = 'authorization'

export class RegistryHttp {
  readonly #options: HttpOptions

  constructor(options: HttpOptions) {
    this.#options = options
  }

  /** Only read requests follow redirects. */
  async send(request: RegistryRequest): Promise<RegistryAnswer> {
    const mayFollow = request.method === 'GET' || request.method === 'HEAD'
    let { url, headers = {} } = request
    for (let redirects = 0; ; redirects++) {
      const answer = await this.#once({ ...request, url, headers })
      const to = mayFollow && REDIRECTS.includes(answer.status) ? answer.headers.location : undefined
      if (to === undefined) return answer
      answer.body.destroy()
      const next = this.#redirected(request, url, to)
      if (redirects === MAX_REDIRECTS) throw suspicious(request, `it redirects more than ${MAX_REDIRECTS} times`)
      // A redirect's target is not the host that the credentials are for.
      if (next.origin !== url.origin) headers = withoutSecrets(headers)
      url = next
    }
  }

  #redirected(request: RegistryRequest, from: URL, to: string): URL {
    const next = URL.parse(to, from.href)
    if (next === null || !['http:', 'https:'].includes(next.protocol))
      throw suspicious(request, `it redirects to ${JSON.stringify(to.slice(0, 200))}`)
    if (from.protocol === 'https:' && next.protocol === 'http:')
      throw suspicious(request, `it redirects to ${next.host} without TLS`)
    return next
  }

  #once({ method, url, headers, body, what }: RegistryRequest): Promise<RegistryAnswer> {
    const { ca, insecure } = this.#options
    if (url.protocol === 'http:' && !insecure.includes(url.host))
      throw new KubeNodeError(ociErrors.KN13024({ host: url.host }))
    const length = body === undefined ? (method === 'GET' || method === 'HEAD' ? {} : { 'content-length': 0 }) : {}
    return new Promise((done, fail) => {
      const broken = (e: unknown) =>
        fail(new KubeNodeError(ociErrors.KN13020({ what, host: url.host, why: messageOf(e) }), { retry: 'later' }))
      const options = { method, headers: { ...headers, ...length }, timeout: SILENT_MS }
      const onAnswer = (answer: IncomingMessage) => {
        answer.on('error', () => undefined)
        done({ status: answer.statusCode ?? 0, headers: answer.headers, url, body: answer })
      }
      const request =
        url.protocol === 'https:'
          ? httpsRequest(url, { ...options, ...defined({ ca }) }, onAnswer)
          : nodeHttp.request(url, options, onAnswer)
      refuseUpgrade(request)
      request.on('timeout', () => request.destroy(new Error(`no answer for ${SILENT_MS / 1_000}s`)))
      request.on('error', broken)
      request.end(body)
    })
  }
}

const suspicious = ({ what, url }: RegistryRequest, why: string): KubeNodeError =>
  new KubeNodeError(ociErrors.KN13023({ what, host: url.host, why }))

const withoutSecrets = (headers: NonNullable<RegistryRequest['headers']>) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== SECRET_HEADER))

/** The complete response; fails beyond the limit, whatever the headers claim. */
export async function readAnswer({ body, url }: RegistryAnswer, most: number, what: string): Promise<Buffer> {
  const pieces: Buffer[] = []
  let length = 0
  const failed = (why: string) => new KubeNodeError(ociErrors.KN13020({ what, host: url.host, why }))
  try {
    for await (const piece of Readable.from(body) as AsyncIterable<Buffer>) {
      length += piece.length
      if (length > most) throw failed(`the answer is larger than ${most} bytes`)
      pieces.push(piece)
    }
  } catch (e) {
    throw e instanceof KubeNodeError ? e : failed(messageOf(e))
  } finally {
    body.destroy()
  }
  return Buffer.concat(pieces)
}
