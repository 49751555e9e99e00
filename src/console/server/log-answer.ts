// Passes the log of a component on to a page, as the agent writes it: asked for with the user's own credentials, bounded in number, in time and in what is unread.
import type { ServerResponse } from 'node:http'
import { API_GROUP } from '#api/kind.ts'
import { logRequest } from '#api/kinds/log-request.ts'
import { type Machine, machine as machineType } from '#api/kinds/machine.ts'
import { LOG_REQUESTS_AT_ONCE, LOG_REQUESTS_OF_MACHINE } from '#api/protocol/log-bounds.ts'
import { agentOf } from '#explain/agent.ts'
import { type AccessQuestion, isAllowed } from '#kube/access-review.ts'
import type { KubeClient } from '#kube/client.ts'
import { isApiError } from '#kube/errors.ts'
import type { Clock, Timer } from '#lib/clock.ts'
import { KubeNodeError, messageOf } from '#lib/errors.ts'
import { readLog } from '#nodes/logs/read-log.ts'
import type { LogPart } from '../logs.ts'
import { Refused, wrong } from './request.ts'
import { HEARTBEAT_MS } from './stream.ts'
import { personOf } from './writes.ts'

/** A screen or two; the whole log is the terminal's. */
const FIRST_LINES = 200
/** Some seconds of a busy log: a browser that stopped reading is cut. */
const MOST_UNSENT = 1_048_576
const REVIEW_MS = 5_000
const NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/

/** Whether the API server lets the user read logs of this machine. Undefined: it does not answer. */
export async function mayReadLogs(client: Pick<KubeClient, 'create'>, name: string): Promise<boolean | undefined> {
  const rights: readonly AccessQuestion[] = [
    { verb: 'create', group: API_GROUP, resource: logRequest.plural },
    { verb: 'get', group: API_GROUP, resource: `${machineType.plural}/log`, name },
  ]
  const signal = AbortSignal.timeout(REVIEW_MS)
  const answers = await Promise.all(rights.map((right) => isAllowed(client, right, signal).catch(() => undefined)))
  return answers.includes(false) ? false : answers.includes(undefined) ? undefined : true
}

export interface LogAnswerOptions {
  readonly client: KubeClient
  readonly body: Readonly<Record<string, unknown>>
  readonly response: ServerResponse
  readonly person: string
  readonly clock: Clock
  /** Whether the session continues. */
  readonly isStillIn: () => boolean
  /** Left out: as long as the log. Behind a proxy that signs people in only a new request shows that it still names this user. */
  readonly mostMs?: number
}

const SESSION_ENDED = new Error('your session ended')

export class OpenLogs {
  readonly #open = new Map<AbortController, string>()

  /** Resolves when the log, its reader or the session has ended. Throws before the first byte if there is no log. */
  async answer(options: LogAnswerOptions): Promise<void> {
    const { client, body, response, person, clock } = options
    const page = { isGone: false }
    const ended = new AbortController()
    const leave = (): void => {
      page.isGone = true
      ended.abort(new Error('the page was closed'))
    }
    // Before anything is awaited: a page that leaves meanwhile says so once.
    response.once('close', leave)
    if (isClosed(response)) leave()
    const [name, component] = [nameIn(body, 'machine'), nameIn(body, 'component')]
    const machine = await client.get<Machine>(machineType, { name })
    if (machine === undefined) throw new Refused(404, 'NotFound', `machine "${name}" not found`)
    const agent = agentOf(machine)
    if (!agent.isThere) throw new Refused(409, 'NoAgent', `no log can be read on machine ${name}: ${agent.why}`)
    const { name: by } = await personOf(client)
    ended.signal.throwIfAborted()
    this.#makePlace(person)
    this.#open.set(ended, person)
    const send = sender(response, page, ended)
    const guard = new Guard(options, name, ended, () => {
      if (response.headersSent) send({ lines: [] })
    })
    try {
      await readLog({
        client,
        clock,
        reader: { lines: (lines) => send({ lines }), note: (note) => send({ note }) },
        machine,
        agentKey: agent.publicKey,
        by,
        component,
        tail: FIRST_LINES,
        follow: true,
        signal: ended.signal,
        onAnswer: async () => undefined,
      })
      send({ end: 'the log ended' })
    } catch (e) {
      // A refusal before the first part has a status of its own.
      if (!response.headersSent && !ended.signal.aborted)
        throw isApiError(e) || !(e instanceof KubeNodeError) ? e : new Refused(409, 'NoLog', messageOf(e))
      // Signing out closes the connection that the log comes over.
      if (!options.isStillIn()) ended.abort(SESSION_ENDED)
      send({ end: messageOf(ended.signal.aborted ? ended.signal.reason : e) })
    } finally {
      guard.stop()
      this.#open.delete(ended)
      if (response.headersSent) response.end()
    }
  }

