// An API server's refusal or a lost connection as an error, and whether a retry can help. No message contains a secret.
import { defined } from '#lib/defined.ts'
import { KubeNodeError, type ErrorMessage, messageOf, type Retry } from '#lib/errors.ts'
import { textIn, textOr } from '#lib/fields.ts'
import { isObject } from '#lib/json.ts'
import type { Status, StatusCause } from '#api/schema/object.ts'
import { apiRefusals } from './api-refusals.ts'
import { kubeErrors } from './kube-errors.ts'

/** The refused operation; every field is safe to show. */
export interface CallContext {
  /** "update", "list", "watch" … */
  readonly action: string
  /** "machines.kubenode.io/m-1"; never with a query string, which may contain secrets. */
  readonly target: string
  readonly requestId?: string | undefined
  /** From the Retry-After header; overrides the Status. */
  readonly retryAfterMs?: number | undefined
  /** The object is a Secret or a token: the server's message may quote it, so it is withheld. */
  readonly sensitive?: boolean | undefined
}

/** Longer server messages are cut: an admission webhook may send pages. */
const MAX_MESSAGE = 2_000
/** Reasons are single words. */
const MAX_REASON = 100

/** A server that rejects the identity treats the client as anonymous and then only reports missing rights. */
export const withIdentityHint = (text: string): string =>
  text.includes('User "system:anonymous"') ? `${text} (it accepted no token or client certificate of yours)` : text

export class ApiError extends KubeNodeError {
  /** The HTTP status code. */
  readonly status: number
  readonly reason: string
  readonly serverMessage: string
  readonly details: Status['details']
  readonly causes: readonly StatusCause[]
  readonly retryAfterMs: number | undefined
  readonly requestId: string | undefined

  constructor(status: Status, context: CallContext, cause?: unknown) {
    const reason = status.reason ?? reasonOf(status.code)
    const given = context.sensitive ? '(server message withheld: it may contain a secret)' : status.message
    // For a rejected identity the server gives no further detail.
    const text =
      given === reason && status.code === 401
        ? 'the server gave no reason'
        : cut(withIdentityHint(given ?? 'no message'), MAX_MESSAGE)
    super(messageFor(status.code)({ action: context.action, target: context.target, reason, text }), {
      retry: retryOf(status.code),
      data: {
        status: status.code,
        reason,
        ...defined({ requestId: context.requestId }),
      },
      cause,
    })
    this.status = status.code
    this.reason = reason
    this.serverMessage = text
    this.details = context.sensitive ? withoutCauses(status.details) : status.details
    const causes = status.details?.causes ?? []
    this.causes = context.sensitive ? causes.flatMap(ownerIn) : causes
    const seconds = status.details?.retryAfterSeconds
    this.retryAfterMs = context.retryAfterMs ?? (seconds === undefined || seconds <= 0 ? undefined : seconds * 1_000)
    this.requestId = context.requestId
  }
}

/** The connection failed, or the response was not valid. `applied` tells whether a write may have taken effect anyway. */
export class ConnectionError extends KubeNodeError {
  readonly applied: 'no' | 'unknown'

  constructor(message: ErrorMessage, applied: 'no' | 'unknown', cause?: unknown) {
    super(message, { retry: 'later', data: { applied }, cause })
    this.applied = applied
  }
}

/** The answer has more than this client reads: it would have as much the next time. */
export const isTooLong = (e: unknown): boolean => e instanceof ConnectionError && e.code === kubeErrors.KN2005.code

const REASONS: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  408: 'Timeout',
  409: 'Conflict',
  410: 'Expired',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  500: 'InternalError',
  503: 'ServiceUnavailable',
  504: 'Timeout',
}

const reasonOf = (code: number): string => REASONS[code] ?? 'Unknown'
/** KN2404 is HTTP 404, and so on; statuses with the same remedy share a number. */
function messageFor(code: number) {
  const own = `KN${2_000 + code}`
  if (Object.hasOwn(apiRefusals, own)) return apiRefusals[own as keyof typeof apiRefusals]
  return FINAL.has(code) ? apiRefusals.KN2400 : apiRefusals.KN2500
}
const cut = (text: string, max: number): string => (text.length > max ? `${text.slice(0, max)}…` : text)

