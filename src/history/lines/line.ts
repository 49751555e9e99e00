// The export format of a history: JSON lines in the order of observation, for files, pipes, samples in a repository and replays.
import { type Subject } from '../store/names.ts'
import type { DeedLine } from '../deeds/chain.ts'
import { GAP_REASONS, type GapReason } from '../store/writer.ts'
import { isText } from '#lib/fields.ts'
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
const maybe = (v: unknown, is: (v: unknown) => boolean): boolean => v === undefined || is(v)

const CHECKS: Readonly<Record<string, Check>> = {
  head: (v) => v['format'] === EXPORT_FORMAT && isText(v['cluster']) && isNumber(v['from']) && isNumber(v['to']),
  subject: (v) => isNumber(v['id']) && ['kind', 'namespace', 'name', 'uid'].every((key) => isText(v[key])),
  row: (v) =>
    isNumber(v['observed']) &&
    isNumber(v['subject']) &&
    isText(v['topic']) &&
    maybe(v['reported'], isNumber) &&
    maybe(v['value'], isText),
  gap: (v) => isNumber(v['starts']) && maybe(v['ends'], isNumber) && Object.hasOwn(GAP_REASONS, String(v['why'])),
  deed: (v) =>
    isObject(v['deed']) && isNumber(v['deed']['n']) && isNumber(v['deed']['observed']) && isText(v['deed']['who']),
}
