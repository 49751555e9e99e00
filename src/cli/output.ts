// The `-o` option that all commands share.
import { Option } from 'commander'

export const outputOption = (choices: readonly string[]): Option =>
  new Option('-o, --output <form>', 'form of the output').choices(choices)
