// The console's HTTP server: checks each request, identifies the user, and serves the page, snapshots, the stream, explanations and writes.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Clock } from '#lib/clock.ts'
import { defined } from '#lib/defined.ts'
import { systemClock } from '#lib/system-clock.ts'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import type { KubeClient } from '#kube/client.ts'
import { isApiError } from '#kube/errors.ts'
import type { LoadAnswer } from '../load.ts'
import type { Session, TopicFamily } from '../protocol.ts'
import type { ReportAnswer } from '../report.ts'
import { type Access, AccessBook, KEPT_MS } from './access.ts'
import { answerApproving } from './approving-answer.ts'
import type { Bounds } from './fair-share.ts'
import type { Fleet, Followed } from './fleet.ts'
import type { FleetRepository } from './fleet-repository.ts'
import type { ClusterState } from './cluster-cache.ts'
import { denied } from './guard.ts'
import { securityHeaders } from './headers.ts'
import { KeptAnswers } from './kept-answers.ts'
import { Listener, type Tls } from './listener.ts'
import { loadAnswer } from './load-answer.ts'
import { OpenLogs } from './log-answer.ts'
import { readNode } from './node-topic.ts'
import { OpenAnswers } from './open-answers.ts'
import { OpenStreams } from './open-streams.ts'
import type { Page, PageFile } from './page-files.ts'
import { lifeAnswer, type PastAsked, pastAnswer, recordedAnswer } from './past-answer.ts'
import { planAnswer } from './plan-answer.ts'
import { predictedAnswer, preparedAnswer, pushAnswer } from './prepare-answer.ts'
import type { OtherCluster } from '#explain/with-hub.ts'
import { searched, whyAnswer } from './questions.ts'
import type { OwnCounts } from './own-counts.ts'
import { reportAnswer } from './report-answer.ts'
import type { Recorded } from './recorded.ts'
import {
  acceptsGzip,
  type Body,
  bodyOf,
  JSON_TYPE,
  one,
  readBody,
  Refused,
  sendBody,
  sendJson,
  sendRefusal,
} from './request.ts'
import type { Sessions, SignedIn } from './sessions.ts'
import { SharedBodies } from './shared-bodies.ts'
import { Doors, type DoorsOptions } from './sign-in/doors.ts'
import { Stream } from './stream.ts'
import type { Steps } from '#lib/steps.ts'
import { TimeShares } from './time-shares.ts'
import { mayReadTopic, readAs } from './rights.ts'
import { inView } from './topic-log.ts'
import { mayRead, parseTopic, type TopicName } from './topics.ts'
import { isHub } from './views/clusters.ts'
import { awayPrograms } from './views/programs.ts'
import { liftHold, writeApproval, writeHold } from './writes.ts'

const MOST_TOPICS_OF_STREAM = 32

export interface ConsoleServerOptions {
  readonly fleet: Fleet
  readonly counts: OwnCounts
  readonly clock: Clock
  readonly log: Logger
  readonly version: string
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
  /** The fleet's repository, if this machine has it and may run its code in the cage. */
  readonly repository?: FleetRepository | undefined
  /** The recorded history of these clusters, if this machine has one. */
  readonly recorded?: Recorded | undefined
}

interface Asking {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly url: URL
}

interface AskingPerson extends Asking {
  readonly who: SignedIn
  readonly access: Access
}

export class ConsoleServer {
  readonly #options: ConsoleServerOptions
  readonly #listener: Listener
  readonly #doors: Doors
  readonly #access: AccessBook
  readonly #streams: OpenStreams
  readonly #answers: OpenAnswers
  readonly #logs = new OpenLogs()
  readonly #bodies: SharedBodies
  readonly #shares = new TimeShares(systemClock)
  readonly #reports = new KeptAnswers<ReportAnswer>()
  readonly #loads = new KeptAnswers<LoadAnswer>()

