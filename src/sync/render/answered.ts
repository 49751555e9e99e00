// Turns the end of a caged run into its answer, or into the error that names the exceeded limit. Reads line by line, so that other work gets a turn.
import { KubeNodeError, assertNever } from '#lib/errors.ts'
import { isObject } from '#lib/json.ts'
import { printableLine } from '#lib/printable.ts'
import { atOnce } from '#lib/slices.ts'
import {
  MAX_FIELDS,
  MAX_FIELDS_IN_ALL,
  MAX_LINE_BYTES,
  MAX_LINES,
  fieldsIn,
  linesOf,
  memoryOf,
} from './answer-lines.ts'
import type { CagedEnd } from './run-caged.ts'
import { syncErrors } from '../sync-errors.ts'

/** Made by fleet code: every value may be missing or have another type. */
export interface UncheckedAnswer {
  readonly clusters: ReadonlyMap<string, readonly unknown[]>
  /** By object: the fleet line that made it, as the fleet claims. */
  readonly madeAt: ReadonlyMap<unknown, unknown>
  readonly modules: ReadonlyMap<string, unknown>
  /** The run failed, regardless of its other output. */
  readonly error?: unknown
  /** Approximate bytes in memory. */
  readonly memory: number
}

export interface AnsweredRun {
  readonly answer: UncheckedAnswer
  readonly printed: string
}

/** `what` failed, for example `render commit 3f1c9e0a7b5d`. */
export const answered = (end: CagedEnd, what: string): AnsweredRun => atOnce(answering(end, what))

/** Like `answered`, one line at a time. */
export function* answering(end: CagedEnd, what: string): Generator<void, AnsweredRun> {
  switch (end.kind) {
    case 'Answered':
      return { answer: yield* answerIn(end.chunks, what), printed: end.printed }
    case 'Deadline':
      throw new KubeNodeError(syncErrors.KN7104({ what, deadlineMs: end.deadlineMs }))
    case 'PrintedTooMuch':
      throw new KubeNodeError(syncErrors.KN7105({ what, limit: end.limit }))
    case 'AnswerTooLarge':
      throw new KubeNodeError(syncErrors.KN7114({ what, limit: end.limit }))
    case 'OutOfMemory':
      throw new KubeNodeError(syncErrors.KN7114_memory({ what }))
    case 'Superseded':
      throw new KubeNodeError(syncErrors.KN3001_newer({ what }))
    case 'Ended':
      throw new KubeNodeError(syncErrors.KN7106({ what, how: `${end.how}${lastLine(end.printed)}` }))
    default:
      return assertNever(end)
  }
}

const lastLine = (printed: string): string => {
  const line = printed.trim().split('\n').at(-1) ?? ''
  return line === '' ? '' : `; output: ${line.slice(0, 300)}`
}

function* answerIn(chunks: readonly Buffer[], what: string): Generator<void, UncheckedAnswer> {
  const reading = new Reading(what)
  for (const line of linesOf(chunks)) {
    if (line === 'TooLong') throw reading.tooMuch(`${MAX_LINE_BYTES} bytes`)
    if (line === 'Unfinished') throw reading.malformed('does not end')
    if (line !== undefined) reading.take(line.bytes)
    yield
  }
  return reading.finished()
}

/** Fields of the line itself: the object, and its place. */
const FIELDS_OF_LINE = 2
const MAX_SHOWN_CHARS = 80

class Reading {
  readonly #what: string
  readonly #clusters = new Map<string, unknown[]>()
  readonly #modules = new Map<string, unknown>()
  readonly #madeAt = new Map<unknown, unknown>()
  #last: { readonly target: string; readonly objects: unknown[] } | undefined
  #lines = 0
  #fields = 0
  #bytes = 0
  #ended: { readonly error?: unknown } | undefined

  constructor(what: string) {
    this.#what = what
  }

  take(bytes: Buffer): void {
    if (this.#ended !== undefined) throw this.malformed('comes after the end')
    if (this.#lines >= MAX_LINES)
      throw new KubeNodeError(
        syncErrors.KN7114_count({ what: this.#what, seen: 'its output', limit: `${MAX_LINES} lines` }),
      )
    this.#count(bytes)
    this.#add(this.#parsed(bytes))
    this.#lines++
  }

  #count(bytes: Buffer): void {
    const most = MAX_FIELDS + FIELDS_OF_LINE
    const fields = fieldsIn(bytes, most)
    if (fields > most) throw this.tooMuch(`${MAX_FIELDS} fields and list items`)
    this.#fields += fields
    this.#bytes += bytes.length
    if (this.#fields > MAX_FIELDS_IN_ALL) {
      const limit = `${MAX_FIELDS_IN_ALL} fields and list items`
      throw new KubeNodeError(syncErrors.KN7114_count({ what: this.#what, seen: 'its output', limit }))
    }
  }

  #parsed(bytes: Buffer): Record<string, unknown> {
    let value: unknown
    try {
      value = JSON.parse(bytes.toString('utf8'))
    } catch (cause) {
      throw this.malformed('is not JSON', cause)
    }
    if (!isObject(value)) throw this.malformed('is not an object')
    return value
  }

  #add(line: Record<string, unknown>): void {
    const { target, module, end } = line
    if ('object' in line && this.#last !== undefined) {
      this.#last.objects.push(line['object'])
      if (isObject(line['object'])) this.#madeAt.set(line['object'], line['at'])
    } else if (typeof target === 'string') {
      if (this.#clusters.has(target)) throw this.#twice('cluster', target)
      this.#last = { target, objects: [] }
      this.#clusters.set(target, this.#last.objects)
    } else if (typeof module === 'string') {
      if (this.#modules.has(module)) throw this.#twice('module', module)
      this.#modules.set(module, line['loaded'])
    } else if ('error' in line) this.#ended = { error: line['error'] }
    else if (end === this.#lines) this.#ended = {}
    else throw this.malformed('is none that a render writes')
  }

  finished(): UncheckedAnswer {
    if (this.#ended === undefined) throw this.malformed('is missing')
    const memory = memoryOf(this.#bytes, this.#fields)
    return { clusters: this.#clusters, madeAt: this.#madeAt, modules: this.#modules, memory, ...this.#ended }
  }

  malformed(problem: string, cause?: unknown): KubeNodeError {
    const options = cause === undefined ? {} : { cause }
    return new KubeNodeError(syncErrors.KN7105_line({ what: this.#what, line: this.#lines + 1, problem }), options)
  }

  tooMuch(limit: string): KubeNodeError {
    const { target, objects } = this.#last ?? {}
    const seen =
      target === undefined || objects === undefined
        ? `line ${this.#lines + 1} of its output`
        : `object ${objects.length + 1} of ${shown(target)}`
    return new KubeNodeError(syncErrors.KN7114_count({ what: this.#what, seen, limit }))
  }

  #twice(kind: string, name: string): KubeNodeError {
    return new KubeNodeError(syncErrors.KN7105_twice({ what: this.#what, kind, name: shown(name) }))
  }
}

const shown = (name: string): string => printableLine(name.slice(0, MAX_SHOWN_CHARS))
