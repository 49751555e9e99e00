// The line that says what ends a wait: a state that has to come, or a command that a user can type. Pure.

const COMMAND = /^(?:run )?(kubenode .*)$/s

export function unblockLine(unblock: string): string {
  const command = COMMAND.exec(unblock)?.[1]
  return command === undefined ? `unblocks when: ${unblock}` : `to unblock: ${command}`
}

const LINE = /^\s*(?:unblocks when|to unblock): (.*)$/s

/** What such a line names, and whether it is a command. */
export function unblockIn(line: string): { readonly text: string; readonly isCommand: boolean } | undefined {
  const text = LINE.exec(line)?.[1]
  return text === undefined ? undefined : { text, isCommand: line.trimStart().startsWith('to unblock') }
}

/** The same for a page: what ends a wait, and whether it can be copied as a command. */
export function unblockLift(unblock: string): { readonly text: string; readonly isCommand: boolean } {
  const command = COMMAND.exec(unblock)?.[1]
  return command === undefined ? { text: unblock, isCommand: false } : { text: command, isCommand: true }
}