  constructor(options: ConsoleServerOptions) {
    this.#options = options
    const { fleet, clock, log, sessions, doors, tls } = options
    this.#streams = new OpenStreams(options.streams)
    // Browsers read in real time, whatever clock the views use.
    this.#answers = new OpenAnswers(systemClock)
    this.#bodies = new SharedBodies(clock)
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
    this.#answers.watch(response)
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
    this.#answers.begin(response)
    if (await this.#doors.data(asking)) {
      this.#streams.endThose((opened) => !this.#doors.isStillIn(opened))
      return undefined
    }
    const who = this.#doors.of(request)
    const access = await this.#access.of(who)
    const person: AskingPerson = { ...asking, who, access }
    const path = url.pathname
    if (request.method === 'POST') return this.#write(person, path)
    if (path === '/events') return this.#stream(person)
    if (path === '/api/session') return this.#send(person, this.#session(person))
    if (path === '/api/why') return this.#why(person)
    if (path === '/api/approving') return this.#approving(person)
    if (path === '/api/past') {
      const topic = url.searchParams.get('topic') ?? ''
      const name = this.#named(topic, person)
      return this.#inSteps(person, pastAnswer(this.#pastAsked(person), name, topic))
    }
    if (path === '/api/life') return this.#inSteps(person, lifeAnswer(this.#pastAsked(person)))
    if (path === '/api/recorded') return this.#computed(person, () => recordedAnswer(this.#pastAsked(person)))
    if (path === '/api/plan') return this.#plan(person)
    if (path === '/api/report') return this.#report(person)
    if (path === '/api/load') return this.#load(person)
    if (path === '/api/search') {
      const query = url.searchParams.get('q') ?? ''
      return this.#computed(person, () => searched(query, this.#options.fleet.clusters, access.readable))
    }
    if (path.startsWith('/api/topic/')) return this.#topic(person, path.slice('/api/topic/'.length))
    throw new Refused(404, 'NotFound', `there is no ${path}`)
  }

