// The HTTPS call to a webhook: one POST within its timeout, connections kept between calls, an answer of a bounded size, no redirects.
import { lookup as systemLookup } from 'node:dns'
import { Agent, request } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { refuseUpgrade } from '#lib/refuse-upgrade.ts'
import { UNTRUSTED_CHAIN } from '#lib/untrusted-chain.ts'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { messageOf } from '#lib/errors.ts'
import type { ServiceReference, WebhookTarget } from './webhook-config.ts'

/** An object is at most 3 MiB; the patch that replaces it whole is in base64 and has some room. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024
/** Further calls to the same webhook wait: a slow one must not use up all descriptors. */
const MOST_CONNECTIONS = 100
const IDLE_MS = 30_000
/** How much of an invalid body is quoted, to help find the mistake. */
const SHOWN_BODY = 2048

/** Where a service is reached from this process; there is no cluster network to ask. */
export type ResolveService = (service: ServiceReference) => { readonly host: string; readonly port: number } | undefined

/** Whether this process may connect there; asked for each address that a name leads to, before any connection. */
export type MayCall = (address: string, port: number) => boolean

const ANYWHERE: MayCall = () => true

export type CallOutcome = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly error: string }

export interface Connecting {
  readonly target: WebhookTarget
  readonly body: Buffer
  readonly timeoutSeconds: number
}

interface Endpoint {
  readonly shown: string
  readonly host: string
  readonly port: number
  readonly path: string
  readonly servername: string | undefined
}

export class WebhookCaller {
  readonly #agents = new Map<string, Agent>()
  readonly #resolve: ResolveService
  readonly #mayCall: MayCall

  constructor(resolve: ResolveService, mayCall: MayCall = ANYWHERE) {
    this.#resolve = resolve
    this.#mayCall = mayCall
  }

  async call(connecting: Connecting): Promise<CallOutcome> {
    const { target, timeoutSeconds } = connecting
    const endpoint = this.#endpoint(target, timeoutSeconds)
    if ('error' in endpoint) return { ok: false, error: endpoint.error }
    const until = performance.now() + timeoutSeconds * 1_000
    const first = await this.#post(endpoint, connecting, { until, isFresh: false })
    if (first !== 'Stale') return first
    const second = await this.#post(endpoint, connecting, { until, isFresh: true })
    return second === 'Stale' ? { ok: false, error: `Post "${endpoint.shown}": EOF` } : second
  }

  /** Agents of targets that are no longer called are closed. */
  keepOnly(targets: readonly WebhookTarget[]): void {
    const wanted = new Set(targets.map(agentKey))
    for (const [key, agent] of this.#agents) {
      if (wanted.has(key)) continue
      this.#agents.delete(key)
      for (const sockets of Object.values(agent.freeSockets)) for (const s of sockets ?? []) s.destroy()
    }
  }

  close(): void {
    for (const agent of this.#agents.values()) agent.destroy()
    this.#agents.clear()
  }

  #endpoint(target: WebhookTarget, timeoutSeconds: number): Endpoint | { readonly error: string } {
    const query = `?timeout=${timeoutSeconds}s`
    if (target.kind === 'Url') {
      const url = new URL(target.url)
      const port = url.port === '' ? 443 : Number(url.port)
      const host = url.hostname.replace(/^\[|\]$/g, '')
      return {
        shown: `https://${url.host}${url.pathname}${query}`,
        host,
        port,
        path: url.pathname + query,
        servername: undefined,
      }
    }
    const { service } = target
    const servername = `${service.name}.${service.namespace}.svc`
    const shown = `https://${servername}:${service.port}${service.path}${query}`
    const found = this.#resolve(service)
    if (found === undefined) return { error: `Post "${shown}": service ${JSON.stringify(service.name)} not found` }
    return { shown, ...found, path: service.path + query, servername }
  }

