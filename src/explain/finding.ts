// A finding: what was found, why, since when, what ends it, and what a user types first. Terminals, pages, notifications and programs all render this form. Pure.

import { defined } from '#lib/defined.ts'
import { withReadableTimes } from './readable-times.ts'

/** Most urgent first. Without its programs nothing continues; a blocked object does not recover by itself; a waiting one may; a progressing one does. */
export const URGENCIES = ['Stopped', 'Blocked', 'Failed', 'Waiting', 'Progressing'] as const
export type Urgency = (typeof URGENCIES)[number]

export interface Finding {
  /** What was found, and why. */
  readonly text: string
  /** Equal for the same cause, whatever the words, object or interface; in a fleet it starts with the cluster. Absent: it explains another finding. */
  readonly cause?: string
  /** Absent: it is an explanation, and needs no action. */
  readonly urgency?: Urgency
  /** Milliseconds since 1970. */
  readonly since?: number
  /** The state that ends it. */
  readonly ends?: string
  readonly command?: Typed
  /** The page about it, if no command is known. */
  readonly runbook?: string
  readonly below?: readonly Finding[]
}

/** A command line to type. */
interface Typed {
  readonly line: string
  /** What the command does; omitted when it ends the finding. */
  readonly does?: string
}

/** What ends a finding: a state that must be reached, or a command. */
export type WayOn = Pick<Finding, 'ends' | 'command'>

/** The whole explanation of one object. */
export interface Story extends Finding {
  /** The object as users type it. */
  readonly object: string
}

export const linesOf = (finding: Finding): readonly string[] => [
  withReadableTimes(finding.text),
  ...[...(finding.below ?? []).flatMap(linesOf), ...endLines(finding)].map((line) => `  ${line}`),
]

/** The object first, its findings without indentation, and last the next command for the object as a whole. No advice is repeated. */
export function storyLines(story: Story): readonly string[] {
  const { text, below = [], ...way } = adviceOnce(story)
  return [withReadableTimes(text), ...below.flatMap(linesOf), ...endLines(way)]
}

export function endLines({ ends, command }: WayOn): readonly string[] {
  return [
    ...(ends === undefined ? [] : [`unblocks when: ${withReadableTimes(ends)}`]),
    ...(command === undefined ? [] : [`to ${command.does ?? 'unblock'}: ${command.line}`]),
  ]
}

/** The command that ends it. One beside a state only shows more. */
export const actionOf = ({ ends, command }: WayOn): string | undefined =>
  ends !== undefined && command?.does !== undefined ? undefined : command?.line

/** The wait does not end by itself: its sentence names who must act, and how. */
export const isForPeople = (ends: string): boolean => /^a (?:commit|person) /.test(ends)

/** The same without advice that stands further up: several parts of an object often wait for the same person or command. */
export function adviceOnce(finding: Finding, given = new Set<string>()): Finding {
  const below = finding.below?.map((each) => adviceOnce(each, given))
  const isNew = (advice: string): boolean => !given.has(advice) && given.add(advice).has(advice)
  const { ends, command, ...rest } = finding
  return {
    ...rest,
    ...defined({ below }),
    ...(ends !== undefined && (!isForPeople(ends) || isNew(ends)) && { ends }),
    ...(command !== undefined && isNew(command.line) && { command }),
  }
}

/** Applies a function to each of its texts. */
export const rewritten = <F extends Finding>(finding: F, by: (text: string) => string): F => ({
  ...finding,
  text: by(finding.text),
  ...(finding.ends !== undefined && { ends: by(finding.ends) }),
  ...(finding.command !== undefined && { command: { ...finding.command, line: by(finding.command.line) } }),
  ...(finding.below !== undefined && { below: finding.below.map((each) => rewritten(each, by)) }),
})

/** Texts that need no action. */
export const notesOf = (texts: readonly string[]): readonly Finding[] => texts.map((text) => ({ text }))

/** The finding and everything below it. */
export const allOf = (finding: Finding): readonly Finding[] => [finding, ...(finding.below ?? []).flatMap(allOf)]

/** The cause for one object: the object as users type it, and the reason. */
export const causeOf = (word: string, reason: string): string => `${word}/${reason}`
