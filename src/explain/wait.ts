// Turns a wait in a status into a finding: what is waited for, since when, what was observed, and what ends it. Pure.
import { isReason, REASONS } from '#api/catalogue.ts'
import { defined } from '#lib/defined.ts'
import { formatDuration } from '#lib/duration.ts'
import { HOLD_REASONS } from '#permits/holds/names.ts'
import { causeOf, type Finding, notesOf, type Urgency } from './finding.ts'
import { wayOf } from './ways-out.ts'

/** The four parts of every wait. */
export interface Wait {
  readonly predicate: string
  readonly since?: string
  readonly seen?: string
  readonly unblock?: string
}

export interface Moment {
  /** Undefined: times are written unchanged, for a log in which an age would be a new line every second. */
  readonly now: number | undefined
  /** The command that ends this object's hold; absent if no hold on the object itself is known. */
  readonly holdEnds?: Pick<Finding, 'command'> | undefined
}

/** ` for 4m`, or ` since …` in a log; empty when the time is unknown. */
export function sinceText(stamp: string | undefined, now: number | undefined): string {
  const at = Date.parse(stamp ?? '')
  if (!Number.isFinite(at)) return ''
  return now === undefined ? ` since ${stamp}` : ` for ${formatDuration(Math.max(0, now - at))}`
}

/** What is waited for: the observation, or else the meaning of the reason, because the reason alone is a word for programs. */
export function waitText({ predicate, seen = '' }: Wait): string {
  if (seen !== '') return seen
  const [meaning = ''] = (isReason(predicate) ? REASONS[predicate].doc : predicate).split(';')
  return `${meaning.charAt(0).toLowerCase()}${meaning.slice(1)}`.replace(/\.$/, '')
}

/** For a column: the reason, and the observation. */
export const waitCell = ({ predicate, seen }: Wait): string =>
  seen === undefined ? predicate : `${predicate}: ${seen}`

/** Failures block until a user or a commit acts; any other wait ends when its condition is met. */
const urgencyOf = (predicate: string): Urgency =>
  predicate === 'Progressing' ? 'Progressing' : /(Failed|Blocked|Denied)$/.test(predicate) ? 'Blocked' : 'Waiting'

const TITLES: Readonly<Partial<Record<Urgency, string>>> = { Progressing: 'In progress' }

/** The command that ends a hold. */
export const continues = (line: string): Pick<Finding, 'command'> => ({ command: { line, does: 'continue' } })

/** `word`: the object as users type it. `part`: the part of it that waits. */
export function waitFinding(wait: Wait, { now, holdEnds }: Moment, word: string, part?: string): Finding {
  const { predicate, since, seen = '', unblock = '' } = wait
  const urgency = urgencyOf(predicate)
  const what = TITLES[urgency] ?? urgency
  const head = part === undefined ? what : `${part}: ${what.toLowerCase()}`
  const at = Date.parse(since ?? '')
  // The explanation of an object must not recommend itself.
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

/** Empty when there is no wait. */
export const waitFindings = (wait: Wait | undefined, moment: Moment, word: string, part?: string): readonly Finding[] =>
  wait === undefined || wait.predicate === '' ? [] : [waitFinding(wait, moment, word, part)]
