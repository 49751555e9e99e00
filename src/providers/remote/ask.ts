// One request to a program that serves a provider, bounded in time and size: whatever the other side does, this ends and holds at most one body.
import type { Agent, IncomingMessage, RequestOptions } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { connect } from 'node:net'
import { nextTick } from 'node:process'
import type { Clock } from '#lib/clock.ts'
import { followSignal } from '#lib/follow-signal.ts'
import { isDeeperJson, MAX_JSON_DEPTH } from '#lib/json.ts'
import { nodeHttp } from '#lib/node-http.ts'
import { refuseUpgrade } from '#lib/refuse-upgrade.ts'
import { BadAnswer } from '../door.ts'
import { checkSocket, type Door } from './place.ts'
import { DEADLINE_HEADER, MAX_BODY_BYTES } from './protocol.ts'

export interface Question {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: string
  readonly withinMs: number
}

export interface Reply {
  readonly status: number
  readonly value: unknown
}

/** It did not answer in time. */
class NoAnswer extends Error {}

/** Further requests queue; a hanging provider must not take all descriptors. */
const MOST_CONNECTIONS = 16
const IDLE_MS = 30_000
/** The other side gets slightly less time than this one waits, so that its deadline error still arrives. */
const ON_THE_WAY_MS = 250

/** Another user may have put a socket in place of a stopped program's: sending would leak the hosts' tokens. */
const connectTo =
  (path: string): Agent['createConnection'] =>
  (_, onCreate) => {
    try {
      checkSocket(path)
      return connect(path)
    } catch (error) {
      // Thrown here, it would end the program while a request waits for its turn.
      nextTick(() => onCreate?.(error as Error, undefined as never))
      return undefined
    }
  }

export class Asker {
  readonly #door: Door
  readonly #clock: Pick<Clock, 'after'>
  readonly #agent: Agent

  constructor(door: Door, clock: Pick<Clock, 'after'>) {
    this.#door = door
    this.#clock = clock
    const options = { keepAlive: true, maxSockets: MOST_CONNECTIONS, timeout: IDLE_MS }
    this.#agent =
      door.kind === 'Socket'
        ? Object.assign(new nodeHttp.Agent(options), { createConnection: connectTo(door.path) })
        : new HttpsAgent({ ...options, ca: door.ca, minVersion: 'TLSv1.2', rejectUnauthorized: true })
  }

  close(): void {
    this.#agent.destroy()
  }

  async ask(question: Question, signal?: AbortSignal): Promise<Reply> {
    const ending = new AbortController()
    const { withinMs } = question
    const timer = this.#clock.after(withinMs, () =>
      ending.abort(new NoAnswer(`no answer within ${withinMs / 1_000} s`)),
    )
    const unfollow = followSignal(ending, signal)
    try {
      return await this.#answerTo(question, ending.signal)
    } catch (error) {
      // An abort hides its reason in the stream's error.
      throw ending.signal.aborted ? ending.signal.reason : error
    } finally {
      timer.cancel()
      unfollow()
    }
  }

  async #answerTo(question: Question, signal: AbortSignal): Promise<Reply> {
    const response = await this.#send(question, signal)
    const { statusCode: status = 0, headers } = response
    try {
      const type = headers['content-type'] ?? ''
      if (!/^application\/json\b/i.test(type)) throw new BadAnswer(`status ${status} with content that is not JSON`)
      if (headers['content-encoding'] !== undefined) throw new BadAnswer('a compressed answer')
      // Without a length, the end of the body equals the end of the connection: a truncated body would seem complete, and on a kept connection it would last
      // until the deadline.
      if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined)
        throw new BadAnswer('an answer with neither Content-Length nor chunks')
      if (Number(headers['content-length'] ?? 0) > MAX_BODY_BYTES) throw tooLong()
      return { status, value: jsonOf(await bytesOf(response)) }
    } catch (error) {
      response.destroy()
      throw error
    }
  }

  /** A kept connection may have closed meanwhile. Every call may be repeated, so send the request once more. */
  async #send(question: Question, signal: AbortSignal): Promise<IncomingMessage> {
    const first = this.#sent(question, signal)
    return first.answer.catch((error: unknown) => {
      if (!first.request.reusedSocket || signal.aborted) throw error
      return this.#sent(question, signal).answer
    })
  }

  #sent({ method, path, body, withinMs }: Question, signal: AbortSignal) {
    const door = this.#door
    const options: RequestOptions = {
      method,
      agent: this.#agent,
      signal,
      headers: {
        accept: 'application/json',
        [DEADLINE_HEADER]: String(Math.max(1, withinMs - ON_THE_WAY_MS)),
        ...(body !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
        ...(door.kind === 'Https' && door.token !== undefined && { authorization: `Bearer ${door.token}` }),
      },
    }
    const request =
      door.kind === 'Socket'
        ? nodeHttp.request({ ...options, socketPath: door.path, path, host: 'localhost' })
        : httpsRequest(below(door.url, path), options)
    const answer = new Promise<IncomingMessage>((resolve, reject) => {
      request.once('response', resolve)
      refuseUpgrade(request, new BadAnswer('a switch to another protocol'))
      // It can also fail after the answer began; the reader of the answer handles that.
      request.on('error', reject)
      request.once('close', () => reject(new Error('the connection ended without an answer')))
    })
    request.end(body)
    return { request, answer }
  }
}

const below = (base: URL, path: string): URL => new URL(base.pathname.replace(/\/$/, '') + path, base)

const tooLong = (): BadAnswer => new BadAnswer(`an answer of more than ${MAX_BODY_BYTES / 1024 / 1024} MiB`)

async function bytesOf(response: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of response as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > MAX_BODY_BYTES) throw tooLong()
    parts.push(part)
  }
  if (!response.complete) throw new BadAnswer('an answer that broke off')
  return Buffer.concat(parts)
}

function jsonOf(bytes: Buffer): unknown {
  if (isDeeperJson(bytes)) throw new BadAnswer(`an answer that is nested deeper than ${MAX_JSON_DEPTH} levels`)
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    throw new BadAnswer('an answer that is not whole JSON')
  }
}
