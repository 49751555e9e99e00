// The options of commands that propose an edit of the fleet: where its working copy is, and whether it is written.
import type { Command } from 'commander'
import { weakCageOption } from '../weak-cage.ts'

export const withCopy = (command: Command): Command =>
  command
    .option('--repo <dir>', 'the repository of the fleet; the one around the current folder when left out')
    .option('--path <dir>', 'folder of the fleet in the repository', '.')
    .addOption(weakCageOption())
    .option('--write', 'edit the files of the working copy instead of printing the change')
