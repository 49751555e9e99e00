// A Job's input and output as compressed bytes: the request with its limits, and how the run ended. Both are read with a limit on the unpacked size.
import { promisify } from 'node:util'
import { createGzip, gunzip, gzip } from 'node:zlib'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { isObject } from '#lib/json.ts'
import type { RenderRequest } from '../protocol.ts'
import { piecesOf } from '../request-text.ts'
import type { CagedEnd, CageLimits } from '../run-caged.ts'

type JobLimits = Required<Pick<CageLimits, 'deadlineMs' | 'maxAnswerBytes' | 'maxPrintedBytes'>>

export interface JobInput {
  /** Identifies the render in the log lines. */
  readonly run: string
  readonly limits: JobLimits
  readonly request: RenderRequest
}

/** Four times the limit of a repository's fleet files. */
const MAX_REQUEST_BYTES = 256 * 1024 * 1024
/** One line; most of it is the start of the fleet's output. */
const MAX_HEAD_BYTES = 64 * 1024
const NEWLINE = 10

const compress = promisify(gzip)
const decompress = promisify(gunzip)

export const packInput = (input: JobInput): Promise<Buffer> =>
  buffer(Readable.from(inputText(input)).pipe(createGzip()))

function* inputText({ run, limits, request }: JobInput): Generator<string> {
  yield `{"run":${JSON.stringify(run)},"limits":${JSON.stringify(limits)},"request":`
  yield* piecesOf(request)
  yield '}'
}

/** sync wrote it, so its form is not checked. */
export const unpackInput = async (packed: Buffer): Promise<JobInput> =>
  JSON.parse((await decompress(packed, { maxOutputLength: MAX_REQUEST_BYTES })).toString('utf8')) as JobInput

export interface JobEnd {
  /** The version of the program that ran in the Job. */
  readonly version: string
  readonly end: CagedEnd | PackedTooLarge
}

/** The answer is within its limit, but too large for a log. */
interface PackedTooLarge {
  readonly kind: 'PackedTooLarge'
  readonly bytes: number
  readonly limit: number
  readonly printed: string
}

/** The answer follows its head unchanged: nothing in it can be mistaken for the head. */
export function packEnd({ version, end }: JobEnd): Promise<Buffer> {
  const { chunks, ...head } = end.kind === 'Answered' ? end : { ...end, chunks: [] }
  return compress(Buffer.concat([Buffer.from(`${JSON.stringify({ version, ...head })}\n`), ...chunks]))
}

/** If it cannot be used, returns a text with the reason. */
export async function unpackEnd(packed: Buffer, maxAnswerBytes: number): Promise<JobEnd | string> {
  const maxOutputLength = maxAnswerBytes + MAX_HEAD_BYTES
  const bytes = await decompress(packed, { maxOutputLength }).catch((error: unknown) => reasonOf(error))
  if (typeof bytes === 'string') return bytes
  const newline = bytes.subarray(0, MAX_HEAD_BYTES).indexOf(NEWLINE)
  if (newline === -1) return 'has no head'
  const head = parsed(bytes.subarray(0, newline).toString('utf8'))
  const end = isObject(head) ? endOf(head, bytes.subarray(newline + 1)) : undefined
  if (!isObject(head) || end === undefined || typeof head['version'] !== 'string') return 'has a head of another form'
  return { version: head['version'], end }
}

const reasonOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE'
    ? 'unpacks to more than it may'
    : 'does not unpack'

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function endOf(head: Readonly<Record<string, unknown>>, answer: Buffer): JobEnd['end'] | undefined {
  const { kind, printed, deadlineMs, limit, bytes, how } = head
  if (typeof printed !== 'string') return undefined
  switch (kind) {
    case 'Answered':
      return { kind, chunks: [answer], printed }
    case 'Deadline':
      return typeof deadlineMs === 'number' ? { kind, deadlineMs, printed } : undefined
    case 'AnswerTooLarge':
    case 'PrintedTooMuch':
      return typeof limit === 'number' ? { kind, limit, printed } : undefined
    case 'PackedTooLarge':
      return typeof limit === 'number' && typeof bytes === 'number' ? { kind, bytes, limit, printed } : undefined
    case 'OutOfMemory':
      return { kind, printed }
    case 'Ended':
      return typeof how === 'string' ? { kind, how, printed } : undefined
    default:
      return undefined
  }
}
