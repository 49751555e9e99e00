// Options of commands that read recorded history.
import type { Command } from 'commander'

export interface HistoryOptions {
  readonly history?: string
}

export interface RangeOptions {
  readonly since?: string
  readonly until?: string
}

export interface AtOptions extends HistoryOptions {
  readonly at: string
  readonly context?: string
  readonly namespace?: string
}

export const withHistory = (command: Command): Command =>
  command.option(
    '--history <place>',
    'folder of a recorder, or an exported file; that of the local fleet around this folder when left out',
  )

/** For commands that explain the present. */
export const withAt = (command: Command): Command =>
  withHistory(
    command.option(
      '--at <time>',
      'what was known then, from a recorded history: a time, a day, or how long ago, such as 90m',
    ),
  )
