// The body of a request: read within a limit, parsed by its media type, with the warnings that a strict client asks for.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock, Timer } from '#lib/clock.ts'
import { isCyclic, isDeeperThan, isObject } from '#lib/json.ts'
import { hasDuplicateKeys, goSyntaxError, scanDuplicates } from '../codec/json-scan.ts'
import { parseJson } from '../codec/json.ts'
import type { HeldBody } from '../flow/gate.ts'
import type { FlowLevel } from '../flow/levels.ts'
import type { Limits } from '../flow/limits.ts'
import { hasMoreNodes, valueHasMoreNodes } from '../codec/json-nodes.ts'
import {
  badRequest,
  bodyOverLevel,
  bodyTooSlow,
  Refusal,
  RefusedBody,
  tooLarge,
  tooManyNodes,
  unsupportedBody,
} from '../status/refusal.ts'

/** As on a real server: 3 MiB. */
const MAX_BODY_BYTES = 3 * 1024 * 1024

/** Each part is an object of its own beside its bytes: a body that comes byte by byte costs most of all. */
const PART_BYTES = 512

const received = new WeakMap<IncomingMessage, Promise<Buffer>>()

export interface BodyBounds {
  /** What has arrived counts for its client, until the answer is sent. */
  readonly held: HeldBody
  readonly charge: (bytes: number) => void
  readonly level: Pick<FlowLevel, 'bodyBytes' | 'bodyNodes'>
  readonly pace: BodyPace
}

/** A body of which less than so much arrives in this time is given up. */
export type BodyPace = Pick<Limits, 'bodyWindowMs' | 'bodyWindowBytes'> & { readonly clock: Pick<Clock, 'after'> }

/**
 * Waits for the body before the request takes a seat: a client that sends it slowly holds a connection, nothing more.
 * Errors in it are reported when a handler asks for it.
 */
export async function receiveBody(
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
  { held, charge, level, pace }: BodyBounds,
): Promise<number> {
  const { bodyBytes } = level
  // before a byte of it is read
  if (bodyBytes < MAX_BODY_BYTES && declaredBytes(request) > bodyBytes) throw bodyOverLevel(bodyBytes)
  response.once('close', () => held.end())
  const body = collectBody(request, bodyBytes, { hold: (bytes) => held.take(bytes), pace })
  received.set(request, body)
  let bytes = 0
  try {
    const text = await body
    bytes = text.length
    if (hasMoreNodes(text, level.bodyNodes)) throw tooManyNodes(level.bodyNodes)
  } catch (e) {
    if (e instanceof RefusedBody || (e instanceof Refusal && AT_ONCE.has(e.status.code))) throw e
  }
  charge(bytes)
  return bytes
}

/** A client that sends slightly too much may finish; one that sends four times as much does so on purpose. */
const MAX_DISCARDED_BYTES = 4 * MAX_BODY_BYTES

/** Data after a refusal is discarded, so that the connection can be reused; a client that does not stop is disconnected. */
export function discardRest(request: IncomingMessage, charge: (bytes: number) => void): void {
  if (request.complete || request.destroyed) return
  let bytes = 0
  request.on('data', (part: Buffer) => {
    bytes += part.length
    charge(part.length)
    if (bytes > MAX_DISCARDED_BYTES) request.socket.destroy()
  })
}

const declaredBytes = ({ headers }: IncomingMessage): number => Number(headers['content-length'] ?? 0)

/** Refused whatever the handler would say: too many bytes are held, or the body came too slowly. */
const AT_ONCE: ReadonlySet<number> = new Set([408, 429])

export const readBody = (request: IncomingMessage): Promise<Buffer> =>
  received.get(request) ?? collectBody(request, MAX_BODY_BYTES)

interface Arrival {
  readonly hold: (bytes: number) => void
  readonly pace: BodyPace
}

