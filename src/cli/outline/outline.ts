// The commands, options and kinds as plain data (outline.json, built by build/make-outline.ts and not in git), so that help, completion and suggestions load no
// command's code.
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
  /** The environment variable it may come from. */
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
  /** Shared by every command. */
  readonly options: readonly OutlinedOption[]
  readonly commands: readonly OutlinedCommand[]
  readonly kinds: readonly OutlinedKind[]
}

export const OUTLINE: Outline = data

export const isCalled = ({ name, aliases }: Pick<OutlinedCommand, 'name' | 'aliases'>, word: string): boolean =>
  name === word || aliases.includes(word)
