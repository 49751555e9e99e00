// The export format of a history: JSON lines in the order of observation, for files, pipes, samples in a repository and replays.
import { type Subject } from '../store/names.ts'
import type { DeedLine } from '../deeds/chain.ts'
import { GAP_REASONS, type GapReason } from '../store/writer.ts'
import { fieldsOf, isText } from '#lib/fields.ts'
import { isObject } from '#lib/json.ts'

export const EXPORT_FORMAT = 'kubenode-history/1'

/** The first line of each cluster in an export. */
interface HeadLine {
  readonly line: 'head'
  readonly format: typeof EXPORT_FORMAT
  readonly cluster: string
  readonly from: number
  readonly to: number
  /** Names of machines, nodes and people are replaced. */
  readonly isRedacted: boolean
  /** Contains only incidents and some nodes without one. */
  readonly isSample: boolean
}

/** An object, before its first row. */
interface SubjectLine extends Subject {
  readonly line: 'subject'
}

/** A changed fact; at the start, a fact known before. */
export interface RowLine {
  readonly line: 'row'
  readonly observed: number
  readonly reported?: number
  readonly subject: number
  readonly topic: string
  /** JSON text as stored; absent if the fact ended. */
  readonly value?: string
}

export interface GapLine {
  readonly line: 'gap'
  readonly starts: number
  readonly ends?: number
  readonly why: GapReason
  readonly kind?: string
  readonly subject?: number
}

interface DeedOfLine {
  readonly line: 'deed'
  readonly deed: DeedLine
}

export type HistoryLine = HeadLine | SubjectLine | RowLine | GapLine | DeedOfLine

/** Undefined if the text is not a valid line. */
export function parsedLine(text: string): HistoryLine | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isObject(value)) return undefined
  const check = CHECKS[String(value['line'])]
  return check?.(value) === true ? (value as unknown as HistoryLine) : undefined
}

type Check = (v: Readonly<Record<string, unknown>>) => boolean
const isNumber = (v: unknown): boolean => typeof v === 'number' && Number.isFinite(v)
/** In the year 2223. A row is found by a multiple of its time, which must be an exact number. */
const MAX_MOMENT = 8e12
const isMoment = (v: unknown): boolean => typeof v === 'number' && v >= 0 && v <= MAX_MOMENT
/** An import writes to a file of this name. */
const FILE_NAME = /^[^./\\\p{Cc}][^/\\\p{Cc}]{0,199}$/u
const isFileName = (v: unknown): boolean => isText(v) && FILE_NAME.test(v)

function isJson(v: unknown): boolean {
  if (!isText(v)) return false
  try {
    JSON.parse(v)
    return true
  } catch {
    return false
  }
}

const maybe = (v: unknown, is: (v: unknown) => boolean): boolean => v === undefined || is(v)

const CHECKS: Readonly<Record<string, Check>> = {
  head: (v) => v['format'] === EXPORT_FORMAT && isFileName(v['cluster']) && isMoment(v['from']) && isMoment(v['to']),
  subject: (v) => isNumber(v['id']) && ['kind', 'namespace', 'name', 'uid'].every((key) => isText(v[key])),
  row: (v) =>
    isMoment(v['observed']) &&
    isNumber(v['subject']) &&
    isText(v['topic']) &&
    maybe(v['reported'], isNumber) &&
    maybe(v['value'], isJson),
  gap: (v) => isMoment(v['starts']) && maybe(v['ends'], isMoment) && Object.hasOwn(GAP_REASONS, String(v['why'])),
  deed: (v) =>
    isObject(v['deed']) &&
    isNumber(v['deed']['n']) &&
    isMoment(v['deed']['observed']) &&
    ['who', 'did', 'object'].every((key) => isText(fieldsOf(v['deed'])[key])),
}
