// What may follow the words typed so far: commands and flags from the tree itself, kinds from the API, names from where they are (`Names`).
import type { Command, Option } from 'commander'
import { KINDS } from '#api/kinds.ts'
import type { ResourceType } from '#schema/resource.ts'
import { kindCalled, nounsByKind, nodes } from '../inspect/target.ts'
import { type Typed, typedOf } from './typed.ts'

export interface Candidate {
  readonly word: string
  readonly help: string
}

/** Names that are somewhere else; each returns none rather than an error. */
export interface Names {
  objects(type: ResourceType, typed: Typed): Promise<readonly string[]>
  namespaces(typed: Typed): Promise<readonly string[]>
  contexts(typed: Typed): Promise<readonly string[]>
}

type Ask = (typed: Typed, names: Names) => Promise<readonly Candidate[]> | readonly Candidate[]

const plain = (words: readonly string[], help = ''): readonly Candidate[] => words.map((word) => ({ word, help }))

/** The first sentence says what a kind is. */
const docOf = (doc: string): string => doc.split(/[.;:] /, 1)[0] ?? ''

const PLURALS: readonly Candidate[] = [
  { word: 'nodes', help: 'Nodes of Kubernetes' },
  ...KINDS.map((k) => ({ word: k.plural, help: docOf(k.definition.doc) })),
]

const kindOrUndefined = (word: string): ResourceType | undefined => {
  try {
    return kindCalled(word)
  } catch {
    return undefined
  }
}

const namesAfterSlash = async (typed: Typed, names: Names): Promise<readonly Candidate[]> => {
  const [noun = ''] = typed.word.split('/', 1)
  const type = kindOrUndefined(noun)
  return type === undefined ? [] : plain((await names.objects(type, typed)).map((name) => `${noun}/${name}`))
}

/** `machine/NAME`; one word for each kind. */
const kindSlashName =
  (nouns: readonly string[], isRepeated = false): Ask =>
  (typed, names) => {
    if (typed.arguments.length > 0 && !isRepeated) return []
    return typed.word.includes('/') ? namesAfterSlash(typed, names) : plain(nouns.map((noun) => `${noun}/`))
  }

const namesOf =
  (...kinds: readonly string[]): Ask =>
  async (typed, names) => {
    if (typed.arguments.length > 0) return []
    return plain((await Promise.all(kinds.map((kind) => names.objects(kindCalled(kind), typed)))).flat())
  }

const ofGet: Ask = async (typed, names) => {
  const [kind] = typed.arguments
  if (typed.word.includes('/')) return namesAfterSlash(typed, names)
  if (kind === undefined) {
    const comma = typed.word.lastIndexOf(',') + 1
    return PLURALS.map(({ word, help }) => ({ word: `${typed.word.slice(0, comma)}${word}`, help }))
  }
  const type = kind.includes('/') ? undefined : kindOrUndefined(kind)
  return type === undefined ? [] : plain(await names.objects(type, typed))
}

const ANY = ['machine', 'node', ...nounsByKind()]
const HELD = ['set', 'canary', 'machine', 'machineset', 'remedier', 'job', 'source', 'release']

