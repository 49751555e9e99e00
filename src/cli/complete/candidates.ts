// What may follow the words typed so far: commands and flags from the command tree, kinds from the API, and object names from `Names`.
import type { ResourceType } from '#api/schema/resource.ts'
import { kindCalled, nounsByKind, nodes } from '../fleet/target.ts'
import { type OutlinedCommand, type OutlinedOption, OUTLINE } from '../outline/outline.ts'
import { type Typed, typedOf } from './typed.ts'

export interface Candidate {
  readonly word: string
  readonly help: string
}

/** Names from servers and files; each returns an empty list instead of an error. */
export interface Names {
  objects(type: ResourceType, typed: Typed): Promise<readonly string[]>
  /** Components of a machine that have a log. */
  components(machine: string, typed: Typed): Promise<readonly string[]>
  namespaces(typed: Typed): Promise<readonly string[]>
  contexts(typed: Typed): Promise<readonly string[]>
}

type Ask = (typed: Typed, names: Names) => Promise<readonly Candidate[]> | readonly Candidate[]

const asCandidates = (words: readonly string[], help = ''): readonly Candidate[] =>
  words.map((word) => ({ word, help }))

const PLURALS: readonly Candidate[] = [
  { word: 'nodes', help: 'Nodes of Kubernetes' },
  ...OUTLINE.kinds.map(({ plural, help }) => ({ word: plural, help })),
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
  return type === undefined ? [] : asCandidates((await names.objects(type, typed)).map((name) => `${noun}/${name}`))
}

/** For a command that takes the kind as a separate word, as kubectl does: `describe machine NAME`. */
function kindBefore({ command, arguments: [first = '', ...more], word }: Typed): ResourceType | undefined {
  if (first.includes('/') || word.includes('/')) return undefined
  const next = command.arguments[more.length + 1] ?? command.arguments.findLast((a) => a.isVariadic)
  return next === undefined ? undefined : kindOrUndefined(first)
}

/** `machine/NAME`, one word per kind; or the kind, followed by names. */
const kindSlashName =
  (nouns: readonly string[], isRepeated = false): Ask =>
  async (typed, names) => {
    const kind = kindBefore(typed)
    if (kind !== undefined) return asCandidates(await names.objects(kind, typed))
    if (typed.arguments.length > 0 && !isRepeated) return []
    return typed.word.includes('/') ? namesAfterSlash(typed, names) : asCandidates(nouns.map((noun) => `${noun}/`))
  }

const namesOf =
  (...kinds: readonly string[]): Ask =>
  async (typed, names) => {
    if (typed.arguments.length > 0) return []
    return asCandidates((await Promise.all(kinds.map((kind) => names.objects(kindCalled(kind), typed)))).flat())
  }

/** `machine/NAME`, or just the name. */
const ofLogs: Ask = async (typed, names) => {
  if (typed.arguments.length > 0) return typed.arguments.length > 1 ? [] : componentsOf(typed, names)
  const alone = typed.word.includes('/') ? [] : await names.objects(kindCalled('machine'), typed)
  return [...(await kindSlashName(['machine', 'node'])(typed, names)), ...asCandidates(alone)]
}

async function componentsOf(typed: Typed, names: Names): Promise<readonly Candidate[]> {
  const machine = typed.arguments[0]?.split('/').at(-1) ?? ''
  return machine === '' ? [] : asCandidates(await names.components(machine, typed))
}

const ofGet: Ask = async (typed, names) => {
  const [kind] = typed.arguments
  if (typed.word.includes('/')) return namesAfterSlash(typed, names)
  if (kind === undefined) {
    const comma = typed.word.lastIndexOf(',') + 1
    return PLURALS.map(({ word, help }) => ({ word: `${typed.word.slice(0, comma)}${word}`, help }))
  }
  const type = kind.includes('/') ? undefined : kindOrUndefined(kind)
  return type === undefined ? [] : asCandidates(await names.objects(type, typed))
}

const ANY = ['machine', 'node', ...nounsByKind()]
const HELD = ['set', 'canary', 'machine', 'machineset', 'remedier', 'job', 'source', 'release']

