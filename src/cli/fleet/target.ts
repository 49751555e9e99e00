// The object that a user names on the command line (`machine/web-1`, `km web-1`, `node/x`), and how to find it on a server.
import { NOUNS } from '#api/nouns.ts'
import { didYouMean } from '#lib/did-you-mean.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { pluralOf } from '#lib/plural.ts'
import { coreKind } from '#kube/core-kinds.ts'
import type { ResourceType } from '#api/schema/resource.ts'
import { qualifiedKind, qualifiedPlural } from '#api/schema/resource.ts'
import { habitOf } from '../habits.ts'
import { type OutlinedKind, OUTLINE } from '../outline/outline.ts'
import { inspectErrors } from '#explain/objects/objects-errors.ts'

export const nodes = coreKind('Node')

/** Without schemas, which most commands do not need. */
const KINDS = OUTLINE.kinds

const namesOf = (k: OutlinedKind): readonly string[] => [
  k.kind.toLowerCase(),
  k.plural,
  qualifiedPlural(k),
  qualifiedKind(k),
  k.shortName,
]

const nounOf = (word: string): string | undefined =>
  Object.entries(NOUNS).find(([noun]) => word === noun || word === pluralOf(noun))?.[1]

/** A kind by any of its names. Only a few Kubernetes kinds are supported. */
export function kindCalled(word: string): ResourceType {
  const asked = word.toLowerCase()
  if (['node', 'nodes', 'no'].includes(asked)) return nodes
  const noun = nounOf(asked)
  const found = KINDS.find((k) => k.kind === noun || namesOf(k).includes(asked))
  if (found !== undefined) return found
  const near = didYouMean(asked, [
    'node',
    'nodes',
    ...KINDS.flatMap((k) => [k.kind.toLowerCase(), k.plural]),
    ...Object.keys(NOUNS).map(pluralOf),
  ])
  const [habit] = habitOf(`KIND ${asked}`) ?? []
  const detail = habit !== undefined ? `; type ${habit}` : near === undefined ? '' : `; did you mean ${near}?`
  throw new KubeNodeError(inspectErrors.KN1310({ word: JSON.stringify(word), detail }))
}

/** The short noun of each kind, or its name: `set`, `release`. */
export const nounsByKind = (): readonly string[] =>
  KINDS.filter((k) => k.kind !== 'Machine').map(
    (k) => Object.entries(NOUNS).find(([, kind]) => kind === k.kind)?.[0] ?? k.kind.toLowerCase(),
  )

/** The words that `kubenode get` suggests, one per kind. */
export const kindWords = (): readonly string[] => ['nodes', ...KINDS.map((k) => k.plural)]

export interface Named {
  readonly type: ResourceType
  readonly name: string
  /** The word the user typed for the kind. */
  readonly noun: string
}

/** `kind/name`, or two words. */
export function named(words: readonly string[]): Named {
  const [first = '', second] = words
  const [kind = '', name, ...rest] = first.includes('/') ? first.split('/') : [first, second]
  if (rest.length > 0) throw new KubeNodeError(inspectErrors.KN1325({ what: JSON.stringify(first) }))
  const type = kindCalled(kind)
  if (name === undefined || name === '') throw new KubeNodeError(inspectErrors.KN1325_several({ first: kind }))
  return { type, name, noun: kind }
}

/** A kind, or another tool's word for one. */
export const isKindWord = (word: string): boolean => {
  try {
    return kindCalled(word) !== undefined
  } catch {
    return habitOf(`KIND ${word.toLowerCase()}`) !== undefined
  }
}

/** A name without a kind. */
export interface NameOnly {
  readonly name: string
  readonly type?: never
}

/** Several `kind/name`, a kind followed by names, or bare names. */
export function namedAll(words: readonly string[]): readonly (Named | NameOnly)[] {
  const [kind = '', ...names] = words
  if (!words.some((word) => word.includes('/')) && isKindWord(kind))
    return names.length === 0 ? [named([kind])] : names.map((name) => named([kind, name]))
  return words.map((word) => (word.includes('/') ? named([word]) : { name: word }))
}

/** For commands that show one object. */
export const namedOne = (words: readonly string[]): Named | NameOnly => {
  const [only, ...others] = words
  const isName = only !== undefined && others.length === 0 && !only.includes('/') && !isKindWord(only)
  return isName ? { name: only } : named(words)
}
