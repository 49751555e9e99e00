// A request for a resource, from its path to its handler. Order: permission, served kind, body, turn, handler.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { authorize } from '../auth/authorize.ts'
import type { RequestUser } from '../builtin/kind.ts'
import type { Client, Gate } from '../flow/gate.ts'
import { laneOf } from '../flow/lane.ts'
import { levelOf, type FlowLevel } from '../flow/levels.ts'
import type { Answer, Call, ServerParts } from '../handlers/context.ts'
import { handlerFor } from '../handlers/route.ts'
import type { Served } from '../registry/served.ts'
import { reviewHandlers } from '../reviews/handlers.ts'
import { nameAskedFor } from '../selectors/field-selector.ts'
import { badRequest, nothingServed } from '../status/refusal.ts'
import { acceptedForm } from './accept.ts'
import { receiveBody, type BodyPace } from './body.ts'
import { isTrue } from './query.ts'
import { PAGE_NOT_FOUND } from './other-paths.ts'
import type { ResourcePath } from './request-path.ts'

export interface ResourceRequest {
  readonly parts: ServerParts
  readonly gate: Gate
  readonly pace: BodyPace
  readonly levels: readonly FlowLevel[]
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly query: URLSearchParams
  readonly path: ResourcePath
  readonly verb: string
  /** The real user, and the impersonated one. */
  readonly caller: RequestUser
  readonly client: Client
  readonly user: RequestUser
  readonly isGone: () => boolean
}

const SELECTING: ReadonlySet<string> = new Set(['list', 'watch', 'deletecollection'])

/** Undefined: a watch, which answers by itself. Refusals are thrown. */
export async function resourceAnswer(asked: ResourceRequest, warnings: Set<string>): Promise<Answer | undefined> {
  const { parts, gate, pace, levels, request, response, query, path, verb, caller, client, user, isGone } = asked
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
  if (served === undefined) return noSuchPath(parts.registry.isBuiltinGroup(path.group))
  if (!scopeFits(served, path, verb)) return noSuchPath(!served.custom)
  checkSegments(path)
  if (served.deprecation !== undefined) warnings.add(served.deprecation)
  const accept = acceptedForm(request.headers.accept)
  const level = ofKind(served, narrower(client.level, levelOf(levels, user)))
  const reader = gate.readerOf(client)
  const call: Call = { parts, request, response, user, level, reader, path, query, served, warnings, accept }
  const handler = handlerFor(call, verb)
  const lane = laneOf(path, verb, caller)
  const held = gate.holdBody(client)
  const charge = (bytes_: number): void => gate.chargeBytes(client.name, bytes_)
  const bytes = hasBody(request) ? await receiveBody({ request, response }, { held, charge, level, pace }) : 0
  const passing = passingKind(served, verb)
  if (passing !== undefined) gate.takePassing(passing, { name: user.name, level }, bytes)
  if (verb === 'watch') response.once('close', gate.openWatch(client))
  const seat = gate.enter(lane, client, isGone)
  const leave = typeof seat === 'function' ? seat : await seat
  try {
    return await handler(call)
  } finally {
    leave()
  }
}

/** As on a real server: an unknown path of a built-in group is answered with a Status, one of a custom group as text. */
export function noSuchPath(isBuiltin: boolean): Answer {
  if (isBuiltin) throw nothingServed()
  return PAGE_NOT_FOUND
}

/** Namespaced objects are only listed together across namespaces. */
function scopeFits({ type, custom }: Served, { namespace, plural, name }: ResourcePath, verb: string): boolean {
  if (!type.namespaced) return namespace === '' || plural === 'namespaces'
  if (namespace !== '') return true
  // a built-in collection exists without a namespace too, and the error lists its methods
  return name === '' && (!custom || verb === 'list' || verb === 'watch')
}

/** An agent's limits apply also to a user who impersonates it. */
const narrower = (a: FlowLevel, b: FlowLevel): FlowLevel => (a.bodyBytes <= b.bodyBytes ? a : b)

/** Small by definition: every client may ask for a review of itself, and Leases have a part of the server of their own. */
const SMALL_BYTES = 64 * 1024
const isSmall = ({ resource }: Served): boolean =>
  resource === 'coordination.k8s.io/leases' || reviewHandlers[resource] !== undefined

const ofKind = (served: Served, level: FlowLevel): FlowLevel =>
  isSmall(served) && level.bodyBytes > SMALL_BYTES ? { ...level, bodyBytes: SMALL_BYTES } : level

/** Both of their groups are stored as one. */
const EVENTS = '/events'
const WRITING: ReadonlySet<string> = new Set(['create', 'update', 'patch'])
const REQUESTS = 'certificates.k8s.io/certificatesigningrequests'

/** Objects that hosts may create in any number, under names of their choice. */
function passingKind({ resource }: Served, verb: string): 'events' | 'certificate requests' | undefined {
  if (resource === EVENTS && WRITING.has(verb)) return 'events'
  return resource === REQUESTS && verb === 'create' ? 'certificate requests' : undefined
}

/** Invalid names: they would mean another path. */
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

/** What a method means for authorization. */
export function verbOf(method: string, path: ResourcePath, query: URLSearchParams): string {
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