/** What a command's arguments name. Commands not listed take files, or nothing. */
const ARGUMENTS: Readonly<Record<string, Ask>> = {
  get: ofGet,
  describe: kindSlashName(ANY),
  why: kindSlashName(ANY, true),
  trace: kindSlashName(ANY),
  events: kindSlashName(ANY, true),
  tree: kindSlashName(['machine', 'node', 'release', 'set']),
  watch: kindSlashName(['set', 'release']),
  reconcile: kindSlashName(['source']),
  logs: ofLogs,
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
  'release diff': namesOf('release'),
  'release history': namesOf('release'),
  history: kindSlashName(['cluster', 'set']),
  'cluster show': namesOf('cluster'),
  'cluster extend': namesOf('cluster'),
  'cluster kubeconfig': namesOf('cluster'),
  'maintenance plan': kindSlashName(['machine'], true),
  import: async (_typed, names) => asCandidates(await names.objects(nodes, _typed)),
  adopt: async (_typed, names) => asCandidates(await names.objects(nodes, _typed)),
  'machine join-command': namesOf('machine'),
  'machine readmit': namesOf('machine'),
  'machine revoke': namesOf('machine'),
}

/** Commands whose arguments are completed; a test compares them with the tree. */
export const completedCommands = (): readonly string[] => Object.keys(ARGUMENTS)

const FORMS = ['wide', 'name', 'json', 'yaml']

/** The shell completes files itself. */
export const FILES: Candidate = { word: ':files', help: '' }

async function valuesOf(option: OutlinedOption, typed: Typed, names: Names): Promise<readonly Candidate[]> {
  if (option.choices !== undefined) return asCandidates(option.choices)
  if (option.long === '--context') return asCandidates(await names.contexts(typed))
  if (option.long === '--namespace') return asCandidates(await names.namespaces(typed))
  if (option.long === '--container') return componentsOf(typed, names)
  if (option.long === '--output') return asCandidates(FORMS)
  return /<(file|dir|folder|path)s?>/.test(option.flags) ? [FILES] : []
}

const flagsOf = (options: readonly OutlinedOption[]): readonly Candidate[] =>
  options.filter((o) => !o.isHidden).map(({ long, help }) => ({ word: long, help }))

const HELP: Candidate = { word: '--help', help: 'show what this command does' }

const commandsOf = (commands: readonly OutlinedCommand[]): readonly Candidate[] =>
  commands.filter((c) => !c.isHidden).map(({ name, help }) => ({ word: name, help }))

async function unfiltered(typed: Typed, names: Names): Promise<readonly Candidate[]> {
  const { command, path, pending, word } = typed
  if (pending !== undefined) return valuesOf(pending, typed, names)
  if (word.startsWith('-')) return [...flagsOf([...command.options, ...(path === '' ? [] : OUTLINE.options)]), HELP]
  // `help rollout st…` completes like `rollout st…`.
  if (path === 'help') return commandsOf(typedOf([...typed.arguments, word]).command.commands)
  const argument = command.arguments[typed.arguments.length] ?? command.arguments.findLast((a) => a.isVariadic)
  const isFile = argument !== undefined && argument.choices === undefined && !Object.hasOwn(ARGUMENTS, path)
  return [
    ...(typed.arguments.length === 0 ? commandsOf(command.commands) : []),
    ...asCandidates(argument?.choices ?? []),
    ...((await ARGUMENTS[path]?.(typed, names)) ?? []),
    ...(isFile ? [FILES] : []),
  ]
}

/** The last word is the one being typed. */
export async function candidates(words: readonly string[], names: Names): Promise<readonly Candidate[]> {
  const typed = typedOf(words)
  const found = (await unfiltered(typed, names)).filter((c) => c === FILES || c.word.startsWith(typed.word))
  const unique = new Map(found.map((c) => [c.word, c === FILES ? c : { ...c, word: `${typed.prefix}${c.word}` }]))
  return [...unique.values()].sort((a, b) => (a.word < b.word ? -1 : 1))
}
