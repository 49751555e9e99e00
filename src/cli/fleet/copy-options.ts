// Options of commands that propose a fleet edit: where the working copy is, and whether to write it.
import type { Command } from 'commander'
import { weakCageOption } from '../weak-cage.ts'

export const withCopy = (command: Command): Command =>
  command
    .option('--repo <dir>', 'the repository of the fleet; the one around the current folder when left out')
    .option('--path <dir>', 'folder of the fleet in the repository', '.')
    .addOption(weakCageOption())
    .option('--write', 'edit the files of the working copy instead of printing the change')
