// One stream of server-sent events to one browser: the topics it follows, what it already has, and its limit of unsent data.
import type { ServerResponse } from 'node:http'
import type { Clock, Timer } from '#lib/clock.ts'
import type { ByeEvent, ResyncEvent } from '../protocol.ts'
import { type Changed, type Fleet, type Followed, machineKey } from './fleet.ts'
import type { Readable } from './rights.ts'
import { inView, numberOf } from './topic-log.ts'
import { audienceOf } from './topics.ts'
import { defined } from '#lib/defined.ts'

export const HEARTBEAT_MS = 15_000
/** Unsent bytes at which a browser that does not read is cut. */
const MOST_UNSENT = 64 * 1024
/** A larger batch is cheaper as a snapshot, which is compressed. */
const MOST_BATCH = 48 * 1024

export interface StreamOptions {
  readonly fleet: Fleet
  readonly clock: Clock
  readonly response: ServerResponse
  readonly topics: readonly Followed[]
  readonly readable: Readable
  /** The user's rights; part of each revision. */
  readonly view: string
  readonly onEnd: () => void
  /** Called at each heartbeat and by `recheck`: rights or clusters may have changed. */
  readonly onBeat: () => void
}

interface Sent {
  readonly topic: string
  readonly json: string
}

const isTooMuch = (deltas: readonly Sent[]): boolean =>
  deltas.reduce((sum, { json }) => sum + json.length, 0) > MOST_BATCH

export class Stream {
  readonly #options: StreamOptions
  readonly #audiences: ReadonlyMap<string, string>
  readonly #unfollow: () => void
  readonly #openedAt: number
  #heartbeat: Timer
  #isEnded = false

  /** `since`: the browser's last revision, if any. It can only resume from one of the same server start and rights. */
  constructor(options: StreamOptions, since: string | undefined) {
    this.#options = options
    const { response, topics, readable, fleet, view, clock } = options
    this.#audiences = new Map(topics.map(({ name, topic }) => [topic, audienceOf(name, readable)]))
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      // Some ingress proxies buffer a stream until it is long.
      'x-accel-buffering': 'no',
    })
    const isComparable = since?.startsWith(inView(`${fleet.start}-`, view)) === true
    this.#resume(isComparable ? numberOf(since) : undefined)
    if (since !== undefined && !isComparable) this.sessionChanged()
    this.#unfollow = fleet.follow({ topics, readable, take: (changes, machines) => this.#take(changes, machines) })
    this.#openedAt = clock.monotonic()
    this.#heartbeat = clock.after(HEARTBEAT_MS, () => this.#beat())
    response.on('close', () => this.#end())
  }

  get ageMs(): number {
    return this.#options.clock.monotonic() - this.#openedAt
  }

  /** Rights or clusters changed. */
  sessionChanged(): void {
    this.#write('event: session\ndata: {}\n\n')
  }

  recheck(): void {
    if (!this.#isEnded) this.#options.onBeat()
  }

  bye(reason: ByeEvent['reason'], message?: string): void {
    if (this.#isEnded) return
    const data: ByeEvent = { reason, ...defined({ message }) }
    this.#options.response.end(`event: bye\ndata: ${JSON.stringify(data)}\n\n`)
    this.#end()
  }

  get #revision(): string {
    const { fleet, view } = this.#options
    return inView(fleet.revision, view)
  }

  #named(revision: number): string {
    const { fleet, view } = this.#options
    return inView(`${fleet.start}-${revision}`, view)
  }

  #resume(since: number | undefined): void {
    const { fleet, topics, readable } = this.#options
    const missed = topics.map(({ name, topic }) => ({
      topic,
      entries: since === undefined || name.family === 'node' ? undefined : fleet.since(name, topic, readable, since),
    }))
    const lost = missed.filter((m) => m.entries === undefined).map((m) => m.topic)
    const found = missed.flatMap(({ topic, entries = [] }) => entries.map((entry) => ({ topic, ...entry })))
    this.#write(': open\n\n')
    if (isTooMuch(found)) return this.#sendResync(this.#revision, [...new Set([...lost, ...found.map((f) => f.topic)])])
    // Each under its own revision, oldest first: another tab of this browser may have some of them, and none is applied twice.
    for (const number of new Set(found.map((f) => f.revision).toSorted((a, b) => a - b))) {
      const [first, ...more] = found.filter((f) => f.revision === number)
      if (first !== undefined) this.#send(this.#named(number), first.at, [first, ...more], [])
    }
    if (lost.length > 0) this.#sendResync(this.#revision, lost)
    return undefined
  }

  #take(changes: readonly Changed[], machines: ReadonlySet<string>): void {
    const own = changes.filter((c) => this.#audiences.get(c.topic) === c.audience)
    const nodes = this.#options.topics.filter(
      ({ name }) => name.family === 'node' && machines.has(machineKey(name.cluster, name.name)),
    )
    const [first] = own
    const { clock } = this.#options
    const lost = [...own.filter((c) => c.json === undefined), ...nodes].map((c) => c.topic)
    const deltas = own.flatMap(({ topic, json }) => (json === undefined ? [] : [{ topic, json }]))
    this.#send(this.#revision, first?.at ?? clock.now(), deltas, lost)
  }

  #send(revision: string, at: number, deltas: readonly Sent[], lost: readonly string[]): void {
    if (isTooMuch(deltas)) return this.#sendResync(revision, [...new Set([...lost, ...deltas.map((d) => d.topic)])])
    if (deltas.length > 0)
      this.#write(
        `event: delta\nid: ${revision}\ndata: {"revision":"${revision}","at":${at},"deltas":[${deltas.map((d) => d.json).join(',')}]}\n\n`,
      )
    if (lost.length > 0) this.#sendResync(revision, lost)
    return undefined
  }

  #sendResync(revision: string, topics: readonly string[]): void {
    const data: ResyncEvent = { revision, topics }
    this.#write(`event: resync\nid: ${revision}\ndata: ${JSON.stringify(data)}\n\n`)
  }

  #beat(): void {
    this.#write(': beat\n\n')
    // A Node may change without its Machine.
    const nodes = this.#options.topics.filter(({ name }) => name.family === 'node').map((t) => t.topic)
    if (nodes.length > 0) this.#sendResync(this.#revision, nodes)
    this.#options.onBeat()
    if (!this.#isEnded) this.#heartbeat = this.#options.clock.after(HEARTBEAT_MS, () => this.#beat())
  }

  #write(text: string): void {
    if (this.#isEnded) return
    const { response } = this.#options
    if (response.writableLength <= MOST_UNSENT) {
      response.write(text)
      return
    }
    // Once it reads again, it resumes from its last revision; until then nothing is buffered for it.
    this.#end()
    response.destroy()
  }

  #end(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#heartbeat.cancel()
    this.#unfollow()
    this.#options.onEnd()
  }
}
