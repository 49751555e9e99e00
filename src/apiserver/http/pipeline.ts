// From a request to the handler that answers it. Order: who, path, may they, body, turn, handler.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { authorize } from '../auth/authorize.ts'
import { impersonated } from '../auth/impersonate.ts'
import type { RequestUser } from '../builtin/kind.ts'
import type { Gate } from '../flow/gate.ts'
import { laneOf } from '../flow/lane.ts'
import type { Answer, Call, ServerParts } from '../handlers/context.ts'
import { handlerFor } from '../handlers/route.ts'
import { nameAskedFor } from '../selectors/field-selector.ts'
import { badRequest, nothingServed } from '../status/refusal.ts'
import { acceptedForm } from './accept.ts'
import { receiveBody } from './body.ts'
import { checkTimeout, isTrue, parseQuery } from './query.ts'
import { isHealth, otherPath, PAGE_NOT_FOUND } from './other-paths.ts'
import { parsePath, type ResourcePath } from './request-path.ts'

export interface Pipeline {
  readonly parts: ServerParts
  readonly authenticate: (request: IncomingMessage) => RequestUser
  readonly gate: Gate
}

export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

const SELECTING: ReadonlySet<string> = new Set(['list', 'watch', 'deletecollection'])

/** Undefined: a watch, which answers by itself. Refusals are thrown. */
export async function answerOf(
  { parts, authenticate, gate }: Pipeline,
  { request, response }: Exchange,
  warnings: Set<string>,
): Promise<Answer | undefined> {
  const url = request.url ?? '/'
  const mark = url.indexOf('?')
  const rawPath = mark < 0 ? url : url.slice(0, mark)
  const query = parseQuery(mark < 0 ? '' : url.slice(mark + 1))
  const caller = authenticate(request)
  const user = actingUser(parts, caller, request)
  const parsed = parsePath(rawPath)
  if (parsed === undefined) throw badRequest('the path is not well escaped')
  const isGone = () => response.destroyed
  checkTimeout(query)
  if (parsed.kind === 'other') {
    const other = { parts, request, query, user, path: parsed.path }
    if (isHealth(parsed.path)) return otherPath(other)
    const leave = await gate.enter('ordinary', caller.name, isGone)
    return otherPath(other).finally(leave)
  }
  if (parsed.kind === 'malformed') throw nothingServed()
  const { path } = parsed
  const verb = verbOf(request.method ?? 'GET', path, query)
  const fieldSelector = path.name === '' && SELECTING.has(verb) ? (query.get('fieldSelector') ?? '') : ''
  authorize(parts.authorizer, user, {
    verb,
    group: path.group,
    resource: path.plural,
    subresource: path.subresource,
    namespace: path.namespace,
    name: fieldSelector === '' ? path.name : nameAskedFor(fieldSelector),
    fieldSelector,
  })
  const served = parts.registry.find(path.group, path.version, path.plural)
  if (served === undefined) {
    if (path.group !== '' && !parts.registry.hasGroup(path.group)) return PAGE_NOT_FOUND
    throw nothingServed()
  }
  const scopeFits = served.type.namespaced || path.namespace === '' || path.plural === 'namespaces'
  if (!scopeFits) throw nothingServed()
  checkSegments(path)
  if (served.deprecation !== undefined) warnings.add(served.deprecation)
  const accept = acceptedForm(request.headers.accept)
  const call: Call = { parts, request, response, user, path, query, served, warnings, accept }
  const handler = handlerFor(call, verb)
  if (hasBody(request)) await receiveBody({ request, response }, { gate, flow: caller.name })
  if (verb === 'watch') response.once('close', gate.openWatch(caller.name))
  const seat = gate.enter(laneOf(path, verb), caller.name, isGone)
  const leave = typeof seat === 'function' ? seat : await seat
  try {
    return await handler(call)
  } finally {
    leave()
  }
}

/** Names that cannot be anybody's, since they would mean another path. */
function checkSegments({ name, namespace }: ResourcePath): void {
  if (isOdd(name)) throw oddSegment('Name', name)
  if (isOdd(namespace)) throw oddSegment('Namespace', namespace)
}

const isOdd = (segment: string): boolean => segment === '.' || segment === '..' || segment.includes('%')

const oddSegment = (what: string, segment: string): Error =>
  badRequest(
    `${what} parameter invalid: ${JSON.stringify(segment)}: ${segment.includes('%') ? "may not contain '%'" : `may not be '${segment}'`}`,
  )

const BODILESS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])
const hasBody = ({ method }: IncomingMessage): boolean => !BODILESS.has(method ?? 'GET')

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
