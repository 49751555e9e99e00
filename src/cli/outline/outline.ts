// The commands, options and kinds as plain data (outline.json, which build/make-outline.ts makes and git does not keep): help, completion and suggestions need no command's own code.
import type { ResourceType } from '#api/schema/resource.ts'
import data from './outline.json' with { type: 'json' }

export interface OutlinedArgument {
  /** As in the usage: `<machine>`, `[what...]`. */
  readonly usage: string
  readonly isVariadic: boolean
  readonly choices?: readonly string[]
}

export interface OutlinedOption {
  readonly flags: string
  readonly long: string
  readonly short?: string
  readonly help: string
  readonly takesValue: boolean
  readonly isHidden: boolean
  readonly choices?: readonly string[]
  /** The environment variable that it is read from. */
  readonly variable?: string
}

export interface OutlinedCommand {
  readonly name: string
  readonly aliases: readonly string[]
  readonly help: string
  readonly isHidden: boolean
  readonly arguments: readonly OutlinedArgument[]
  readonly options: readonly OutlinedOption[]
  readonly commands: readonly OutlinedCommand[]
}

export interface OutlinedKind extends ResourceType {
  readonly shortName: string
  readonly help: string
}

export interface Outline {
  /** Of every command. */
  readonly options: readonly OutlinedOption[]
  readonly commands: readonly OutlinedCommand[]
  readonly kinds: readonly OutlinedKind[]
}

export const OUTLINE: Outline = data

export const isCalled = ({ name, aliases }: Pick<OutlinedCommand, 'name' | 'aliases'>, word: string): boolean =>
  name === word || aliases.includes(word)
