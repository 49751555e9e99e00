// The option of commands that hold something by name: do not check whether the object exists.
import type { Command } from 'commander'

export interface EvenIfAbsent {
  readonly evenIfAbsent?: boolean
}

export const withEvenIfAbsent = (command: Command): Command =>
  command.option('--even-if-absent', 'do not check that the object exists and needs this')
