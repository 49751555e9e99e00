// A finding: what was found, why, since when, what ends it, and what a person types first. One form that terminals, pages, notifications and programs draw. Pure.

/** What comes first: without its programs nothing continues, what is blocked does not end by itself, what waits may, what progresses does. */
export const URGENCIES = ['Stopped', 'Blocked', 'Failed', 'Waiting', 'Progressing'] as const
export type Urgency = (typeof URGENCIES)[number]

export interface Finding {
  /** What, and why. */
  readonly text: string
  /** Equal for one cause, in whatever words, object or face it is shown, with its cluster before it in a fleet; absent: it explains another finding. */
  readonly cause?: string
  /** Absent: it explains, and nothing is to be done about it. */
  readonly urgency?: Urgency
  /** Milliseconds since 1970. */
  readonly since?: number
  /** The state that ends it. */
  readonly ends?: string
  readonly command?: Typed
  /** The page about it, where no command is known. */
  readonly runbook?: string
  readonly below?: readonly Finding[]
}

/** A line for a terminal. */
interface Typed {
  readonly line: string
  /** What it does; left out when it ends what was found. */
  readonly does?: string
}

/** What ends a finding: a state that has to come, or a command. */
export type WayOn = Pick<Finding, 'ends' | 'command'>

/** The whole explanation of one object. */
export interface Story extends Finding {
  /** As people type it. */
  readonly object: string
}

export const linesOf = (finding: Finding): readonly string[] => [
  finding.text,
  ...[...(finding.below ?? []).flatMap(linesOf), ...endLines(finding)].map((line) => `  ${line}`),
]

/** The object comes first; its findings are not indented, and what is typed next for the object as a whole comes last, unless its only finding said so. */
export function storyLines({ text, below = [], ...way }: Story): readonly string[] {
  const found = below.flatMap(linesOf)
  const ends = endLines(way)
  const [only, ...more] = below
  const isRepeated = (line: string): boolean => only !== undefined && more.length === 0 && endLines(only).includes(line)
  return [text, ...found, ...ends.filter((line) => !isRepeated(line))]
}

export function endLines({ ends, command }: WayOn): readonly string[] {
  return [
    ...(ends === undefined ? [] : [`unblocks when: ${ends}`]),
    ...(command === undefined ? [] : [`to ${command.does ?? 'unblock'}: ${command.line}`]),
  ]
}

/** Each of its texts by a rule. */
export const rewritten = <F extends Finding>(finding: F, by: (text: string) => string): F => ({
  ...finding,
  text: by(finding.text),
  ...(finding.ends !== undefined && { ends: by(finding.ends) }),
  ...(finding.command !== undefined && { command: { ...finding.command, line: by(finding.command.line) } }),
  ...(finding.below !== undefined && { below: finding.below.map((each) => rewritten(each, by)) }),
})

/** Texts without anything that is to be done. */
export const notesOf = (texts: readonly string[]): readonly Finding[] => texts.map((text) => ({ text }))

/** It, and all that belongs to it. */
export const allOf = (finding: Finding): readonly Finding[] => [finding, ...(finding.below ?? []).flatMap(allOf)]

/** Of one cause in one object: the object as people type it, and the reason. */
export const causeOf = (word: string, reason: string): string => `${word}/${reason}`
