// How the server refuses: a Status with the code, reason, message and details that clients of Kubernetes look for.
import { KubeNodeError } from '#lib/errors.ts'
import { aggregateMessage, toCause, type FieldError } from '../schema/field-error.ts'
import type { Status, StatusCause } from '#api/schema/object.ts'
import { apiserverErrors } from '../apiserver-errors.ts'

export interface GroupResource {
  readonly group: string
  readonly plural: string
}
export interface GroupKind {
  readonly group: string
  readonly kind: string
}

/** A request that is refused; carries the whole Status. Thrown anywhere in the pipeline, turned into an answer in one place. */
export class Refusal extends KubeNodeError {
  readonly status: Status
  readonly headers: Readonly<Record<string, string>>

  constructor(
    status: Omit<Status, 'kind' | 'apiVersion' | 'metadata' | 'status'>,
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(apiserverErrors.KN2400_embedded({ why: status.message ?? `status ${status.code}` }))
    this.status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', ...status }
    this.headers = headers
  }
}

const qualified = (r: GroupResource): string => (r.group === '' ? r.plural : `${r.plural}.${r.group}`)
const qualifiedKind = (k: GroupKind): string => (k.group === '' ? k.kind : `${k.kind}.${k.group}`)

/** Empty strings are left out, as Go's omitempty does. */
function resourceDetails(r: GroupResource, name: string): NonNullable<Status['details']> {
  return { ...(name === '' ? {} : { name }), ...(r.group === '' ? {} : { group: r.group }), kind: r.plural }
}

/** About one object; the text has its name and resource in it. */
const ofObject = (
  { code, reason }: Required<Pick<Status, 'code' | 'reason'>>,
  r: GroupResource,
  name: string,
  text: (object: string) => string,
): Refusal =>
  new Refusal({
    message: text(`${qualified(r)} ${JSON.stringify(name)}`),
    reason,
    details: resourceDetails(r, name),
    code,
  })

export const notFound = (r: GroupResource, name: string): Refusal =>
  ofObject({ code: 404, reason: 'NotFound' }, r, name, (object) => `${object} not found`)

/** The path names nothing that is served. */
export const nothingServed = (): Refusal =>
  new Refusal({
    message: 'the server could not find the requested resource',
    reason: 'NotFound',
    details: {},
    code: 404,
  })

export const alreadyExists = (r: GroupResource, name: string): Refusal =>
  ofObject({ code: 409, reason: 'AlreadyExists' }, r, name, (object) => `${object} already exists`)

export const conflict = (r: GroupResource, name: string, why: string): Refusal =>
  ofObject({ code: 409, reason: 'Conflict' }, r, name, (o) => `Operation cannot be fulfilled on ${o}: ${why}`)

export const MODIFIED = 'the object has been modified; please apply your changes to the latest version and try again'

export function invalid(kind: GroupKind, name: string, problems: readonly FieldError[]): Refusal {
  return new Refusal({
    message: `${qualifiedKind(kind)} ${JSON.stringify(name)} is invalid: ${aggregateMessage(problems)}`,
    reason: 'Invalid',
    details: {
      ...(name === '' ? {} : { name }),
      ...(kind.group === '' ? {} : { group: kind.group }),
      ...(kind.kind === '' ? {} : { kind: kind.kind }),
      causes: problems.map(toCause),
    },
    code: 422,
  })
}

export const forbidden = (r: GroupResource, name: string, why: string): Refusal =>
  new Refusal({
    message:
      name === ''
        ? `${qualified(r)} is forbidden: ${why}`
        : `${qualified(r)} ${JSON.stringify(name)} is forbidden: ${why}`,
    reason: 'Forbidden',
    details: resourceDetails(r, name),
    code: 403,
  })

export const forbiddenPath = (message: string): Refusal =>
  new Refusal({ message, reason: 'Forbidden', details: {}, code: 403 })

export const badRequest = (message: string): Refusal => new Refusal({ message, reason: 'BadRequest', code: 400 })

export const unauthorized = (): Refusal => new Refusal({ message: 'Unauthorized', reason: 'Unauthorized', code: 401 })

