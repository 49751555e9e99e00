// A server that speaks the protocol of the console with fixtures: for tests of the page alone. A test changes topics, refuses, hangs and stops it.
import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { applied, rowsDelta } from '#console/delta.ts'
import type { ApprovingAnswer } from '#console/approving.ts'
import type {
  ByeEvent,
  Delta,
  LifeAnswer,
  PastAnswer,
  RecordedAnswer,
  SearchAnswer,
  Session,
  SignInWays,
  Snapshot,
  TokenRequest,
  WhyAnswer,
} from '#console/protocol.ts'
import { readPage } from '#console/server/page-files.ts'
import type { PageFile } from '#console/server/page-files.ts'
import { nodeHttp } from '#lib/node-http.ts'
import type { LoadAnswer } from '#console/load.ts'
import type { LogPart } from '#console/logs.ts'
import type { PlanAnswer } from '#console/plan.ts'
import type { PushedCommit, PushRequest } from '#console/prepared.ts'
import { reportFixture } from './report-fixture.ts'
import { approving, life, load, NOW, session, snapshots, why } from './fixtures.ts'
import { plan, prepared, preparedAs } from './plan-fixtures.ts'

const PAGE = readPage()

/** What a topic or a question answers instead of its fixture. */
type Instead = { readonly status: number; readonly message: string; readonly code?: string } | 'Hangs'

/** Opens a session, and each cluster that needs a token. */
export const GOOD_TOKEN = 'a-token-of-ada'

export class FixtureServer {
  readonly topics = new Map<string, Snapshot>(snapshots.map((s) => [s.topic, s]))
  /** By the beginning of a path, such as `/api/topic/home`. */
  readonly instead = new Map<string, Instead>()
  /** The message of a refusal for what a user wants to write, or false. */
  refuses: ((body: unknown) => string | false) | undefined
  /** A write is answered after it. */
  answersWrites: Promise<void> | undefined
  readonly written: unknown[] = []
  readonly asked: string[] = []
  session: Session = session
  /** Signed out, these are the ways in. */
  isSignedOut = false
  ways: SignInWays = { ways: [] }
  why: WhyAnswer = why
  approving: ApprovingAnswer = approving
  life: LifeAnswer = life
  load: LoadAnswer = load
  /** What a page that follows a log gets; it stays open unless one of them is the end. */
  logParts: readonly LogPart[] = [{ lines: ['starting', 'token=[secret]', 'ready'] }]
  recorded: RecordedAnswer = { gaps: life.gaps }
  plan: PlanAnswer = plan
  hits: SearchAnswer = { hits: [], isTruncated: false }
  readonly #page = PAGE
  readonly #streams = new Map<ServerResponse, ReadonlySet<string>>()
  readonly #log: { readonly number: number; readonly at: number; readonly delta: Delta }[] = []
  #number = 42
  #server: Server | undefined
  #port = 0

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  get streams(): number {
    return this.#streams.size
  }

