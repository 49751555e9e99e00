// The HTTPS side: from a request to the handler that answers it. Order: who, path, may they, form, handler, answer.
import { createServer, type Server } from 'node:https'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { messageOf } from '#lib/errors.ts'
import type { Logger } from '#lib/log.ts'
import { authorize } from '../auth/authorize.ts'
import { impersonated } from '../auth/impersonate.ts'
import type { RequestUser } from '../builtin/kind.ts'
import { encodeJson } from '../codec/json.ts'
import type { Answer, Call, ServerParts } from '../handlers/context.ts'
import { JSON_TYPE } from '../handlers/encode.ts'
import { handlerFor } from '../handlers/route.ts'
import { nameAskedFor } from '../selectors/field-selector.ts'
import { badRequest, internalError, nothingServed, Refusal } from '../status/refusal.ts'
import { acceptedForm } from './accept.ts'
import { isTrue } from './query.ts'
import { otherPath, PAGE_NOT_FOUND } from './other-paths.ts'
import { parsePath, type ResourcePath } from './request-path.ts'

export interface HttpOptions {
  readonly parts: ServerParts
  readonly authenticate: (request: IncomingMessage) => RequestUser
  readonly tls: { readonly key: string; readonly cert: string; readonly ca: string }
  readonly log: Logger
}

/** Idle connections are kept for a while: clients reuse them. */
const KEEP_ALIVE_MS = 120_000
const HEADERS_MS = 30_000

export function createHttpServer({ parts, authenticate, tls, log }: HttpOptions): Server {
  const server = createServer(
    {
      ...tls,
      requestCert: true,
      rejectUnauthorized: false,
      keepAlive: true,
      noDelay: true,
      requestTimeout: 0,
      headersTimeout: HEADERS_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
    },
    (request, response) => {
      serve(parts, authenticate, { request, response }).catch((e: unknown) => {
        log.error('request failed', {
          method: request.method,
          url: request.url,
          reason: messageOf(e),
          stack: e instanceof Error ? e.stack : undefined,
        })
        if (!response.headersSent)
          send(response, refusalAnswer(internalError('the request could not be completed')), undefined)
        else response.destroy()
      })
    },
  )
  return server
}

const SELECTING: ReadonlySet<string> = new Set(['list', 'watch', 'deletecollection'])

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

async function serve(
  parts: ServerParts,
  authenticate: HttpOptions['authenticate'],
  { request, response }: Exchange,
): Promise<void> {
  const warnings = new Set<string>()
  let answer: Answer | undefined
  try {
    answer = await answerOf(parts, authenticate, { request, response, warnings })
  } catch (e) {
    if (!(e instanceof Refusal)) throw e
    answer = refusalAnswer(e)
  }
  if (answer !== undefined) send(response, answer, warnings)
}

export const refusalAnswer = (e: Refusal): Answer => ({
  code: e.status.code,
  body: encodeJson(e.status),
  type: JSON_TYPE,
  headers: e.headers,
})

function send(response: ServerResponse, answer: Answer, warnings: ReadonlySet<string> | undefined): void {
  const { code, body, type } = answer
  const headers: Record<string, string | number | string[]> = {
    'cache-control': 'no-cache, private',
    ...answer.headers,
  }
  if (type !== undefined) headers['content-type'] = type
  if (warnings !== undefined && warnings.size > 0) headers['warning'] = [...warnings].map(warningHeader)
  if (body === undefined) {
    response.writeHead(code, headers).end()
    return
  }
  const parts = Buffer.isBuffer(body) ? [body] : body
  headers['content-length'] = parts.reduce((n, p) => n + p.length, 0)
  response.writeHead(code, headers)
  if (Buffer.isBuffer(body)) response.end(body)
  else response.end(Buffer.concat(body))
}

/** Quoted text without control characters, in latin1 as headers are. */
function warningHeader(text: string): string {
  const quoted = text.replace(/[\\"]/g, (c) => `\\${c}`)
  return `299 - "${quoted.replace(/[\n\r\t]/g, ' ').replace(/[^\u0020-\u00ff]/g, '?')}"`
}

async function answerOf(
  parts: ServerParts,
  authenticate: HttpOptions['authenticate'],
  { request, response, warnings }: Exchange & { readonly warnings: Set<string> },
): Promise<Answer | undefined> {
  const url = request.url ?? '/'
  const mark = url.indexOf('?')
  const rawPath = mark < 0 ? url : url.slice(0, mark)
  const query = new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1))
  const user = actingUser(parts, authenticate(request), request)
  const parsed = parsePath(rawPath)
  if (parsed === undefined) throw badRequest('the path is not well escaped')
  if (parsed.kind === 'other') return otherPath({ parts, request, query, user, path: parsed.path })
  if (parsed.kind === 'malformed') throw nothingServed()
  const { path } = parsed
  const verb = verbOf(request.method ?? 'GET', path, query)
  authorize(parts.authorizer, user, {
    verb,
    group: path.group,
    resource: path.plural,
    subresource: path.subresource,
    namespace: path.namespace,
    name: path.name === '' && SELECTING.has(verb) ? nameAskedFor(query.get('fieldSelector') ?? '') : path.name,
  })
  const served = parts.registry.find(path.group, path.version, path.plural)
  if (served === undefined) {
    if (path.group !== '' && !parts.registry.hasGroup(path.group)) return PAGE_NOT_FOUND
    throw nothingServed()
  }
  const scopeFits = served.type.namespaced || path.namespace === '' || path.plural === 'namespaces'
  if (!scopeFits) throw nothingServed()
  if (served.deprecation !== undefined) warnings.add(served.deprecation)
  const call: Call = {
    parts,
    request,
    response,
    user,
    path,
    query,
    served,
    warnings,
    accept: acceptedForm(request.headers.accept),
  }
  return handlerFor(call, verb)(call)
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

/** What a method means for authorization. */
function verbOf(method: string, path: ResourcePath, query: URLSearchParams): string {
  switch (method) {
    case 'GET':
    case 'HEAD':
      if (path.watch) return 'watch'
      if (path.name !== '') return 'get'
      return query.has('watch') && isTrue(query.get('watch')) ? 'watch' : 'list'
    case 'POST':
      return 'create'
    case 'PUT':
      return 'update'
    case 'PATCH':
      return 'patch'
    case 'DELETE':
      return path.name === '' ? 'deletecollection' : 'delete'
    default:
      return method.toLowerCase()
  }
}