export const methodNotAllowed = (): Refusal =>
  new Refusal({
    message: 'the server does not allow this method on the requested resource',
    reason: 'MethodNotAllowed',
    details: {},
    code: 405,
  })

export const MEDIA_TYPES = 'application/json, application/yaml, application/vnd.kubernetes.protobuf'

export const notAcceptable = (message = `only the following media types are accepted: ${MEDIA_TYPES}`): Refusal =>
  new Refusal({ message, reason: 'NotAcceptable', code: 406 })

export const unsupportedBody = (): Refusal =>
  new Refusal({
    message: `the body of the request was in an unknown format - accepted media types include: ${MEDIA_TYPES}`,
    reason: 'UnsupportedMediaType',
    code: 415,
  })

export const unsupportedPatch = (custom: boolean): Refusal =>
  custom
    ? new Refusal({
        message: `the body of the request was in an unknown format - accepted media types include: ${CUSTOM_PATCHES}`,
        reason: 'UnsupportedMediaType',
        code: 415,
      })
    : new Refusal({ message: '415: Unsupported Media Type', reason: 'UnsupportedMediaType', details: {}, code: 415 })

const CUSTOM_PATCHES = 'application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml'

/** The server cannot carry out a patch that it understood (a failed test of a JSON patch). */
export const unprocessable = (): Refusal =>
  new Refusal({
    message: 'the server rejected our request due to an error in our request',
    reason: 'Invalid',
    details: {},
    code: 422,
  })

export const tooLarge = (message: string): Refusal =>
  new Refusal({ message, reason: 'RequestEntityTooLarge', code: 413 })

/** A body that no client of this kind sends; its sender is logged. */
export class RefusedBody extends Refusal {}

export const bodyOverLevel = (bytes: number): Refusal =>
  new RefusedBody({
    message: `Request entity too large: limit is ${bytes}`,
    reason: 'RequestEntityTooLarge',
    code: 413,
  })

export const tooManyNodes = (most: number): Refusal =>
  new RefusedBody({
    message: `the request has more than ${most} fields and list items; split it`,
    reason: 'BadRequest',
    code: 400,
  })

export const tooManyUnknown = (most: number): Refusal =>
  new RefusedBody({
    message: `the object has more than ${most} unknown fields; compare it with the schema of its kind`,
    reason: 'BadRequest',
    code: 400,
  })

export const expired = (message: string): Refusal => new Refusal({ message, reason: 'Expired', code: 410 })

export const tooManyRequests = (message: string, seconds: number, causes: readonly StatusCause[] = []): Refusal =>
  new Refusal(
    {
      message,
      reason: 'TooManyRequests',
      ...(causes.length === 0 && seconds === 0
        ? {}
        : {
            details: {
              ...(causes.length === 0 ? {} : { causes }),
              ...(seconds === 0 ? {} : { retryAfterSeconds: seconds }),
            },
          }),
      code: 429,
    },
    seconds === 0 ? {} : { 'retry-after': String(seconds) },
  )

/** The connection is closed after it. */
/** The connection is closed: the rest of the body would come just as slowly. */
export const bodyTooSlow = (): Refusal =>
  new Refusal(
    { message: 'The body of the request arrives too slowly.', reason: 'Timeout', code: 408 },
    { connection: 'close' },
  )

export const tooManyConnections = (): Refusal =>
  new Refusal(
    { message: 'Too many connections of this client, please close some.', reason: 'TooManyRequests', code: 429 },
    { 'retry-after': '1', connection: 'close' },
  )

export const futureVersion = (asked: number, current: number): Refusal =>
  new Refusal(
    {
      message: `Timeout: Too large resource version: ${asked}, current: ${current}`,
      reason: 'Timeout',
      details: {
        causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
        retryAfterSeconds: 1,
      },
      code: 504,
    },
    { 'retry-after': '1' },
  )

/** The real server answers some mistakes of clients so; the recordings show which. */
export const internal = (message: string): Refusal => new Refusal({ message, code: 500 })
export const internalError = (message: string): Refusal =>
  new Refusal({
    message: `Internal error occurred: ${message}`,
    reason: 'InternalError',
    details: { causes: [{ message }] },
    code: 500,
  })
