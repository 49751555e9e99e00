// Shows a failed command line again with the missing part filled in.
import type { Argument, Command, CommanderError } from 'commander'
import { shownLine } from '#lib/printable.ts'
import type { Names } from './complete/candidates.ts'
import { exampleWord } from './complete/example.ts'
import { serverNames } from './complete/names.ts'
import { kindOf } from './fleet/name-word.ts'
import { isKindWord } from './fleet/target.ts'
import { adviceOnUnknown } from './advice.ts'
import { FLUX_KINDS } from './habits.ts'
import type { Io } from '#lib/terminal/io.ts'

const NO_OPTION = 'commander.missingMandatoryOptionValue'
const MISSING: ReadonlySet<string> = new Set(['commander.missingArgument', NO_OPTION])

const none = () => Promise.resolve([])
/** Never print a ready-to-paste line for a command that changes something: the user has to pick the object. */
const NO_NAMES: Names = { objects: none, components: none, namespaces: none, contexts: none }

/** One line; undefined for any other mistake. */
export async function exampleOf(error: CommanderError, command: Command, io: Io): Promise<string | undefined> {
  if (!MISSING.has(error.code)) return undefined
  if (error.code === NO_OPTION && adviceOnUnknown(command) !== undefined) return undefined
  const path = pathOf(command)
  const names = command.options.some((o) => o.long === '--reason') ? NO_NAMES : serverNames(io)
  const words = [...argumentsOf(command)]
  const [first = ''] = words
  // With several words, the first is the kind.
  if (names === NO_NAMES && words.length === 1 && !first.includes('/')) words[0] = await withKind(first, path)
  for (const argument of command.registeredArguments.slice(words.length))
    if (argument.required) words.push(await wordFor(argument, [...path, ...words], names))
  const options = command.options
    .filter((o) => o.mandatory)
    .map((o) => `${o.long ?? ''} ${o.long === '--reason' ? "'WHY'" : valueOf(o.flags)}`)
  return shownLine(`(for example: ${['kubenode', ...path, ...words, ...options].join(' ')})`)
}

/** Joins a kind and a name into one word, and drops words that the command does not take. */
function argumentsOf({ args, registeredArguments }: Command): readonly string[] {
  const given = args.filter((word) => !word.startsWith('-'))
  const most = registeredArguments.some((a) => a.variadic) ? given.length : registeredArguments.length
  const [kind = '', ...names] = given
  if (given.length > most && most === 1 && isKindWord(kind)) return [`${kindHere(kind)}/${names.at(-1)}`]
  return given.slice(0, most)
}

/** Flux holds objects one by one; here their source is held. Kinds of other tools have no name here. */
const kindHere = (word: string): string =>
  FLUX_KINDS.has(word) ? 'source' : kindOf(word) === undefined ? 'KIND' : word

/** Commands that change something need the kind too, because several objects may share the name. */
async function withKind(word: string, path: readonly string[]): Promise<string> {
  const [kind, name] = (await exampleWord(path, '', NO_NAMES)).split('/')
  if (kind === undefined || name === undefined) return word
  return isKindWord(word) ? `${kindHere(word)}/NAME` : `${kind}/${word}`
}

const wordFor = async (argument: Argument, typed: readonly string[], names: Names): Promise<string> =>
  argument.argChoices?.[0] ?? exampleWord(typed, argument.name().toUpperCase(), names)

const pathOf = (command: Command): readonly string[] =>
  command.parent === null ? [] : [...pathOf(command.parent), command.name()]

/** `--until <time>` gives TIME. */
const valueOf = (flags: string): string => /<([^<>]+)>/.exec(flags)?.[1]?.toUpperCase() ?? ''