  stop(): void {
    for (const ended of this.#open.keys()) ended.abort(new Error('the console stops'))
  }

  #makePlace(person: string): void {
    const own = [...this.#open.values()].filter((other) => other === person).length
    if (own >= LOG_REQUESTS_OF_MACHINE)
      throw new Refused(503, 'Busy', `you follow ${own} logs already; stop one of them`)
    if (this.#open.size >= LOG_REQUESTS_AT_ONCE)
      throw new Refused(503, 'Busy', 'this console follows as many logs as it can; ask again later')
  }
}

/** Ends a log whose reader signed out or lost the right. Without an answer of the API server the log continues: its own requests fail by then. */
class Guard {
  readonly #options: LogAnswerOptions
  readonly #machine: string
  readonly #ended: AbortController
  readonly #since: number
  /** A proxy ends an answer that is silent for a minute. */
  readonly #beat: () => void
  #timer: Timer

  constructor(options: LogAnswerOptions, machine: string, ended: AbortController, beat: () => void) {
    this.#beat = beat
    this.#options = options
    this.#machine = machine
    this.#ended = ended
    this.#since = options.clock.monotonic()
    this.#timer = options.clock.after(HEARTBEAT_MS, () => void this.#check())
  }

  stop(): void {
    this.#timer.cancel()
  }

  async #check(): Promise<void> {
    const { client, clock, isStillIn, mostMs = Infinity } = this.#options
    const isAllowedStill = await mayReadLogs(client, this.#machine)
    if (this.#ended.signal.aborted) return
    if (!isStillIn()) return this.#ended.abort(SESSION_ENDED)
    if (clock.monotonic() - this.#since >= mostMs)
      return this.#ended.abort(new Error('the proxy has to name you again: follow the log again'))
    if (isAllowedStill === false) return this.#ended.abort(new Error('you may not read logs of machines any more'))
    this.#beat()
    this.#timer = clock.after(HEARTBEAT_MS, () => void this.#check())
  }
}

/** A response over HTTP/2 does not say so itself. */
const isClosed = (response: ServerResponse & { readonly stream?: { readonly destroyed?: boolean } }): boolean =>
  response.destroyed || response.stream?.destroyed === true

function sender(
  response: ServerResponse,
  page: { readonly isGone: boolean },
  ended: AbortController,
): (part: LogPart) => void {
  return (part) => {
    if (page.isGone) return
    if (!response.headersSent)
      response.writeHead(200, {
        'content-type': 'application/x-ndjson; charset=utf-8',
        'cache-control': 'no-store',
        // Some ingress proxies buffer an answer until it is long.
        'x-accel-buffering': 'no',
      })
    response.write(`${JSON.stringify(part)}\n`)
    if (response.writableLength <= MOST_UNSENT) return
    ended.abort(new Error('the page does not read'))
    response.destroy()
  }
}

function nameIn(body: Readonly<Record<string, unknown>>, key: string): string {
  const name = body[key]
  if (typeof name !== 'string' || !NAME.test(name)) throw wrong(`${key} is no name`)
  return name
}
