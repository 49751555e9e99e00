// The HTTPS artifact server: GET and HEAD of files, with digests as ETags and single ranges, for many slow hosts at once. It lists nothing, writes nothing and
// requires no identity.
import https from 'node:https'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'
import { AGENT_TOKENS_PATH } from '#api/names.ts'
import { DoorRates, placeOf } from '#identity/door/rates.ts'
import { boundConnections, SILENT_MS } from '#lib/connection-bound.ts'
import type { Clock } from '#lib/clock.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import { wantedBytes } from './byte-range.ts'
import { namesIn, openServed, type OpenFile } from './served-file.ts'
import { createHash } from 'node:crypto'
import { Semaphore } from '#lib/semaphore.ts'

export interface ServingPair {
  /** PEM. */
  readonly cert: string
  readonly key: string
}

export interface ArtifactServerOptions {
  readonly folder: string
  readonly pair: ServingPair
  readonly host: string
  /** 0 lets the system choose. */
  readonly port: number
  readonly clock: Clock
  readonly log: Logger
  /** The sealed token of a Machine's agent, by uid, if agents are service accounts. */
  readonly agentToken?: (uid: string) => Promise<string | undefined>
}

/** A batch of joining hosts with one or two connections each. */
const MOST_CONNECTIONS = 512
/** A host that accepts no data for this long has left; agents give up sooner. */
const STALLED_MS = 60_000
/** Covers the largest artifacts over slow lines. */
const LONGEST_REQUEST_MS = 3_600_000

const MACHINE_UID = /^[0-9a-f-]{36}$/

const TYPES: Readonly<Record<string, string>> = { json: 'application/json', sh: 'text/plain; charset=utf-8' }

/** More than any fleet has; a forgotten digest is computed again. */
const MAX_KNOWN = 10_000
/** Two large files keep a disk busy. */
const MAX_AT_ONCE = 2

/** Digests of served files, computed once per version of a file. */
class Digests {
  readonly #known = new Map<string, Promise<string>>()
  readonly #atOnce = new Semaphore(MAX_AT_ONCE, { what: 'digests of files' })

  /** SHA-256 in hex. */
  async of(file: OpenFile): Promise<string> {
    const { dev, ino, size, mtimeNs, ctimeNs } = file.stats
    const version = [dev, ino, size, mtimeNs, ctimeNs].join(':')
    const known = this.#known.get(version)
    if (known !== undefined) return known
    const made = this.#atOnce.run(() => digestOf(file))
    this.#known.set(version, made)
    made.catch(() => this.#known.delete(version))
    for (const old of [...this.#known.keys()].slice(0, -MAX_KNOWN)) this.#known.delete(old)
    return made
  }
}

async function digestOf({ handle }: OpenFile): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of handle.createReadStream({ start: 0, autoClose: false })) hash.update(chunk as Buffer)
  return hash.digest('hex')
}

export class ArtifactServer {
  readonly #options: ArtifactServerOptions
  readonly #digests = new Digests()
  readonly #rates: DoorRates
  readonly #server: https.Server

