// An explanation of an object: what was found, what ends it, what a person can type, and what belongs to it. One form for terminals and pages. Pure.

/** What comes first: without its programs nothing continues, what is blocked does not end by itself, what waits may, what progresses does. */
export const URGENCIES = ['Stopped', 'Blocked', 'Failed', 'Waiting', 'Progressing'] as const
export type Urgency = (typeof URGENCIES)[number]

export interface Told {
  readonly text: string
  /** Absent: it explains, and nothing is to be done about it. */
  readonly urgency?: Urgency
  /** The state that ends it. */
  readonly ends?: string
  readonly command?: Typed
  /** The page about it, where no command is known. */
  readonly runbook?: string
  readonly below?: readonly Told[]
}

/** A line for a terminal. */
interface Typed {
  readonly line: string
  /** What it does; left out when it ends what was found. */
  readonly does?: string
}

/** The whole explanation of one object. */
export interface Story extends Told {
  /** As people type it. */
  readonly object: string
}

export const linesOf = (told: Told): readonly string[] => [
  told.text,
  ...[...(told.below ?? []).flatMap(linesOf), ...endLines(told)].map((line) => `  ${line}`),
]

/** The object comes first; its findings are not indented. */
export const storyLines = ({ text, below = [] }: Story): readonly string[] => [text, ...below.flatMap(linesOf)]

export function endLines({ ends, command }: Pick<Told, 'ends' | 'command'>): readonly string[] {
  return [
    ...(ends === undefined ? [] : [`unblocks when: ${ends}`]),
    ...(command === undefined ? [] : [`to ${command.does ?? 'unblock'}: ${command.line}`]),
  ]
}

/** Each of its texts by a rule. */
export const rewritten = (told: Told, by: (text: string) => string): Told => ({
  ...told,
  text: by(told.text),
  ...(told.ends !== undefined && { ends: by(told.ends) }),
  ...(told.command !== undefined && { command: { ...told.command, line: by(told.command.line) } }),
  ...(told.below !== undefined && { below: told.below.map((each) => rewritten(each, by)) }),
})

/** Texts without anything that is to be done. */
export const plain = (texts: readonly string[]): readonly Told[] => texts.map((text) => ({ text }))

/** It, and all that belongs to it. */
export const allOf = (told: Told): readonly Told[] => [told, ...(told.below ?? []).flatMap(allOf)]