/** What the arguments of a command name. A command that is not listed names files, or nothing. */
const ARGUMENTS: Readonly<Record<string, Ask>> = {
  get: ofGet,
  describe: kindSlashName(ANY),
  why: kindSlashName(ANY, true),
  trace: kindSlashName(ANY),
  events: kindSlashName(ANY, true),
  tree: kindSlashName(['machine', 'node', 'release', 'set']),
  watch: kindSlashName(['set', 'release']),
  reconcile: kindSlashName(['source']),
  logs: kindSlashName(['machine', 'node']),
  'why-not': kindSlashName(['node', 'machine', 'remedier']),
  repair: kindSlashName(['node', 'machine', 'remedier']),
  pause: kindSlashName(HELD),
  resume: kindSlashName(HELD),
  freeze: kindSlashName(['machine', 'node', 'set', 'remedier', 'cluster']),
  thaw: kindSlashName(['machine', 'node', 'set', 'remedier', 'cluster']),
  approve: kindSlashName(['operationpermit', 'release', 'source']),
  'put-back': kindSlashName(['set', 'machineset', 'canary', 'remedier', 'policy']),
  'allow-edit': kindSlashName(['set', 'machineset', 'canary', 'remedier', 'policy']),
  rollback: namesOf('set'),
  'rollout status': namesOf('set'),
  'rollout history': namesOf('set'),
  'rollout retry': namesOf('set'),
  'canary status': namesOf('canary'),
  'canary promote': namesOf('canary'),
  'canary abort': namesOf('canary'),
  'release status': namesOf('release'),
  'release retry': namesOf('release'),
  'release promote': namesOf('release'),
  'release abort': namesOf('release'),
  'release history': namesOf('release'),
  history: kindSlashName(['cluster', 'set']),
  import: async (_typed, names) => plain(await names.objects(nodes, _typed)),
  adopt: async (_typed, names) => plain(await names.objects(nodes, _typed)),
  'machine join-command': namesOf('machine'),
  'machine readmit': namesOf('machine'),
  'machine revoke': namesOf('machine'),
}

/** Paths whose arguments are completed: a test holds them to the tree. */
export const completedCommands = (): readonly string[] => Object.keys(ARGUMENTS)

const FORMS = ['wide', 'name', 'json', 'yaml', 'jsonpath=', 'custom-columns=']

/** The shell itself knows the files. */
export const FILES: Candidate = { word: ':files', help: '' }

async function valuesOf(option: Option, typed: Typed, names: Names): Promise<readonly Candidate[]> {
  if (option.argChoices !== undefined) return plain(option.argChoices)
  if (option.long === '--context') return plain(await names.contexts(typed))
  if (option.long === '--namespace') return plain(await names.namespaces(typed))
  if (option.long === '--output') return plain(FORMS)
  return /<(file|dir|folder|path)s?>/.test(option.flags) ? [FILES] : []
}

const flagsOf = (options: readonly Option[]): readonly Candidate[] =>
  options.filter((o) => !o.hidden).map((o) => ({ word: o.long ?? o.short ?? '', help: o.description }))

const HELP: Candidate = { word: '--help', help: 'show what this command does' }

const commandsOf = (command: Command): readonly Candidate[] =>
  command.commands.filter((c) => !c.name().startsWith('__')).map((c) => ({ word: c.name(), help: c.description() }))

async function unfiltered(program: Command, typed: Typed, names: Names): Promise<readonly Candidate[]> {
  const { command, path, pending, word } = typed
  if (pending !== undefined) return valuesOf(pending, typed, names)
  if (word.startsWith('-'))
    return [...flagsOf([...command.options, ...(command === program ? [] : program.options)]), HELP]
  // `help rollout st…` completes as `rollout st…`.
  if (path === 'help') return commandsOf(typedOf(program, [...typed.arguments, word]).command)
  const { registeredArguments } = command
  const argument = registeredArguments[typed.arguments.length] ?? registeredArguments.findLast((a) => a.variadic)
  const isFile = argument !== undefined && argument.argChoices === undefined && !Object.hasOwn(ARGUMENTS, path)
  return [
    ...(typed.arguments.length === 0 ? commandsOf(command) : []),
    ...plain(argument?.argChoices ?? []),
    ...((await ARGUMENTS[path]?.(typed, names)) ?? []),
    ...(isFile ? [FILES] : []),
  ]
}

/** The last word is the one being typed. */
export async function candidates(
  program: Command,
  words: readonly string[],
  names: Names,
): Promise<readonly Candidate[]> {
  const typed = typedOf(program, words)
  const found = (await unfiltered(program, typed, names)).filter((c) => c === FILES || c.word.startsWith(typed.word))
  const unique = new Map(found.map((c) => [c.word, c === FILES ? c : { ...c, word: `${typed.prefix}${c.word}` }]))
  return [...unique.values()].sort((a, b) => (a.word < b.word ? -1 : 1))
}