  #session({ who, access }: AskingPerson): Session {
    return {
      version: this.#options.version,
      person: who.person,
      clusters: access.clusters,
      digest: access.digest,
      canPrepare: this.#options.repository !== undefined,
      isRecorded: this.#options.recorded !== undefined,
      ...defined({ expires: who.expiresAt }),
    }
  }

  /** Forbidden and missing topics get the same response. */
  #named(topic: string, { access }: AskingPerson): TopicName {
    const name = parseTopic(topic)
    if (name === undefined || !mayRead(name, access.readable))
      throw new Refused(404, 'NotFound', `there is no topic ${topic}, or you may not read it`)
    return name
  }

  async #topic(person: AskingPerson, topic: string): Promise<void> {
    const { fleet, clock } = this.#options
    const { request, access, who } = person
    const name = this.#named(topic, person)
    if (name.family === 'node') {
      const client = who.clientOf(name.cluster)
      const cluster = this.#clusterFor(person, name.cluster, 'node')
      const node =
        client &&
        cluster &&
        (await readNode({ client, cluster, name: name.name, topic, revision: fleet.revision, now: clock.now() }))
      if (node === undefined) throw new Refused(404, 'NotFound', `node "${name.name}" not found`)
      return this.#send(person, { ...node, revision: inView(node.revision, access.view) })
    }
    const mayPack = acceptsGzip(request)
    const making = this.#bodies.of(`${topic} ${access.view} ${mayPack}`, fleet.current(), async () => {
      const snapshot = fleet.snapshot(name, topic, access.readable)
      if (snapshot === undefined)
        throw new Refused(404, 'NotFound', `there is no topic ${topic}, or you may not read it`)
      return bodyOf(JSON.stringify({ ...snapshot, revision: inView(snapshot.revision, access.view) }), mayPack)
    })
    return this.#sendBody(person, making)
  }

  /** A cluster with something the user may read, and the user's own connection to it. */
  #clientOf({ who, access }: AskingPerson, cluster: string): KubeClient {
    if (cluster === '') throw new Refused(400, 'BadCluster', 'name a cluster')
    const client = access.readable.has(cluster) ? who.clientOf(cluster) : undefined
    if (client === undefined)
      throw new Refused(404, 'NotFound', `there is no cluster ${cluster}, or you may not read it`)
    return client
  }

  /** Of every cluster that the user may read. */
  #clientsOf({ access, who }: AskingPerson): ReadonlyMap<string, KubeClient> {
    return new Map(
      [...access.readable.keys()].flatMap((name) => {
        const client = who.clientOf(name)
        return client === undefined ? [] : [[name, client] as const]
      }),
    )
  }

  #clusterFor({ access }: AskingPerson, name: string, family: TopicFamily): ClusterState | undefined {
    const [whole, rights] = [this.#options.fleet.cluster(name), access.readable.get(name)]
    return whole && rights && readAs(whole, family, rights)
  }

  async #why(person: AskingPerson): Promise<void> {
    const { url, access } = person
    const given = (key: string): string => url.searchParams.get(key) ?? ''
    const cluster = given('cluster')
    const [state, rights] = [this.#options.fleet.cluster(cluster), access.readable.get(cluster)]
    const away = state === undefined || rights === undefined ? [] : awayPrograms({ state, ...rights })
    const answer = await whyAnswer({
      client: this.#clientOf(person, cluster),
      cluster,
      kind: given('kind'),
      name: given('name'),
      namespace: url.searchParams.get('namespace') ?? undefined,
      now: this.#options.clock.now(),
      away: away.map(({ program, since }) => ({ program, since })),
      hubs: this.#hubsBeside(person, cluster),
    })
    return this.#send(person, answer)
  }

  async #approving(person: AskingPerson): Promise<void> {
    const { searchParams: query } = person.url
    const name = query.get('cluster') ?? ''
    const cluster = this.#clusterFor(person, name, 'budgets')
    const answer = await answerApproving({
      client: this.#clientOf(person, name),
      query,
      machine: (of) => cluster?.machine(of),
      now: this.#options.clock.now(),
    })
    return this.#send(person, answer)
  }

  async #load(person: AskingPerson): Promise<void> {
    const { url, access, who } = person
    const { clock } = this.#options
    const name = url.searchParams.get('cluster') ?? ''
    const client = this.#clientOf(person, name)
    const cluster = this.#clusterFor(person, name, 'machines')
    const machines = (url.searchParams.get('machines') ?? '').split(',').filter((text) => text !== '')
    if (cluster === undefined) throw new Refused(404, 'NotFound', `there is no cluster ${name}, or you may not read it`)
    const key = JSON.stringify([who.identity, access.digest, name, machines])
    const asked = { client, cluster, machines, now: clock.now() }
    return this.#send(person, await this.#loads.of(key, clock.monotonic(), () => loadAnswer(asked)))
  }

  async #report(person: AskingPerson): Promise<void> {
    const { url, access, who } = person
    const { clock, counts, recorded } = this.#options
    const given = (key: string): string => url.searchParams.get(key) ?? ''
    const asked = { cluster: given('cluster'), kind: given('kind'), since: given('since') }
    const client = this.#clientOf(person, asked.cluster)
    const key = JSON.stringify([who.identity, access.digest, asked])
    const answer = await this.#reports.of(key, clock.monotonic(), () =>
      reportAnswer({
        ...asked,
        client,
        now: clock.now(),
        hubs: this.#hubsBeside(person, asked.cluster),
        past: async (range) =>
          recorded === undefined
            ? undefined
            : this.#shares.inSteps(who, recorded.reported(access.readable, asked.cluster, range), nextTurn),
      }),
    )
    const seen = mayReadTopic(access.readable, asked.cluster, 'machines') ? counts.of(asked.cluster) : undefined
    return this.#send(person, { ...answer, ...defined({ seen }) })
  }

  #hubsBeside({ access, who }: AskingPerson, cluster: string): readonly OtherCluster[] {
    return [...access.readable.keys()].flatMap((context) => {
      const [state, client] = [this.#options.fleet.cluster(context), who.clientOf(context)]
      if (context === cluster || state === undefined || client === undefined || !isHub(state)) return []
      return [{ context, read: (question) => question(client) }]
    })
  }

  async #plan(person: AskingPerson): Promise<void> {
    const { url, access } = person
    const { fleet, repository } = this.#options
    const readable = fleet.clusters.filter(({ name }) => access.readable.has(name))
    const answer = await planAnswer({
      query: url.searchParams,
      hubs: readable.filter(({ name }) => mayReadTopic(access.readable, name, 'pipeline')),
      repository,
      clients: this.#clientsOf(person),
    })
    return this.#send(person, answer)
  }

  #pastAsked({ url, access }: AskingPerson): PastAsked {
    const { fleet, clock, recorded } = this.#options
    return { fleet, recorded, readable: access.readable, query: url.searchParams, now: clock.now() }
  }

  /** Computed for this query only, so its time counts. */
  #computed(person: AskingPerson, answer: () => object): Promise<void> {
    const make = () => bodyOf(JSON.stringify(answer()), acceptsGzip(person.request))
    return this.#sendBody(person, this.#shares.run(person.who, make))
  }

  /** The same, over a history of millions of rows. It ends when its connection does. */
  async #inSteps(person: AskingPerson, steps: Steps<object>): Promise<void> {
    const answer = await this.#shares.inSteps(person.who, steps, async () => {
      await nextTurn()
      if (person.response.destroyed) throw new Refused(400, 'Left', 'the connection was closed')
    })
    return this.#computed(person, () => answer)
  }

  #send(person: AskingPerson, answer: object): Promise<void> {
    return this.#sendBody(person, bodyOf(JSON.stringify(answer), acceptsGzip(person.request)))
  }

  async #sendBody({ request, response, who }: AskingPerson, making: Promise<Body>): Promise<void> {
    const body = await making
    if (this.#answers.add(response, who)) sendBody(request, response, 200, JSON_TYPE, body)
  }

  async #write(person: AskingPerson, path: string): Promise<void> {
    const { request, access, who } = person
    const { fleet, repository } = this.#options
    const { name } = who.person
    if (path === '/api/prepare') {
      const body = await readBody(request)
      const hubs = fleet.clusters.filter(({ name }) => mayReadTopic(access.readable, name, 'commits'))
      const clientOf = (cluster: string): KubeClient => this.#clientOf(person, cluster)
      return this.#wrote(person, await preparedAnswer({ body, person: name, repository, hubs, clientOf }))
    }
    if (path === '/api/predict') {
      const body = await readBody(request)
      const clients = this.#clientsOf(person)
      return this.#wrote(person, await predictedAnswer({ body, person: name, repository, clients }))
    }
    if (path === '/api/push') {
      const body = await readBody(request)
      return this.#wrote(person, await pushAnswer({ body, person: name, repository }))
    }
    if (path === '/api/logs') return this.#log(person, await readBody(request))
    const write = WRITES.get(path)
    if (write === undefined) throw new Refused(404, 'NotFound', `there is no ${path}`)
    const body = await readBody(request)
    const cluster = typeof body['cluster'] === 'string' ? body['cluster'] : ''
    const asked = { client: this.#clientOf(person, cluster), cluster, body, now: this.#options.clock.now() }
    return this.#wrote(person, await write(asked))
  }

  #log(person: AskingPerson, body: Readonly<Record<string, unknown>>): Promise<void> {
    const { request, response, who } = person
    return this.#logs.answer({
      client: this.#clientOf(person, typeof body['cluster'] === 'string' ? body['cluster'] : ''),
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
    this.#answers.watch(response)
    return sendJson(request, response, 200, answer)
  }

  #stream(person: AskingPerson): void {
    const { fleet, clock } = this.#options
    const { request, response, url, access, who } = person
    const wanted = (url.searchParams.get('topics') ?? '').split(',').filter((t) => t !== '')
    if (wanted.length === 0 || wanted.length > MOST_TOPICS_OF_STREAM)
      throw new Refused(400, 'BadTopics', `name 1 to ${MOST_TOPICS_OF_STREAM} topics`)
    const topics = wanted.map((topic): Followed => ({ topic, name: this.#named(topic, person) }))
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

const WRITES = new Map([
  ['/api/hold', writeHold],
  ['/api/lift', liftHold],
  ['/api/approval', writeApproval],
])

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