function collectBody(request: IncomingMessage, most: number, arrival?: Arrival): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    if (declaredBytes(request) > most) throw bodyTooLarge(most)
    const parts: Buffer[] = []
    let size = 0
    const keepPace =
      arrival &&
      pacing(
        arrival.pace,
        () => size,
        () => refuse(bodyTooSlow()),
      )
    const finish = (act: () => void): void => {
      keepPace?.cancel()
      request.off('data', take).off('end', end).off('close', lost).off('error', lost)
      act()
    }
    const refuse = (e: unknown): void =>
      finish(() => {
        // further data is discarded
        request.resume()
        reject(e)
      })
    const take = (part: Buffer): void => {
      size += part.length
      if (size > most) return refuse(bodyTooLarge(most))
      try {
        arrival?.hold(part.length + PART_BYTES)
      } catch (e) {
        return refuse(e)
      }
      parts.push(part)
    }
    const end = (): void =>
      finish(() => resolve(parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)))
    const lost = (): void => refuse(badRequest('the connection ended before the body'))
    request.on('data', take).once('end', end).once('close', lost).once('error', lost)
  })
}

/** Calls `late` once less than enough has arrived in a window. */
function pacing({ clock, bodyWindowMs, bodyWindowBytes }: BodyPace, size: () => number, late: () => void): Timer {
  let before = 0
  let isOver = false
  let timer: Timer
  // what arrived while the server was busy is read first
  const look = (): void =>
    void setImmediate(() => {
      if (isOver) return
      if (size() - before < bodyWindowBytes) return late()
      before = size()
      timer = clock.after(bodyWindowMs, look)
    })
  timer = clock.after(bodyWindowMs, look)
  return {
    cancel: () => {
      isOver = true
      timer.cancel()
    },
  }
}

const bodyTooLarge = (most: number): Refusal =>
  most < MAX_BODY_BYTES ? bodyOverLevel(most) : tooLarge(`Request entity too large: limit is ${most}`)

interface ReadValue {
  readonly value: unknown
  readonly duplicates: readonly string[]
}