  constructor(options: ArtifactServerOptions) {
    const { pair, clock, log } = options
    this.#options = options
    this.#rates = new DoorRates(() => clock.monotonic())
    this.#server = https.createServer(
      { ...pair, minVersion: 'TLSv1.2', headersTimeout: SILENT_MS, handshakeTimeout: SILENT_MS },
      (request, response) => {
        this.#answer(request, response).catch((error: unknown) => {
          if (!isGoneClient(error)) log.warn('cannot serve an artifact', { error: messageOf(error) })
          response.destroy()
        })
      },
    )
    this.#server.on('tlsClientError', (_, socket) => socket.destroy())
    boundConnections(this.#server, {
      most: MOST_CONNECTIONS,
      longestRequestMs: LONGEST_REQUEST_MS,
      shares: true,
      clock,
      log,
    })
  }

  /** For new connections. */
  renew(pair: ServingPair): void {
    this.#server.setSecureContext({ ...pair, minVersion: 'TLSv1.2' })
  }

  /** Returns the port. */
  start(): Promise<number> {
    const { host, port } = this.#options
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(port, host, () => resolve((this.#server.address() as AddressInfo).port))
    })
  }

  stop(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve())
      this.#server.closeAllConnections()
    })
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.setTimeout(STALLED_MS, () => response.destroy())
    response.setHeader('x-content-type-options', 'nosniff')
    const { method = '', url = '/' } = request
    // Otherwise Node reads and discards an upload for as long as it lasts.
    if (hasBody(request)) response.setHeader('connection', 'close')
    if (method !== 'GET' && method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD')
      return answer(response, 405, 'method not allowed; use GET')
    }
    if (url.startsWith(AGENT_TOKENS_PATH))
      return this.#giveToken(url.slice(AGENT_TOKENS_PATH.length), request, response)
    const names = namesIn(url)
    const file = names === undefined ? undefined : await openServed(this.#options.folder, names)
    if (names === undefined || file === undefined) return answer(response, 404, 'not found')
    try {
      await this.#send(request, response, { file, name: names.at(-1) ?? '' })
    } finally {
      await file.handle.close()
    }
    return undefined
  }

  /** Served to any client, because only the host with the key can open it. Each costs a request to the API server. */
  async #giveToken(uid: string, { socket }: IncomingMessage, response: ServerResponse): Promise<void> {
    const { agentToken } = this.#options
    const waitSeconds = this.#rates.take(placeOf(socket.remoteAddress ?? ''))
    if (waitSeconds > 0) {
      response.setHeader('retry-after', waitSeconds)
      return answer(response, 429, 'too many requests')
    }
    const sealed = MACHINE_UID.test(uid) ? await agentToken?.(uid) : undefined
    if (sealed === undefined) return answer(response, 404, 'not found')
    response.setHeader('cache-control', 'no-store')
    return answer(response, 200, sealed)
  }

  async #send(
    { method, headers }: IncomingMessage,
    response: ServerResponse,
    { file, name }: { readonly file: OpenFile; readonly name: string },
  ): Promise<void> {
    const size = Number(file.stats.size)
    const etag = `"sha256-${await this.#digests.of(file)}"`
    response.setHeader('etag', etag)
    response.setHeader('cache-control', 'no-cache')
    response.setHeader('accept-ranges', 'bytes')
    if (headers['if-none-match']?.split(',').some((tag) => isSame(tag, etag)) === true) {
      response.writeHead(304).end()
      return
    }
    const isRangeOfThis = headers['if-range'] === undefined || headers['if-range'] === etag
    const wanted = wantedBytes(isRangeOfThis ? headers.range : undefined, size)
    if (wanted.kind === 'Unsatisfiable') {
      response.setHeader('content-range', `bytes */${size}`)
      return answer(response, 416, 'the file is shorter')
    }
    const [from, to] = wanted.kind === 'Part' ? [wanted.from, wanted.to] : [0, size - 1]
    if (wanted.kind === 'Part') response.setHeader('content-range', `bytes ${from}-${to}/${size}`)
    const length = to - from + 1
    response.setHeader('content-type', TYPES[name.split('.').at(-1) ?? ''] ?? 'application/octet-stream')
    response.setHeader('content-length', length)
    response.writeHead(wanted.kind === 'Part' ? 206 : 200)
    if (method === 'HEAD' || length === 0) {
      response.end()
      return
    }
    const bytes = file.handle.createReadStream({ start: from, end: to, autoClose: false })
    await pipeline(bytes, response, { end: false })
    // If the file was truncated, close the connection: the host must not take the next response for the rest.
    if (bytes.bytesRead === length) response.end()
    else response.destroy()
  }
}

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== 0

const isSame = (tag: string, etag: string): boolean => [etag, `W/${etag}`, '*'].includes(tag.trim())

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`${text}\n`)
}

const isGoneClient = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  ['ERR_STREAM_PREMATURE_CLOSE', 'ECONNRESET', 'EPIPE', 'ERR_STREAM_DESTROYED'].includes(String(error.code))