/** Refusals that only a changed request can fix. Forbidden is not among them: RBAC is fixed without touching the object. */
const FINAL: ReadonlySet<number> = new Set([400, 405, 406, 413, 415, 422])

function retryOf(code: number): Retry {
  if (FINAL.has(code)) return 'never'
  return code === 409 || code === 410 ? 'now' : 'later'
}

/** Nothing after the names of the owner. */
const OWNED = /^conflict with "(?:[^"\\]|\\.)*"(?: with subresource "[^"]*")?/

/** Who owns which field is no secret, and without it no edit of a Secret could ever be told from one of another version. */
function ownerIn({ reason, message = '', field }: StatusCause): readonly StatusCause[] {
  const [owner] = OWNED.exec(message) ?? []
  return reason !== 'FieldManagerConflict' || field === undefined || owner === undefined
    ? []
    : [{ reason, message: owner, field }]
}

function withoutCauses(details: Status['details']): Status['details'] {
  if (details?.causes === undefined) return details
  const { causes: _, ...rest } = details
  return rest
}

/** A failure Status in an API server's format. */
export function failure(code: number, message: string, details?: Status['details'], reason = reasonOf(code)): Status {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason,
    ...defined({ details }),
    code,
  }
}

/** Reads a Status from a response. Proxies and load balancers may send anything, so assume nothing. */
export function statusFrom(code: number, body: unknown): Status {
  if (isObject(body) && body['kind'] === 'Status') {
    const own = typeof body['code'] === 'number' ? body['code'] : code
    const message = textOr(body['message'], `HTTP status ${code}`)
    return failure(own, message, detailsOf(body['details']), cut(textIn(body['reason']) ?? reasonOf(own), MAX_REASON))
  }
  return failure(code, `HTTP status ${code} without a Status`)
}

function detailsOf(details: unknown): Status['details'] {
  if (!isObject(details)) return undefined
  const { causes, retryAfterSeconds: seconds } = details
  const texts = (of: Readonly<Record<string, unknown>>, names: readonly string[]) =>
    defined(Object.fromEntries(names.map((name) => [name, textIn(of[name])])))
  return {
    ...texts(details, ['name', 'group', 'kind', 'uid']),
    ...(Array.isArray(causes) && {
      causes: causes.filter(isObject).map((cause) => texts(cause, ['reason', 'message', 'field'])),
    }),
    ...(typeof seconds === 'number' && { retryAfterSeconds: seconds }),
  }
}

const is = (e: unknown, code: number): boolean => e instanceof ApiError && e.status === code

export const isApiError = (e: unknown): e is ApiError => e instanceof ApiError

/** The server's own words where it answered. Beside the object's name they need no sentence around them. */
export const answerOf = (e: unknown): string => (isApiError(e) ? e.serverMessage : messageOf(e))
export const isNotFound = (e: unknown): boolean => is(e, 404)
export const isAlreadyExists = (e: unknown): boolean => e instanceof ApiError && e.reason === 'AlreadyExists'
/** Another client wrote in between, or other managers own the fields. AlreadyExists has the same status but is not a conflict. */
export const isConflict = (e: unknown): boolean => is(e, 409) && !isAlreadyExists(e)
/** The resourceVersion or continue token is too old: list again. */
export const isGone = (e: unknown): boolean => is(e, 410)
export const isUnauthorized = (e: unknown): boolean => is(e, 401)
export const isForbidden = (e: unknown): boolean => is(e, 403)
export const isInvalid = (e: unknown): boolean => is(e, 422)
export const isTooManyRequests = (e: unknown): boolean => is(e, 429)
const isTimeout = (e: unknown): boolean => is(e, 504) || is(e, 408)
export const isServerError = (e: unknown): boolean => e instanceof ApiError && e.status >= 500
/** The server's state is older than requested: a stale cache, or a restored server. */
export const isTooLargeResourceVersion = (e: unknown): boolean =>
  e instanceof ApiError && e.causes.some((c) => c.reason === 'ResourceVersionTooLarge')
/** A write whose reply was lost: it may have taken effect, so read before repeating it. */
export const mayHaveApplied = (e: unknown): boolean =>
  e instanceof ConnectionError ? e.applied === 'unknown' : isServerError(e) || isTimeout(e)