  #agent(target: WebhookTarget): Agent {
    const key = agentKey(target)
    let agent = this.#agents.get(key)
    if (agent === undefined) {
      agent = new Agent({
        keepAlive: true,
        maxSockets: MOST_CONNECTIONS,
        timeout: IDLE_MS,
        ...caOf(target),
      })
      this.#agents.set(key, agent)
    }
    return agent
  }

  /** Stale: a kept connection was closed while idle. */
  async #post(
    { shown, host, port, path, servername }: Endpoint,
    { target, body }: Connecting,
    { until, isFresh }: { readonly until: number; readonly isFresh: boolean },
  ): Promise<CallOutcome | 'Stale'> {
    const signal = AbortSignal.timeout(Math.max(0, Math.ceil(until - performance.now())))
    const failed = (why: string): CallOutcome => ({ ok: false, error: `Post "${shown}": ${why}` })
    // A host that is an address is never looked up.
    if (isIP(host) > 0 && !this.#mayCall(host, port)) return failed(forbiddenText(host, port))
    let sent: ClientRequest | undefined
    try {
      sent = request({
        ...(isFresh ? { agent: false, ...caOf(target) } : { agent: this.#agent(target) }),
        method: 'POST',
        host,
        port,
        path,
        signal,
        lookup: checkedLookup((address) => this.#mayCall(address, port), port),
        ...(servername === undefined ? {} : { servername }),
        headers: {
          'content-type': 'application/json',
          'content-length': body.length,
          accept: 'application/json, */*',
          'user-agent': 'kube-apiserver-admission',
        },
      })
      const response = await responseTo(sent, body)
      const text = await textOf(response)
      return text === undefined ? failed(TOO_LARGE) : answered(response.statusCode ?? 0, text)
    } catch (e) {
      if (signal.aborted) return failed('context deadline exceeded')
      const isStale = sent?.reusedSocket === true && !isFresh && CLOSED.has(codeOf(e))
      return isStale ? 'Stale' : failed(reasonOf(e, servername ?? host))
    }
  }
}

const forbiddenText = (address: string, port: number): string =>
  `this API server may not connect to ${address.includes(':') ? `[${address}]` : address}:${port}`

/** All addresses of a name must be good: of two that alternate, one would get through by luck. */
const checkedLookup =
  (isGood: (address: string) => boolean, port: number): LookupFunction =>
  (hostname, options, callback) =>
    systemLookup(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) return callback(error, [])
      const bad = found.find(({ address }) => !isGood(address))
      if (bad !== undefined) return callback(new Error(forbiddenText(bad.address, port)), [])
      const [first] = found
      if (first === undefined) return callback(new Error(`lookup ${hostname}: no such host`), [])
      return options.all === true ? callback(null, found) : callback(null, first.address, first.family)
    })

const CLOSED: ReadonlySet<string> = new Set(['ECONNRESET', 'EPIPE'])

const caOf = ({ ca }: WebhookTarget) => (ca === undefined ? {} : { ca })

const responseTo = (sent: ClientRequest, body: Buffer): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    refuseUpgrade(sent)
    sent.on('response', resolve)
    sent.on('error', reject)
    sent.end(body)
  })

const agentKey = (t: WebhookTarget): string =>
  JSON.stringify(t.kind === 'Url' ? [t.url, t.ca] : [t.service.namespace, t.service.name, t.service.port, t.ca])

const TOO_LARGE = `the answer is larger than ${MAX_ANSWER_BYTES} bytes`

/** Undefined when it is too large. */
async function textOf(response: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length
    // breaking out of the loop closes the connection
    if (size > MAX_ANSWER_BYTES) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

const STATUS_TEXTS: Readonly<Record<number, string | undefined>> = {
  400: 'the server rejected our request for an unknown reason',
  401: 'the server has asked for the client to provide credentials',
  404: 'the server could not find the requested resource',
  405: 'the server does not allow this method on the requested resource',
  429: 'the server has received too many requests and has asked us to try again later',
}

function answered(code: number, text: string): CallOutcome {
  if (code >= 200 && code < 300) return { ok: true, text }
  if (code >= 500) {
    const shown = text.trim() === '' ? 'unknown' : text.slice(0, SHOWN_BODY).trim()
    return {
      ok: false,
      error: `an error on the server (${JSON.stringify(shown)}) has prevented the request from succeeding`,
    }
  }
  return {
    ok: false,
    error:
      STATUS_TEXTS[code] ?? `the server responded with the status code ${code} but did not return more information`,
  }
}

const codeOf = (e: unknown): string => (e instanceof Error && 'code' in e && typeof e.code === 'string' ? e.code : '')

/** In the words of a kube-apiserver. */
function reasonOf(e: unknown, host: string): string {
  const code = codeOf(e)
  const at = e as { readonly address?: string; readonly port?: number }
  const bad = 'tls: failed to verify certificate: x509:'
  if (UNTRUSTED_CHAIN.has(code)) return `${bad} certificate signed by unknown authority`
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID')
    return `${bad} certificate has expired or is not yet valid`
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return `${bad} certificate is not valid for ${host}`
  if (code === 'ECONNREFUSED') return `dial tcp ${at.address ?? host}:${at.port ?? ''}: connect: connection refused`
  if (code === 'ENOTFOUND') return `dial tcp: lookup ${host}: no such host`
  if (code === 'ECONNRESET') return 'EOF'
  return messageOf(e)
}
