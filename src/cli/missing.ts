// What a command line lacked: the same line once more, with what was missing in its place.
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
/** A line that changes something is never ready to be run by a paste: its object has to be chosen. */
const NO_NAMES: Names = { objects: none, components: none, namespaces: none, contexts: none }

/** One line, or undefined for any other mistake. */
export async function exampleOf(error: CommanderError, command: Command, io: Io): Promise<string | undefined> {
  if (!MISSING.has(error.code)) return undefined
  if (error.code === NO_OPTION && adviceOnUnknown(command) !== undefined) return undefined
  const path = pathOf(command)
  const names = command.options.some((o) => o.long === '--reason') ? NO_NAMES : serverNames(io)
  const words = [...argumentsOf(command)]
  const [first = ''] = words
  // Several words begin with their kind.
  if (names === NO_NAMES && words.length === 1 && !first.includes('/')) words[0] = await withKind(first, path)
  for (const argument of command.registeredArguments.slice(words.length))
    if (argument.required) words.push(await wordFor(argument, [...path, ...words], names))
  const options = command.options
    .filter((o) => o.mandatory)
    .map((o) => `${o.long ?? ''} ${o.long === '--reason' ? "'WHY'" : valueOf(o.flags)}`)
  return shownLine(`(for example: ${['kubenode', ...path, ...words, ...options].join(' ')})`)
}

/** A kind and a name in two words are one here, and words that the command does not take are left out. */
function argumentsOf({ args, registeredArguments }: Command): readonly string[] {
  const given = args.filter((word) => !word.startsWith('-'))
  const most = registeredArguments.some((a) => a.variadic) ? given.length : registeredArguments.length
  const [kind = '', ...names] = given
  if (given.length > most && most === 1 && isKindWord(kind)) return [`${kindHere(kind)}/${names.at(-1)}`]
  return given.slice(0, most)
}

/** What Flux holds, one by one, is held here at its source. A kind of another tool has no name here. */
const kindHere = (word: string): string =>
  FLUX_KINDS.has(word) ? 'source' : kindOf(word) === undefined ? 'KIND' : word

/** What changes something takes a kind too, since a name alone may be that of several objects. */
async function withKind(word: string, path: readonly string[]): Promise<string> {
  const [kind, name] = (await exampleWord(path, '', NO_NAMES)).split('/')
  if (kind === undefined || name === undefined) return word
  return isKindWord(word) ? `${kindHere(word)}/NAME` : `${kind}/${word}`
}

const wordFor = async (argument: Argument, typed: readonly string[], names: Names): Promise<string> =>
  argument.argChoices?.[0] ?? exampleWord(typed, argument.name().toUpperCase(), names)

const pathOf = (command: Command): readonly string[] =>
  command.parent === null ? [] : [...pathOf(command.parent), command.name()]

/** Of `--until <time>`: TIME. */
const valueOf = (flags: string): string => /<([^<>]+)>/.exec(flags)?.[1]?.toUpperCase() ?? ''
