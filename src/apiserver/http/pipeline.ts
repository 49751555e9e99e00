// From a request to its answer. Order: identity, turn to be read, path, permission and handler.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { impersonated } from '../auth/impersonate.ts'
import { anonymous, isAnonymous } from '../auth/user.ts'
import type { RequestUser } from '../builtin/kind.ts'
import type { Connections } from '../flow/connections.ts'
import type { Client, Gate, Reader } from '../flow/gate.ts'
import { holderOf } from '../flow/holdings.ts'
import { levelOf, type FlowLevel } from '../flow/levels.ts'
import type { RefusalLog } from '../flow/refusal-log.ts'
import type { Answer, ServerParts } from '../handlers/context.ts'
import { badRequest, Refusal, RefusedBody, tooManyConnections } from '../status/refusal.ts'
import { discardRest, type BodyPace } from './body.ts'
import { checkTimeout, parseQuery } from './query.ts'
import { isOpenPath, openAnswer, openClient, type OpenPath } from './open-path.ts'
import { isHealth, otherPath } from './other-paths.ts'
import { parsePath } from './request-path.ts'
import { noSuchPath, resourceAnswer, verbOf } from './resource-request.ts'

export interface Pipeline {
  readonly parts: ServerParts
  readonly authenticate: (request: IncomingMessage) => RequestUser
  readonly gate: Gate
  readonly connections: Connections
  /** A connection is a stranger's until its client is known, and counted as one of its own. */
  readonly knows: (socket: Socket) => void
  readonly pace: BodyPace
  readonly levels: readonly FlowLevel[]
  readonly refused: RefusalLog
  readonly open?: OpenPath
}

export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** A client with too many connections can open the next when one is closed, and each costs a handshake, which is more than a request. */
const PENALTY_MS = 2_000
/** They return one by one, since thirty handshakes in a row block the server noticeably. */
const penaltyMs = ({ random }: ServerParts): number => PENALTY_MS * (1 + 3 * random.next())

export interface Answered {
  readonly answer: Answer
  readonly reader: Reader
}

/** Undefined: a watch, which answers by itself, or a closed connection. Refusals are thrown. */
export async function answerOf(
  pipeline: Pipeline,
  exchange: Exchange,
  warnings: Set<string>,
): Promise<Answered | undefined> {
  const { gate, connections, refused, levels, parts, pace } = pipeline
  const { clock } = parts
  const { request, response } = exchange
  const open = isOpenPath(pipeline.open, request) ? pipeline.open : undefined
  // every caller of this path is anonymous, also with a certificate
  const who = open === undefined ? callerOf(pipeline, request) : { caller: anonymous }
  const level = levelOf(levels, who.caller)
  const client: Client = open === undefined ? { ...holderOf(who.caller), level } : openClient(request, open, level)
  const holder = isAnonymous(who.caller) ? undefined : client
  const whenAnswered = (fn: () => void): void => whenClosed(response, fn)
  switch (connections.began(request.socket, { holder, level: client.level }, whenAnswered)) {
    case 'Pipelined':
      request.socket.pause()
      clock.after(penaltyMs(parts), () => request.socket.destroy())
      return undefined
    case 'TooMany':
      await clock.sleep(penaltyMs(parts))
      throw tooManyConnections()
    case 'Open':
      if (holder !== undefined) pipeline.knows(request.socket)
      break
  }
  try {
    const answer =
      open === undefined
        ? await turnOf(pipeline, { ...exchange, ...who, client }, warnings)
        : await openAnswer(open, exchange, { gate, client, pace })
    return answer && { answer, reader: gate.readerOf(client) }
  } catch (e) {
    if (e instanceof RefusedBody) refused.note(client.name, e.status.message ?? '')
    discardRest(request, (bytes) => gate.chargeBytes(client.name, bytes))
    throw e
  }
}

interface Caller {
  readonly caller: RequestUser
  /** Why authentication failed: reported in the client's turn, since finding out costs time. */
  readonly failure?: Refusal
}

function callerOf({ authenticate }: Pipeline, request: IncomingMessage): Caller {
  try {
    return { caller: authenticate(request) }
  } catch (e) {
    if (e instanceof Refusal) return { caller: anonymous, failure: e }
    throw e
  }
}

type Asked = Exchange & Caller & { readonly client: Client }

async function turnOf(pipeline: Pipeline, asked: Asked, warnings: Set<string>): Promise<Answer | undefined> {
  const { parts, gate, levels, pace } = pipeline
  const { request, response, client, caller, failure } = asked
  const url = request.url ?? '/'
  const mark = url.indexOf('?')
  const parsed = parsePath(mark < 0 ? url : url.slice(0, mark))
  const query = parseQuery(mark < 0 ? '' : url.slice(mark + 1))
  const isGone = () => response.destroyed
  // load balancers ask for health, and have no identity
  const isFree = caller === anonymous && parsed?.kind === 'other' && isHealth(parsed.path)
  const entered = isFree ? nothing : gate.arrive(client, isGone)
  const leave = typeof entered === 'function' ? entered : await entered
  const verb = parsed?.kind === 'resource' ? verbOf(request.method ?? 'GET', parsed.path, query) : ''
  // other requests of this client wait for the last byte of an answer, but not for the end of a watch
  if (verb !== 'watch') whenClosed(response, leave)
  try {
    if (failure !== undefined) throw failure
    const user = actingUser(parts, caller, request)
    if (parsed === undefined) throw badRequest('the path is not well escaped')
    checkTimeout(query)
    if (parsed.kind === 'malformed') return noSuchPath(parts.registry.isBuiltinGroup(parsed.group))
    if (parsed.kind === 'resource') {
      const resource = {
        parts,
        gate,
        pace,
        levels,
        request,
        response,
        query,
        path: parsed.path,
        verb,
        caller,
        client,
        user,
        isGone,
      }
      return await resourceAnswer(resource, warnings)
    }
    const other = { parts, request, query, user, path: parsed.path }
    if (isHealth(parsed.path)) return await otherPath(other)
    const seat = await gate.enter('ordinary', client, isGone)
    return await otherPath(other).finally(seat)
  } finally {
    if (verb === 'watch') leave()
  }
}

const nothing = (): void => undefined

function whenClosed(response: ServerResponse, fn: () => void): void {
  if (response.closed) fn()
  else response.once('close', fn)
}

function actingUser(parts: ServerParts, user: RequestUser, request: IncomingMessage): RequestUser {
  const { headers } = request
  if (!hasImpersonation(headers)) return user
  return impersonated(user, headers, request.headersDistinct, parts.authorizer)
}

function hasImpersonation(headers: IncomingMessage['headers']): boolean {
  for (const name in headers) if (name.startsWith('impersonate-')) return true
  return false
}
