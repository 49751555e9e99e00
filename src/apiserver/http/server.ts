// The HTTPS listener: certificates, time-outs of connections, and one pipeline for each request.
import { createServer, type Server } from 'node:https'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import type { RequestUser } from '../builtin/kind.ts'
import { Connections } from '../flow/connections.ts'
import { Gate } from '../flow/gate.ts'
import { Holdings } from '../flow/holdings.ts'
import type { Limits } from '../flow/limits.ts'
import { RefusalLog } from '../flow/refusal-log.ts'
import { Strangers, strangersWithin } from '../flow/strangers.ts'
import type { Answer, ServerParts } from '../handlers/context.ts'
import { notStored } from '../status/not-stored.ts'
import { internalError, Refusal } from '../status/refusal.ts'
import type { OpenPath } from './open-path.ts'
import { answerOf, type Exchange, type Pipeline } from './pipeline.ts'
import { isForPeople, pretty } from './pretty.ts'
import { refusalAnswer, sendAnswer } from './send-answer.ts'

export interface HttpOptions {
  readonly parts: ServerParts
  readonly authenticate: (request: IncomingMessage) => RequestUser
  readonly tls: { readonly key: string; readonly cert: string; readonly ca: string }
  readonly limits: Limits
  readonly log: Logger
  readonly open?: OpenPath
}

export interface HttpListener {
  readonly http: Server
  /** Ends every connection, also one whose handshake is under way: Node knows it only afterwards, and it would be served then. */
  readonly endConnections: () => void
}

export function createHttpServer({ parts, authenticate, tls, limits, log, open }: HttpOptions): HttpListener {
  const { all: places } = limits.held.connections
  const holdings = new Holdings(limits.held)
  const strangers = new Strangers(() => strangersWithin(places, holdings.held('connections')))
  const pipeline: Pipeline = {
    parts,
    authenticate,
    gate: new Gate(limits, holdings, parts.clock),
    connections: new Connections(holdings),
    knows: (socket) => strangers.knows(socket),
    pace: { ...limits, clock: parts.clock },
    levels: limits.levels,
    refused: new RefusalLog(log, () => parts.clock.monotonic()),
    ...(open !== undefined && { open }),
  }
  const server = createServer(
    {
      ...tls,
      requestCert: true,
      rejectUnauthorized: false,
      keepAlive: true,
      noDelay: true,
      // clients that send a handshake, headers or a body too slowly are disconnected; answers, watches among them, may take any time
      handshakeTimeout: limits.handshakeMs,
      headersTimeout: limits.headMs,
      requestTimeout: limits.requestMs,
      keepAliveTimeout: limits.idleMs,
      connectionsCheckingInterval: limits.lookEveryMs,
      maxHeaderSize: limits.headBytes,
    },
    (request, response) => {
      serve(pipeline, { request, response }).catch((e: unknown) => {
        log.error('request failed', {
          method: request.method,
          url: request.url,
          reason: messageOf(e),
          stack: e instanceof Error ? e.stack : undefined,
        })
        if (response.headersSent) response.destroy()
        else sendAnswer(response, refusalAnswer(internalError('the request could not be completed')), parts)
      })
    },
  )
  server.maxConnections = places
  const sockets = new Set<Socket>()
  server.prependListener('connection', (socket: Socket) => {
    strangers.came(socket)
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  return {
    http: server,
    endConnections: () => {
      server.closeAllConnections()
      for (const socket of sockets) socket.destroy()
    },
  }
}

async function serve(pipeline: Pipeline, exchange: Exchange): Promise<void> {
  const warnings = new Set<string>()
  const { request, response } = exchange
  const { clock } = pipeline.parts
  const shown = (answer: Answer): Answer => (isForPeople(request) ? pretty(answer) : answer)
  try {
    const answered = await answerOf(pipeline, exchange, warnings)
    if (answered !== undefined)
      sendAnswer(response, shown(answered.answer), { clock, warnings, reader: answered.reader })
  } catch (e) {
    const refusal = e instanceof Refusal ? e : notStored(e)
    if (refusal === undefined) throw e
    sendAnswer(response, shown(refusalAnswer(refusal)), { clock, warnings })
  }
}
