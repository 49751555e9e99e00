// The console's HTTP server: checks each request, identifies the user, and sends the page, the stream, logs and answers.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { systemClock } from '#lib/system-clock.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import { isApiError } from '#kube/errors.ts'
import { AccessBook, KEPT_MS } from './access.ts'
import { Answers, type AnswersOptions, type Asker, clientOf, topicNamed } from './answers.ts'
import type { Bounds } from './fair-share.ts'
import type { Followed } from './fleet.ts'
import { denied } from './guard.ts'
import { securityHeaders } from './headers.ts'
import { Listener, type Tls } from './listener.ts'
import { OpenLogs } from './log-answer.ts'
import { OpenAnswers } from './open-answers.ts'
import { OpenStreams } from './open-streams.ts'
import type { Page, PageFile } from './page-files.ts'
import {
  acceptsGzip,
  type Body,
  JSON_TYPE,
  one,
  readBody,
  Refused,
  sendBody,
  sendJson,
  sendRefusal,
} from './request.ts'
import type { Sessions } from './sessions.ts'
import { Doors, type DoorsOptions } from './sign-in/doors.ts'
import { Stream } from './stream.ts'

const MOST_TOPICS_OF_STREAM = 32

export interface ConsoleServerOptions extends AnswersOptions {
  readonly log: Logger
  readonly page: Page
  readonly host: string
  /** 0 lets the system choose. */
  readonly port: number
  /** Names besides loopback by which browsers reach it. */
  readonly names: readonly string[]
  readonly sessions: Sessions
  readonly doors: Omit<DoorsOptions, 'sessions' | 'isTls' | 'port' | 'base'>
  /** Plain HTTP if left out, for loopback only. */
  readonly tls?: Tls | undefined
  readonly streams?: Bounds | undefined
  readonly connections?: number | undefined
}

interface Asking {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly url: URL
}

type AskingPerson = Asking & Asker

export class ConsoleServer {
  readonly #options: ConsoleServerOptions
  readonly #listener: Listener
  readonly #doors: Doors
  readonly #access: AccessBook
  readonly #streams: OpenStreams
  readonly #open: OpenAnswers
  readonly #answers: Answers
  readonly #logs = new OpenLogs()