const PARAMETERS = /^\s*(?:;\s*[!#$%&'*+.^_`|~\w-]+=(?:[!#$%&'*+.^_`|~\w-]+|"(?:[^"\\]|\\.)*")\s*)*(?:;\s*)?$/

/** Clients send some dozens; parsing time grows with their square. */
const MAX_MEDIA_TYPE_CHARS = 1_024

/** Without its parameters, which must be valid all the same; an invalid type is unknown. */
export function mediaType(request: IncomingMessage): string {
  const header = request.headers['content-type'] ?? ''
  const end = header.indexOf(';')
  if (end < 0 || header.length > MAX_MEDIA_TYPE_CHARS) return header.trim().toLowerCase()
  return PARAMETERS.test(header.slice(end)) ? header.slice(0, end).trim().toLowerCase() : header
}

export interface ReadObject {
  readonly value: Record<string, unknown> | null
  readonly duplicates: readonly string[]
}

/** The body of a request whose client may send this much YAML. */
export const readSent = async (
  { request, level }: { readonly request: IncomingMessage; readonly level: Pick<FlowLevel, 'yamlBytes'> },
  typeName: string,
): Promise<ReadObject> => readValue(await readBody(request), mediaType(request), typeName, level.yamlBytes)

export async function readValue(
  body: Buffer,
  media: string,
  typeName: string | undefined,
  yamlBytes = MAX_YAML,
): Promise<ReadObject> {
  switch (media) {
    case '':
    case 'application/json':
      return fromJson(body.toString('utf8'), typeName)
    case 'application/yaml':
      return fromYaml(body.toString('utf8'), typeName, yamlBytes)
    case 'application/vnd.kubernetes.protobuf':
      return fromProtobuf(body)
    default:
      throw unsupportedBody()
  }
}

function fromJson(text: string, typeName: string | undefined): ReadObject {
  let value: unknown
  try {
    value = parseJson(text)
  } catch (e) {
    if (e instanceof SyntaxError) throw unrecognized(typeName, goSyntaxError(text) ?? e.message, text)
    throw e
  }
  if (value !== null && !isObject(value)) {
    const what = Array.isArray(value)
      ? 'array'
      : typeof value === 'boolean'
        ? 'bool'
        : typeof value === 'bigint'
          ? 'number'
          : typeof value
    const go =
      'Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
    throw unrecognized(typeName, `json: cannot unmarshal ${what} into ${go}`, text)
  }
  if (isDeeperThan(value)) throw badRequest('the object is nested too deeply')
  if (!hasDuplicateKeys(text, value)) return { value, duplicates: [] }
  const scanned = scanDuplicates(text, parseJson)
  return { value: isObject(scanned.value) ? scanned.value : null, duplicates: scanned.duplicates }
}

/** Text is shown when it looks like an object, bytes otherwise. */
function unrecognized(typeName: string | undefined, error: string, text: string): Error {
  const problem = `couldn't get version/kind; json parse error: ${error}`
  if (typeName === undefined) return badRequest(problem)
  const shown =
    text === '' ? '<empty>' : text.trimStart().startsWith('{') ? shortened(text) : Buffer.from(text).toString('hex')
  return badRequest(`${unlike(typeName)}${problem} (${shown})`)
}

const unlike = (typeName: string | undefined): string =>
  typeName === undefined ? '' : `the object provided is unrecognized (must be of type ${typeName}): `

const SHOWN_CHARACTERS = 30
const shortened = (text: string): string =>
  text.length <= SHOWN_CHARACTERS ? text : `${text.slice(0, SHOWN_CHARACTERS)} ...`

/** Loaded when the first such body comes. */
async function fromProtobuf(body: Buffer): Promise<ReadObject> {
  const { decodeProtobuf, ProtobufError } = await import('../codec/protobuf.ts')
  try {
    const value = decodeProtobuf(body)
    if (valueHasMoreNodes(value, MAX_NODES)) throw tooManyNodes(MAX_NODES)
    return { value, duplicates: [] }
  } catch (e) {
    if (e instanceof ProtobufError || e instanceof SyntaxError) throw badRequest(e.message)
    throw e
  }
}

async function fromYaml(text: string, typeName: string | undefined, yamlBytes: number): Promise<ReadObject> {
  const { value, duplicates, error } = await parseYaml(text, yamlBytes)
  if (error !== undefined) throw badRequest(`${unlike(typeName)}${error}`)
  if (value !== null && !isObject(value)) throw unrecognized(typeName, 'not an object', text)
  return { value, duplicates }
}

/** Reading a megabyte of YAML can take a second in which no other request is answered; JSON takes milliseconds. */
const MAX_YAML = 1024 * 1024
/** Formats other than JSON can only be counted afterwards. */
const MAX_NODES = 100_000
/** Each alias counts for all it refers to. */
const MAX_ALIASES = 100

export interface ParsedYaml extends ReadValue {
  readonly error: string | undefined
}

/** Undefined when only YAML can read it, or nothing. */
function jsonOrUndefined(text: string): unknown {
  try {
    return parseJson(text)
  } catch (e) {
    if (e instanceof SyntaxError) return undefined
    throw e
  }
}

/** The first document; the library is loaded when the first YAML comes. Most clients write JSON, which YAML contains and which is read thirty times faster. */
export async function parseYaml(text: string, most = MAX_YAML): Promise<ParsedYaml> {
  const json = text.startsWith('{') ? jsonOrUndefined(text) : undefined
  if (isDeeperThan(json)) return { value: null, duplicates: [], error: 'the object is nested too deeply' }
  if (json !== undefined) return { value: json, duplicates: [], error: undefined }
  if (text.length > most)
    throw tooLarge(`Request entity too large: limit of YAML is ${most}, of JSON ${MAX_BODY_BYTES}`)
  const { LineCounter, parseDocument } = await import('yaml')
  const lineCounter = new LineCounter()
  // Pretty errors quote the text: for each of a hundred thousand errors the parser would look through all of it.
  const options = { uniqueKeys: false, strict: false, version: '1.1', merge: true, prettyErrors: false } as const
  const document = parseDocument(text, { ...options, lineCounter })
  // of several documents the first is used
  const problem = document.errors.find((e) => e.code !== 'MULTIPLE_DOCS')
  if (problem !== undefined) {
    const { line } = lineCounter.linePos(problem.pos[0])
    return {
      value: null,
      duplicates: [],
      error: `yaml: line ${line}: did not find expected node content`,
    }
  }
  try {
    const value: unknown = document.toJS({ maxAliasCount: MAX_ALIASES })
    if (isCyclic(value)) return { value: null, duplicates: [], error: 'yaml: an anchor contains itself' }
    if (valueHasMoreNodes(value, MAX_NODES)) throw tooManyNodes(MAX_NODES)
    if (isDeeperThan(value)) return { value: null, duplicates: [], error: 'the object is nested too deeply' }
    return { value: value === undefined ? null : value, duplicates: [], error: undefined }
  } catch (e) {
    // a few bytes of nested aliases can expand to gigabytes
    if (!(e instanceof ReferenceError)) throw e
    return { value: null, duplicates: [], error: 'yaml: document contains excessive aliasing' }
  }
}
