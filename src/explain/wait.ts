// A wait, as statuses have it, as a finding: what is waited for, since when, what was observed, and what ends it. Pure.
import { isReason, REASONS } from '#api/catalogue.ts'
import { defined } from '#lib/defined.ts'
import { formatDuration } from '#lib/duration.ts'
import { HOLD_REASONS } from '#permits/holds/names.ts'
import { causeOf, type Finding, notesOf, type Urgency } from './finding.ts'
import { wayOf } from './ways-out.ts'

/** The four parts that every wait has. */
export interface Wait {
  readonly predicate: string
  readonly since?: string
  readonly seen?: string
  readonly unblock?: string
}

export interface Moment {
  /** Undefined: times are written as they are, for a log in which an age would be another line every second. */
  readonly now: number | undefined
  /** What ends the hold of this object; absent where none is known that holds the object itself. */
  readonly holdEnds?: Pick<Finding, 'command'> | undefined
}

/** ` for 4m`, or ` since …` in a log; nothing where the time is not known. */
export function sinceText(stamp: string | undefined, now: number | undefined): string {
  const at = Date.parse(stamp ?? '')
  if (!Number.isFinite(at)) return ''
  return now === undefined ? ` since ${stamp}` : ` for ${formatDuration(Math.max(0, now - at))}`
}

/** What is waited for: what was observed, else what the reason means, since the reason alone is a word for programs. */
export function waitText({ predicate, seen = '' }: Wait): string {
  if (seen !== '') return seen
  const [meaning = ''] = (isReason(predicate) ? REASONS[predicate].doc : predicate).split(';')
  return `${meaning.charAt(0).toLowerCase()}${meaning.slice(1)}`.replace(/\.$/, '')
}

/** For a column: the reason, and what was observed. */
export const waitCell = ({ predicate, seen }: Wait): string =>
  seen === undefined ? predicate : `${predicate}: ${seen}`

/** Failures block until a user or a commit acts; everything else ends when its condition holds. */
const urgencyOf = (predicate: string): Urgency =>
  predicate === 'Progressing' ? 'Progressing' : /(Failed|Blocked|Denied)$/.test(predicate) ? 'Blocked' : 'Waiting'

const TITLES: Readonly<Partial<Record<Urgency, string>>> = { Progressing: 'In progress' }

/** The command that ends a hold. */
export const continues = (line: string): Pick<Finding, 'command'> => ({ command: { line, does: 'continue' } })

/** `word`: the object as people type it. `part`: what of it waits. */
export function waitFinding(wait: Wait, { now, holdEnds }: Moment, word: string, part?: string): Finding {
  const { predicate, since, seen = '', unblock = '' } = wait
  const urgency = urgencyOf(predicate)
  const what = TITLES[urgency] ?? urgency
  const head = part === undefined ? what : `${part}: ${what.toLowerCase()}`
  const at = Date.parse(since ?? '')
  // The explanation of an object does not advise itself.
  const { ends, command } = wayOf({ predicate, unblock }, word)
  const advice = `: kubenode why ${word}`
  const state = ends?.endsWith(advice) === true ? ends.slice(0, -advice.length) : ends
  return {
    text: `${head}${sinceText(since, now)}: ${predicate}`,
    cause: causeOf(word, predicate),
    urgency,
    ...defined({ since: Number.isFinite(at) ? at : undefined }),
    ...(seen !== '' && { below: notesOf([`observed: ${seen}`]) }),
    ...defined({ ends: state, command }),
    ...(HOLD_REASONS.has(predicate) && holdEnds),
  }
}

/** None where nothing is waited for. */
export const waitFindings = (wait: Wait | undefined, moment: Moment, word: string, part?: string): readonly Finding[] =>
  wait === undefined || wait.predicate === '' ? [] : [waitFinding(wait, moment, word, part)]
