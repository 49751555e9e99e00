// Runs one render in a cage and returns its answer, or the limit that ended it. The process group is dead when this returns.
import { spawn } from 'node:child_process'
import { Readable } from 'node:stream'
import { CAGE_ENV, userOf, type Cage } from './cage.ts'
import { ANSWER_FD, type RenderRequest } from './protocol.ts'
import { piecesOf } from './request-text.ts'
import { killGroup } from '#lib/kill-group.ts'

export interface CageLimits {
  readonly deadlineMs?: number
  readonly maxAnswerBytes?: number
  readonly maxPrintedBytes?: number
  /** Cancels the render: its answer is no longer needed. */
  readonly signal?: AbortSignal
}

/** A large fleet renders within a second; a loaded machine gets thirty times that. */
export const DEFAULT_DEADLINE_MS = 30_000
/** 50,000 objects of 2 KB, and a little more. */
export const DEFAULT_MAX_ANSWER = 128 * 1024 * 1024
/** Limit of a fleet's output; users never need more. */
export const DEFAULT_MAX_PRINTED = 1024 * 1024
/** How much of it is kept for users. */
const MAX_KEPT = 8 * 1024

export type CagedEnd =
  | { readonly kind: 'Answered'; readonly chunks: readonly Buffer[]; readonly printed: string }
  | { readonly kind: 'Deadline'; readonly deadlineMs: number; readonly printed: string }
  | { readonly kind: 'AnswerTooLarge' | 'PrintedTooMuch'; readonly limit: number; readonly printed: string }
  | { readonly kind: 'OutOfMemory' | 'Superseded'; readonly printed: string }
  | { readonly kind: 'Ended'; readonly how: string; readonly printed: string }

export async function runCaged(cage: Cage, request: RenderRequest, limits: CageLimits = {}): Promise<CagedEnd> {
  const { deadlineMs = DEFAULT_DEADLINE_MS } = limits
  const { file, args, cwd, release, built, cleanUp, ...as } = cage.command(Math.ceil(deadlineMs / 1_000) + 1)
  try {
    const child = spawn(file, args, {
      cwd,
      ...userOf(as),
      env: CAGE_ENV,
      stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
      detached: true,
    })
    let stopped: 'Deadline' | 'AnswerTooLarge' | 'PrintedTooMuch' | 'Superseded' | undefined
    const stop = (why: typeof stopped) => {
      stopped ??= why
      killGroup(child.pid)
    }
    const { maxAnswerBytes = DEFAULT_MAX_ANSWER, maxPrintedBytes = DEFAULT_MAX_PRINTED } = limits
    const answer = gather(child.stdio[ANSWER_FD] as Readable, maxAnswerBytes, () => stop('AnswerTooLarge'))
    const shared = { bytes: 0 }
    const out = gather(child.stdout, maxPrintedBytes, () => stop('PrintedTooMuch'), shared)
    const err = gather(child.stderr, maxPrintedBytes, () => stop('PrintedTooMuch'), shared)
    const timer = setTimeout(() => stop('Deadline'), deadlineMs)
    const supersede = () => stop('Superseded')
    limits.signal?.addEventListener('abort', supersede, { once: true })
    if (limits.signal?.aborted === true) supersede()
    // The process may end before it has read everything.
    child.stdin.on('error', () => undefined)
    Readable.from(piecesOf({ ...request, release, built })).pipe(child.stdin)
    const end = await new Promise<{ code: number | null; signal: string | null; error?: Error }>((resolve) => {
      child.once('error', (error) => resolve({ code: null, signal: null, error }))
      child.once('close', (code, signal) => resolve({ code, signal }))
    })
    clearTimeout(timer)
    limits.signal?.removeEventListener('abort', supersede)
    killGroup(child.pid)
    const errors = err.text(MAX_KEPT)
    const printed = (out.text(MAX_KEPT) + errors).slice(0, MAX_KEPT)
    if (stopped === 'Deadline') return { kind: 'Deadline', deadlineMs, printed }
    if (stopped === 'Superseded') return { kind: stopped, printed }
    if (stopped === 'AnswerTooLarge') return { kind: stopped, limit: maxAnswerBytes, printed }
    if (stopped === 'PrintedTooMuch') return { kind: stopped, limit: maxPrintedBytes, printed }
    const { chunks } = answer
    if (chunks.length > 0 && (end.code === 0 || end.code === 1)) return { kind: 'Answered', chunks, printed }
    if (/heap out of memory|Failed to allocate memory|Allocation failed/i.test(errors))
      return { kind: 'OutOfMemory', printed }
    return { kind: 'Ended', how: howEnded(end), printed }
  } finally {
    cleanUp()
  }
}

function howEnded({ code, signal, error }: { code: number | null; signal: string | null; error?: Error }): string {
  if (error !== undefined) return `could not be started: ${error.message}`
  if (signal !== null) return `was ended by ${signal}`
  if (code === 13) return 'waits for a promise that never resolves'
  return `ended with exit code ${code}; does it call process.exit?`
}

function gather(stream: Readable, limit: number, tooMuch: () => void, count = { bytes: 0 }) {
  const chunks: Buffer[] = []
  stream.on('data', (chunk: Buffer) => {
    count.bytes += chunk.length
    if (count.bytes > limit) return tooMuch()
    chunks.push(chunk)
    return undefined
  })
  stream.on('error', () => undefined)
  return { chunks, text: (max: number) => Buffer.concat(chunks).subarray(0, max).toString('utf8') }
}
