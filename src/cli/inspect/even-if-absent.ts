// The option of commands that hold something by name: to do so without asking whether it is there.
import type { Command } from 'commander'

export interface EvenIfAbsent {
  readonly evenIfAbsent?: boolean
}

export const withEvenIfAbsent = (command: Command): Command =>
  command.option('--even-if-absent', 'do not check that the object exists and needs this')
