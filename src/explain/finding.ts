// A finding: what was found, why, since when, what ends it, and what a user types first. Terminals, pages, notifications and programs all render this form. Pure.

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
  finding.text,
  ...[...(finding.below ?? []).flatMap(linesOf), ...endLines(finding)].map((line) => `  ${line}`),
]

/** The object first, its findings without indentation, and last the next command for the object as a whole, unless its only finding already has it. */
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
