// Advice for people who know another tool: what to type here instead, added to an error about a command line. Pure.
import type { Command } from 'commander'
import { didYouMean } from '#lib/did-you-mean.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { kindCalled } from './fleet/target.ts'
import { FLUX_KINDS, habitOf, type Advice } from './habits.ts'

/** Rows have at most two words. */
const MOST_WORDS = 2

/** The error with this advice in place of a spelling guess; unchanged if no habit is known. */
export function withAdvice(command: Command, complaint: string): string {
  const unknown = isRequired(complaint) ? adviceOnUnknown(command) : undefined
  if (unknown !== undefined) return `error: unknown option '${unknown.option}'\n(${hint(unknown.advice)})\n`
  const advice = adviceFor(command, complaint)
  return advice === undefined ? withNearGuesses(complaint) : `${complaint.split('\n', 1)[0]}\n(${hint(advice)})\n`
}

const isRequired = (complaint: string): boolean => complaint.startsWith('error: required option')

/** Commander asks for a required option first. A user who typed `repair node/n-1 --check` must not be steered into a repair. */
export function adviceOnUnknown(command: Command): { readonly option: string; readonly advice: Advice } | undefined {
  const option = command.args.find((word) => word.startsWith('-'))
  const advice = option === undefined ? undefined : optionAdvice(command, option)
  return option === undefined || advice === undefined ? undefined : { option, advice }
}

const GUESSES = /'([^'\n]+)'\n\(Did you mean (?:one of )?([^?\n]+)\?\)/

/** Drops spelling guesses that share less than half of their letters. */
function withNearGuesses(complaint: string): string {
  const [, word = '', guesses = ''] = GUESSES.exec(complaint) ?? []
  if (guesses === '') return complaint
  const bare = (text: string) => text.replace(/^-+/, '')
  const near = guesses.split(', ').filter((g) => didYouMean(bare(word), [bare(g)]) !== undefined)
  const hint = near.length === 0 ? '' : `\n(Did you mean ${near.length === 1 ? '' : 'one of '}${near.join(', ')}?)`
  return complaint.replace(GUESSES, () => `'${word}'${hint}`)
}

function adviceFor(command: Command, complaint: string): Advice | undefined {
  const option = /unknown option '([^']+)'/.exec(complaint)?.[1]
  if (option !== undefined) return optionAdvice(command, option)
  if (complaint.includes('unknown command')) return commandAdvice(namesOf(command), command.args)
  if (complaint.includes('too many arguments')) return oneWord(namesOf(command), command.args)
  const short = /option '-(\w), .*' argument '([^']+)' is invalid/.exec(complaint)
  return short === null ? undefined : longOption(command, `-${short[1]}${short[2]}`)
}

/** What `kubenode help WORDS` means if it names no command: a kind, or a command of another tool. */
export function helpAdvice(path: readonly string[], word: string): string | undefined {
  const type = path.length === 0 ? kindOf(word) : undefined
  const advice: Advice | undefined =
    type === undefined
      ? commandAdvice(path, [word])
      : [`kubenode get ${type.plural}`, `${word} is a kind; its fields: kubectl explain ${type.plural}`]
  return advice && hint(advice)
}

const hint = ([type, note]: Advice): string =>
  type === '' ? note : note === '' ? `type ${type}` : `type ${type}; ${note}`

/** For `kubenode rollout status`: rollout, status. */
const namesOf = (command: Command): readonly string[] =>
  command.parent === null ? [] : [...namesOf(command.parent), command.name()]

function commandAdvice(path: readonly string[], args: readonly string[]): Advice | undefined {
  const words = [...path, ...args.filter((word) => !word.startsWith('-'))].slice(0, MOST_WORDS)
  const whole = habitOf(words.join(' '))
  if (whole !== undefined || path.length > 0) return whole
  const [word = ''] = words
  return habitOf(word) ?? (kindOf(word) === undefined ? undefined : [`kubenode get ${word}`, ''])
}

/** Flux commands that KubeNode has too. */
const ON_SOURCES: ReadonlySet<string> = new Set(['pause', 'reconcile', 'resume'])

const WHAT_EDITS_CHANGE = 'it shows what the edits of the work tree change; two commits: kubenode diff BASE..HEAD'

/** Other tools take kind and name as two words, and Flux puts the source type in between. */
function oneWord(path: readonly string[], args: readonly string[]): Advice | undefined {
  const [kind, ...rest] = args
  const name = rest.at(-1)
  const command = path.join(' ')
  const habit = habitOf(`${command} WORD`)
  if (habit !== undefined) return habit
  if (kind === undefined || name === undefined || rest.length > MOST_WORDS) return undefined
  if (FLUX_KINDS.has(kind) && ON_SOURCES.has(command))
    return [`kubenode ${command} source/NAME`, 'kubenode get sources lists them']
  if ((FLUX_KINDS.has(kind) || kind === 'artifact') && command === 'diff')
    return ['kubenode plan --dirty', WHAT_EDITS_CHANGE]
  if (kindOf(kind) === undefined || !/^[a-z0-9][-a-z0-9.]*$/.test(name)) return undefined
  return [`kubenode ${[...path, `${kind}/${name}`].join(' ')}`, '']
}

const kindOf = (word: string): ResourceType | undefined => {
  try {
    return kindCalled(word)
  } catch {
    return undefined
  }
}

function optionAdvice(command: Command, written: string): Advice | undefined {
  const [flag = '', value] = written.split('=')
  if (value !== undefined && hasOption(command, flag))
    return ['', `${flag} takes no value; ${value === 'false' ? 'leave it out' : 'write it alone'}`]
  return knownOption(command, flag) ?? (/^-\w{2}/.test(flag) ? longOption(command, flag) : undefined)
}

/** Terraform writes long options with one dash. */
function longOption(command: Command, written: string): Advice | undefined {
  const [flag = ''] = written.split('=', 1)
  const long = `-${flag}`
  if (hasOption(command, long)) return ['', `write ${long}, with two dashes`]
  return knownOption(command, long) ?? (/^-v+$/.test(flag) ? habitOf('ANY -v') : undefined)
}

function knownOption(command: Command, flag: string): Advice | undefined {
  const own = habitOf([...namesOf(command), flag].join(' '))
  if (own !== undefined) return own
  const [same = ''] = habitOf(`SAME ${flag}`) ?? []
  if (same !== '' && hasOption(command, same.split(' ', 1)[0] ?? '')) return ['', `here it is ${same}`]
  return habitOf(`ANY ${flag}`)
}

/** Commander does not list help and version among a command's options. */
const hasOption = (command: Command, long: string): boolean =>
  [command, ...ancestors(command)].some((c) => c.options.some((o) => o.long === long)) || long === '--help'

const ancestors = ({ parent }: Command): readonly Command[] => (parent === null ? [] : [parent, ...ancestors(parent)])