  /** Streams of this topic: after a page went from view to view, the last one may still be of the view before. */
  followers(topic: string): number {
    return [...this.#streams.values()].filter((topics) => topics.has(topic)).length
  }

  /** At the port it had, when it was stopped before. */
  async start(): Promise<void> {
    this.#server = nodeHttp.createServer((request, response) => void this.#answer(request, response))
    this.#server.listen(this.#port, '127.0.0.1')
    await once(this.#server, 'listening')
    this.#port = (this.#server.address() as AddressInfo).port
  }

  async stop(): Promise<void> {
    this.#server?.closeAllConnections()
    this.#streams.clear()
    await new Promise<void>((done) => (this.#server === undefined ? done() : this.#server.close(() => done())))
  }

  send(delta: Delta, at = Date.now()): void {
    const before = this.topics.get(delta.topic)
    const number = ++this.#number
    if (before !== undefined) this.topics.set(delta.topic, applied(before, delta, `1a2b-${number}`, at))
    this.#log.push({ number, at, delta })
    for (const [stream, topics] of this.#streams) if (topics.has(delta.topic)) this.#write(stream, number, at, delta)
  }

  /** Replaces a topic of rows by a changed one. */
  change<T extends Snapshot>(topic: string, edit: (before: T) => T): void {
    const before = this.topics.get(topic)
    if (before === undefined || !('rows' in before)) throw new Error(`no rows in ${topic}`)
    const delta = rowsDelta(before, edit(before as T) as typeof before)
    if (delta !== undefined) this.send(delta)
  }

  /** To every stream, as it is. */
  sendRaw(text: string): void {
    for (const stream of this.#streams.keys()) stream.write(text)
  }

  /** Ends every stream with this reason. */
  sendBye(bye: ByeEvent): void {
    for (const stream of this.#streams.keys()) stream.end(`event: bye\ndata: ${JSON.stringify(bye)}\n\n`)
    // A stream that was ended takes no further event, also before its connection is closed.
    this.#streams.clear()
  }

  #write(stream: ServerResponse, number: number, at: number, delta: Delta): void {
    const revision = `1a2b-${number}`
    stream.write(`id: ${revision}\nevent: delta\ndata: ${JSON.stringify({ revision, at, deltas: [delta] })}\n\n`)
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url)
    const path = decodeURIComponent(url.pathname)
    this.asked.push(`${request.method ?? ''} ${request.url ?? ''}`)
    response.setHeader('date', new Date(NOW).toUTCString())
    response.setHeader('content-security-policy', this.#page.policy)
    response.setHeader('x-content-type-options', 'nosniff')
    const instead = [...this.instead].find(([begin]) => path.startsWith(begin))?.[1]
    if (instead === 'Hangs') return
    if (instead !== undefined) return json(response, { code: 'KN1000', ...instead }, instead.status)
    const file = path === '/' ? this.#page.html : this.#page.files.get(path.replace(`/a/${this.#page.digest}/`, ''))
    if (file !== undefined) return send(response, file)
    const isOfPerson = path === '/events' || path === '/api/session' || path.startsWith('/api/topic/')
    if (this.isSignedOut && isOfPerson) return json(response, { code: 'SignedOut', message: 'not signed in' }, 401)
    if (path === '/events') return this.#stream(url, response)
    if (request.method === 'POST') return this.#write1(request, response)
    const topic = path.startsWith('/api/topic/') ? this.topics.get(url.pathname.slice('/api/topic/'.length)) : undefined
    if (topic !== undefined) return json(response, topic)
    if (path === '/api/session') return json(response, this.session)
    if (path === '/api/sign-in') return json(response, this.ways)
    if (path === '/api/why') return json(response, this.why)
    if (path === '/api/approving') return json(response, this.approving)
    if (path === '/api/report') return json(response, reportFixture(url.searchParams.get('kind') ?? ''))
    if (path === '/api/load') return json(response, this.load)
    if (path === '/api/life') return json(response, lifeOf(this.life, url.searchParams.get('name') ?? ''))
    if (path === '/api/recorded') return json(response, this.recorded)
    if (path === '/api/plan') return json(response, this.plan)
    if (path === '/api/search') return json(response, this.hits)
    const past = this.topics.get(url.searchParams.get('topic') ?? '')
    if (path === '/api/past' && past !== undefined) return json(response, this.#past(past, url.searchParams))
    return json(response, { code: 'KN1000', message: `nothing is at ${path}` }, 404)
  }

  #past(snapshot: Snapshot, params: URLSearchParams): object {
    const [begins, ends] = [snapshot.at - 7_200_000, snapshot.at]
    if (!params.has('from')) return { begins, ends, snapshot } satisfies PastAnswer
    const kept = this.#log.findLast(({ delta }) => delta.topic === snapshot.topic)
    return { begins, ends, delta: kept?.delta ?? { topic: snapshot.topic, set: [], removed: [] } }
  }

  #stream(url: URL, response: ServerResponse): void {
    const topics = new Set((url.searchParams.get('topics') ?? '').split(','))
    if ([...topics].some((t) => !this.topics.has(t)))
      return json(response, { code: 'NotFound', message: 'there is no such topic' }, 404)
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    response.write(': hello\n\n')
    this.#streams.set(response, topics)
    response.on('close', () => this.#streams.delete(response))
    const since = /^1a2b-(\d+)$/.exec(url.searchParams.get('since') ?? '')
    for (const { number, at, delta } of this.#log) {
      if (since !== null && number > Number(since[1]) && topics.has(delta.topic))
        this.#write(response, number, at, delta)
    }
  }

  async #write1(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body: unknown = await new Response(Readable.toWeb(request)).json()
    const refused = this.refuses?.(body) ?? false
    if (refused !== false) return json(response, { code: 'KN1000', message: refused }, 403)
    this.written.push(body)
    await this.answersWrites
    if (request.url === '/api/logs') {
      response.writeHead(200, { 'content-type': 'application/x-ndjson' })
      for (const part of this.logParts) response.write(`${JSON.stringify(part)}\n`)
      return
    }
    if (request.url === '/api/prepare') return json(response, preparedAs(body))
    if (request.url === '/api/predict') return json(response, plan.predicted)
    if (request.url === '/api/push')
      return json(response, { commit: prepared.id, branch: (body as PushRequest).branch } satisfies PushedCommit)
    if (request.url === '/api/sign-in') return this.#signIn(body as TokenRequest, response)
    if (request.url === '/api/sign-out') {
      this.isSignedOut = true
      return json(response, {})
    }
    const kind = request.url === '/api/hold' || request.url === '/api/lift' ? 'OperationalHold' : 'Approval'
    json(response, { kind, name: 'console-4711', command: 'kubenode pause set/base --reason WHY' }, 201)
  }

  #signIn({ token, cluster }: TokenRequest, response: ServerResponse): void {
    const where = cluster ?? 'hub'
    const message = `the API server of ${where} does not accept this token`
    if (token !== GOOD_TOKEN) return json(response, { code: 'TokenRefused', message }, 403)
    if (cluster === undefined) this.isSignedOut = false
    const clusters = this.session.clusters.map((c) =>
      c.name === cluster ? ({ ...c, state: 'Connected', topics: ['home', 'machines'] } as const) : c,
    )
    this.session = { ...this.session, clusters }
    return json(response, {})
  }
}

function send(response: ServerResponse, { type, body }: PageFile): void {
  response.writeHead(200, { 'content-type': type }).end(body)
}

function json(response: ServerResponse, body: object, status = 200): void {
  response
    .writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' })
    .end(JSON.stringify(body))
}

/** The same life, of the object that the page asks for. */
const lifeOf = (life: LifeAnswer, name: string): LifeAnswer =>
  JSON.parse(JSON.stringify(life).replaceAll(life.name, () => JSON.stringify(name).slice(1, -1))) as LifeAnswer
