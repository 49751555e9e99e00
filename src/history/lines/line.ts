// The export format of a history: JSON lines in the order of observation, for files, pipes, samples in a repository and replays.
import { type Subject } from '../store/names.ts'
import type { DeedLine } from '../deeds/chain.ts'
import { GAP_REASONS, type GapReason } from '../store/writer.ts'
import { fieldsOf, isText } from '#lib/fields.ts'
import { canonicalJson, isDeeperThan, isObject } from '#lib/json.ts'
import { shownJsonLine, withoutUnseen } from '#lib/printable.ts'

export const EXPORT_FORMAT = 'kubenode-history/2'
/** In it the value of a row is a text with JSON in it. */
const FORMAT_WITH_TEXTS = 'kubenode-history/1'
const FORMATS: ReadonlySet<unknown> = new Set([EXPORT_FORMAT, FORMAT_WITH_TEXTS])
/** An object of Kubernetes nests less deeply. */
const MAX_DEPTH = 64

/** The first line of each cluster in an export. */
interface HeadLine {
  readonly line: 'head'
  readonly format: typeof EXPORT_FORMAT | typeof FORMAT_WITH_TEXTS
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
  /** Canonical JSON, as stored. In the line it is the value itself. Absent if the fact ended. */
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

/** One line of JSON in which the value of a row is data, not a text. */
export function lineText(line: HistoryLine): string {
  if (line.line !== 'row' || line.value === undefined) return shownJsonLine(line)
  const { value, ...rest } = line
  return `${shownJsonLine(rest).slice(0, -1)},"value":${withoutUnseen(value)}}`
}

/** Undefined if the text is not a valid line. `isOld` is of a file in which values are texts. */
export function parsedLine(text: string, isOld = false): HistoryLine | undefined {
  let line: unknown
  try {
    line = JSON.parse(text)
  } catch {
    return undefined
  }
  // Before anything walks it.
  if (!isObject(line) || isDeeperThan(line, MAX_DEPTH)) return undefined
  const kind = line['line']
  if (!isText(kind) || !Object.hasOwn(CHECKS, kind) || CHECKS[kind]?.(line) !== true) return undefined
  if (line['line'] !== 'row' || !Object.hasOwn(line, 'value')) return line as unknown as HistoryLine
  if (isOld) return isJson(line['value']) ? (line as unknown as RowLine) : undefined
  return { ...line, value: canonicalJson(line['value']) } as unknown as RowLine
}

export const hasTexts = (head: HistoryLine): boolean => head.line === 'head' && head.format === FORMAT_WITH_TEXTS

/** The format in a first line that this version does not know. */
export function unknownFormat(text: string): string | undefined {
  const found = /^\{"line":"head","format":"(kubenode-history\/[\w.]{1,20})"/.exec(text)?.[1]
  return FORMATS.has(found) ? undefined : found
}

type Check = (v: Readonly<Record<string, unknown>>) => boolean
const isNumber = (v: unknown): boolean => typeof v === 'number' && Number.isFinite(v)
/** In the year 2223. A row is found by a multiple of its time, which must be an exact number. */
const MAX_MOMENT = 8e12
const isMoment = (v: unknown): boolean => isWhole(v) && Number(v) <= MAX_MOMENT
/** The file has it as an integer. */
const isWhole = (v: unknown): boolean => Number.isSafeInteger(v) && Number(v) >= 0
/** Of another clock, so of any year that a date may have. */
const isReported = (v: unknown): boolean => typeof v === 'number' && Math.abs(v) <= MAX_DATE
const MAX_DATE = 8.64e15
/** As in Kubernetes, where no name has a line break. */
const isName = (v: unknown): boolean => isText(v) && !/\p{Cc}/u.test(v)
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
  head: (v) => FORMATS.has(v['format']) && isFileName(v['cluster']) && isMoment(v['from']) && isMoment(v['to']),
  subject: (v) => isNumber(v['id']) && ['kind', 'namespace', 'name', 'uid'].every((key) => isName(v[key])),
  row: (v) =>
    isMoment(v['observed']) && isNumber(v['subject']) && isText(v['topic']) && maybe(v['reported'], isReported),
  gap: (v) =>
    isMoment(v['starts']) &&
    maybe(v['ends'], isMoment) &&
    maybe(v['kind'], isText) &&
    maybe(v['subject'], isNumber) &&
    Object.hasOwn(GAP_REASONS, String(v['why'])),
  deed: (v) =>
    isObject(v['deed']) &&
    isWhole(v['deed']['n']) &&
    isMoment(v['deed']['observed']) &&
    maybe(v['deed']['what'], isText) &&
    ['who', 'did', 'object'].every((key) => isText(fieldsOf(v['deed'])[key])),
}
