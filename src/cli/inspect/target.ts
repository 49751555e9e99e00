// What a person names on the command line (`machine/web-1`, `km web-1`, `node/x`) and how it is found on a server.
import type { ApiKind } from '#api/kind.ts'
import { KINDS } from '#api/kinds.ts'
import { didYouMean } from '#lib/did-you-mean.ts'
import { KubeNodeError } from '#lib/errors.ts'
import type { ResourceType } from '#schema/resource.ts'
import { qualifiedPlural } from '#schema/resource.ts'

export const nodes: ResourceType = { group: '', version: 'v1', kind: 'Node', plural: 'nodes', namespaced: false }

const namesOf = (k: ApiKind): readonly string[] => [
  k.kind.toLowerCase(),
  k.plural,
  qualifiedPlural(k),
  ...k.definition.shortNames,
]

/** A kind by any of its names; plain kinds of Kubernetes that people ask us about are few. */
export function kindCalled(word: string): ResourceType {
  const asked = word.toLowerCase()
  if (['node', 'nodes', 'no'].includes(asked)) return nodes
  const found = KINDS.find((k) => namesOf(k).includes(asked))
  if (found !== undefined) return found
  const near = didYouMean(
    asked,
    KINDS.flatMap((k) => [k.kind.toLowerCase(), k.plural]),
  )
  throw new KubeNodeError(
    'KN1310',
    `no kind is called ${JSON.stringify(word)}${near === undefined ? '' : `; did you mean ${near}?`}; kubectl knows the kinds that are not ours`,
  )
}

export interface Named {
  readonly type: ResourceType
  readonly name: string
}

/** `kind/name`, or two words. */
export function named(words: readonly string[]): Named {
  const [first = '', second] = words
  const [kind = '', name] = first.includes('/') ? first.split('/', 2) : [first, second]
  if (name === undefined || name === '')
    throw new KubeNodeError('KN1311', `which ${first}? name it, like ${first}/NAME`)
  return { type: kindCalled(kind), name }
}