  constructor(options: ConsoleServerOptions) {
    this.#options = options
    const { fleet, clock, log, sessions, doors, tls } = options
    this.#streams = new OpenStreams(options.streams)
    // Browsers read in real time, whatever clock the views use.
    this.#open = new OpenAnswers(systemClock)
    this.#answers = new Answers(options)
    this.#access = new AccessBook(fleet, clock, log)
    this.#listener = new Listener({
      ...options,
      onRequest: (request, response) => void this.#answer(request, response),
    })
    this.#doors = new Doors({
      ...doors,
      sessions,
      isTls: tls !== undefined,
      base: options.page.base,
      port: () => this.port,
    })
  }

  get port(): number {
    return this.#listener.port
  }

  start(): Promise<void> {
    return this.#listener.start()
  }

  reload(): Promise<void> {
    return this.#listener.reload()
  }

  /** Open pages get the new cluster list now. */
  clustersChanged(): void {
    this.#streams.recheck()
  }

  async stop(): Promise<void> {
    this.#streams.stop()
    this.#logs.stop()
    await this.#listener.stop()
    this.#options.doors.proxy?.close()
    this.#options.sessions.closeAll()
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const { tls, names } = this.#options
      const scheme = tls === undefined ? 'http' : 'https'
      for (const [name, value] of Object.entries(securityHeaders(tls !== undefined))) response.setHeader(name, value)
      const url = URL.parse(request.url ?? '/', 'http://console') ?? new URL('http://console/')
      const isBelow = this.#takeBase(url)
      const isData = url.pathname.startsWith('/api/') || url.pathname === '/events'
      const { headers, method = '', socket } = request
      // HTTP/2's name for it.
      headers.host ??= one(headers[':authority'])
      const refusal = denied(
        {
          method,
          host: headers.host,
          localAddress: socket.localAddress,
          origin: headers.origin,
          site: one(headers['sec-fetch-site']),
          contentType: headers['content-type'],
          scheme,
        },
        names,
        isData,
      )
      if (refusal !== undefined) {
        request.resume()
        return await sendRefusal(request, response, refusal.status, refusal)
      }
      if (!isBelow) return this.#toBase(request, response, url)
      await (isData ? this.#data({ request, response, url }) : this.#file({ request, response, url }))
    } catch (e) {
      await this.#failed(request, response, e)
    }
    return undefined
  }

  /** Below a path of its host the page is served as at the root. */
  #takeBase(url: URL): boolean {
    const { base } = this.#options.page
    if (!url.pathname.startsWith(`${base}/`)) return false
    url.pathname = url.pathname.slice(base.length)
    return true
  }

  #toBase(request: IncomingMessage, response: ServerResponse, { pathname }: URL): void {
    const { base } = this.#options.page
    request.resume()
    if (pathname !== base) throw new Refused(404, 'NotFound', `the console is served below ${base}/`)
    response.writeHead(308, { location: `${base}/`, 'cache-control': 'no-store' }).end()
  }

  async #failed(request: IncomingMessage, response: ServerResponse, error: unknown): Promise<void> {
    request.resume()
    if (response.headersSent || response.destroyed) return void response.destroy()
    const { status, code, message } = refusalOf(error)
    if (status >= 500) this.#options.log.warn('cannot answer a request of the console', { error: messageOf(error) })
    await sendRefusal(request, response, status, { code, message }).catch(() => response.destroy())
  }

  // ---- files and links

  async #file({ request, response, url }: Asking): Promise<void> {
    const { page } = this.#options
    this.#open.watch(response)
    if (request.method === 'POST') throw new Refused(405, 'MethodNotAllowed', 'method not allowed; use GET')
    if (await this.#doors.page({ request, response, url })) return undefined
    const [, digest, path = ''] = /^\/a\/([0-9a-f]{16})\/(.+)$/.exec(url.pathname) ?? []
    if (digest !== undefined) {
      const file = digest === page.digest ? page.files.get(path) : undefined
      if (file === undefined) throw new Refused(404, 'NotFound', 'there is no such file; reload the page')
      return sendFile(request, response, file, { 'cache-control': 'public, max-age=31536000, immutable' })
    }
    if (/\.[a-z]+$/.test(url.pathname)) throw new Refused(404, 'NotFound', 'there is no such file')
    return sendFile(request, response, page.html, {
      'cache-control': 'no-store',
      'content-security-policy': page.policy,
    })
  }

  // ---- data

  async #data(asking: Asking): Promise<void> {
    const { request, response, url } = asking
    this.#open.begin(response)
    if (await this.#doors.data(asking)) {
      this.#streams.endThose((opened) => !this.#doors.isStillIn(opened))
      return undefined
    }
    const who = this.#doors.of(request)
    const access = await this.#access.of(who)
    const person: AskingPerson = {
      ...asking,
      who,
      access,
      mayPack: acceptsGzip(request),
      hasLeft: () => response.destroyed,
    }
    const path = url.pathname
    if (request.method === 'POST') return this.#write(person, path)
    if (path === '/events') return this.#stream(person)
    return this.#send(person, this.#answers.read(person, path))
  }

  async #send({ request, response, who }: AskingPerson, making: Promise<Body>): Promise<void> {
    const body = await making
    if (this.#open.add(response, who)) sendBody(request, response, 200, JSON_TYPE, body)
  }

  async #write(person: AskingPerson, path: string): Promise<void> {
    if (path === '/api/logs') return this.#log(person, await readBody(person.request))
    const body = (): Promise<Readonly<Record<string, unknown>>> => readBody(person.request)
    return this.#wrote(person, await this.#answers.write(person, path, body))
  }

  #log(person: AskingPerson, body: Readonly<Record<string, unknown>>): Promise<void> {
    const { request, response, who } = person
    return this.#logs.answer({
      client: clientOf(person, typeof body['cluster'] === 'string' ? body['cluster'] : ''),
      body,
      response,
      person: who.person.name,
      clock: this.#options.clock,
      isStillIn: () => this.#doors.isStillIn(request),
      ...(this.#doors.isProxied && { mostMs: KEPT_MS }),
    })
  }

  /** Reports a write to its user even if many responses are unread. */
  #wrote({ request, response }: AskingPerson, answer: object): Promise<void> {
    this.#open.watch(response)
    return sendJson(request, response, 200, answer)
  }

  #stream(person: AskingPerson): void {
    const { fleet, clock } = this.#options
    const { request, response, url, access, who } = person
    const wanted = (url.searchParams.get('topics') ?? '').split(',').filter((t) => t !== '')
    if (wanted.length === 0 || wanted.length > MOST_TOPICS_OF_STREAM)
      throw new Refused(400, 'BadTopics', `name 1 to ${MOST_TOPICS_OF_STREAM} topics`)
    const topics = wanted.map((topic): Followed => ({ topic, name: topicNamed(topic, person.access) }))
    const since = one(request.headers['last-event-id']) ?? url.searchParams.get('since') ?? undefined
    this.#streams.makePlace(who)
    const stream: Stream = new Stream(
      {
        fleet,
        clock,
        response,
        topics,
        readable: access.readable,
        view: access.view,
        onEnd: () => this.#streams.delete(stream),
        onBeat: () => void this.#recheck(stream, person),
      },
      since,
    )
    // It changed after the page read its session, before this stream could notice.
    if ((url.searchParams.get('session') ?? access.digest) !== access.digest) stream.sessionChanged()
    this.#streams.add(stream, request, who)
  }

  /** A stream whose rights changed ends; the browser reopens it with the remaining rights. */
  async #recheck(stream: Stream, { request, who, access: before }: AskingPerson): Promise<void> {
    if (!this.#doors.isStillIn(request)) return stream.bye('SessionEnded')
    if (this.#doors.isProxied && stream.ageMs >= KEPT_MS) return stream.bye('AskAgain')
    const now = await this.#access.of(who, 'Waits')
    if (now.digest === before.digest) return undefined
    stream.sessionChanged()
    return stream.bye('SessionEnded')
  }
}

function sendFile(
  request: IncomingMessage,
  response: ServerResponse,
  { type, body, gzip }: PageFile,
  headers: Readonly<Record<string, string>>,
): void {
  const isPacked = acceptsGzip(request)
  const bytes = isPacked ? gzip : body
  response.writeHead(200, {
    ...headers,
    'content-type': type,
    'content-length': bytes.length,
    vary: 'accept-encoding',
    ...(isPacked && { 'content-encoding': 'gzip' }),
  })
  response.end(request.method === 'HEAD' ? undefined : bytes)
}

/** An API server's refusal is shown in its own words; a failure of the console itself is only logged. */
function refusalOf(error: unknown): { readonly status: number; readonly code: string; readonly message: string } {
  if (error instanceof Refused) return { status: error.status, code: error.code, message: error.message }
  if (isApiError(error)) {
    const isPerson =
      error.status === 401 ||
      error.status === 403 ||
      error.status === 404 ||
      error.status === 409 ||
      error.status === 422
    return { status: isPerson ? error.status : 502, code: 'Api', message: messageOf(error) }
  }
  return { status: 500, code: 'Failed', message: 'the console could not answer; see its log' }
}
