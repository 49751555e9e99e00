// How a Job writes its result as lines to its pod's log, and how the lines are found again in a log that may be cut at either end, or contain other
// lines. Only the program around the fleet code writes there: the code's own output is part of the result.
import { sha256Hex } from '#lib/sha256.ts'

/** Below the 16 KiB at which container runtimes split lines. */
const LINE_BYTES = 6 * 1024
/** Kubelets start a new file at 10 MiB and return only the newest one. As base64 lines, each with a timestamp, this is 8.2 MiB. */
export const MAX_RESULT_BYTES = 6 * 1024 * 1024
/** Limit of a log; larger than the lines of the largest result. */
export const MAX_LOG_BYTES = 9 * 1024 * 1024

const headOf = (run: string): string => `kubenode-render ${run}`

/** A line with the length and the digest, then numbered lines with the bytes, then an end line. */
export function* linesOfResult(run: string, result: Buffer): Generator<string> {
  const head = headOf(run)
  yield `${head} begin ${result.length} ${sha256Hex(result)}\n`
  let number = 0
  for (let at = 0; at < result.length; at += LINE_BYTES)
    yield `${head} ${number++} ${result.subarray(at, at + LINE_BYTES).toString('base64')}\n`
  yield `${head} end\n`
}

export type LoggedResult =
  | { readonly kind: 'Whole'; readonly result: Buffer }
  /** `Nothing`: no line belongs to this run. `Cut`: lines are missing. `Damaged`: they do not match what was written. */
  | { readonly kind: 'Nothing' | 'Cut' | 'Damaged' }

const BEGIN = /^begin (\d{1,9}) ([0-9a-f]{64})$/
const PART = /^(\d{1,9}) ([A-Za-z0-9+/]+={0,2})$/

export function resultIn(run: string, log: string): LoggedResult {
  const head = `${headOf(run)} `
  const own = log.split('\n').flatMap((line) => (line.startsWith(head) ? [line.slice(head.length).trimEnd()] : []))
  if (own.length === 0) return { kind: 'Nothing' }
  const begin = BEGIN.exec(own[0] ?? '')
  if (begin === null || own.at(-1) !== 'end') return { kind: 'Cut' }
  const [, length = '', digest] = begin
  if (Number(length) > MAX_RESULT_BYTES) return { kind: 'Damaged' }
  const parts = own.slice(1, -1).map((line) => PART.exec(line))
  if (parts.length !== Math.ceil(Number(length) / LINE_BYTES)) return { kind: 'Cut' }
  if (parts.some((part, i) => part === null || Number(part[1]) !== i)) return { kind: 'Damaged' }
  const result = Buffer.concat(parts.map((part) => Buffer.from(part?.[2] ?? '', 'base64')))
  return result.length === Number(length) && sha256Hex(result) === digest
    ? { kind: 'Whole', result }
    : { kind: 'Damaged' }
}
