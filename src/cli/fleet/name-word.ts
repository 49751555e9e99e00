// A name on the command line, alone or with its kind as `kubenode get -o name` prints it: `base`, `set/base`, `machinecomponentset.kubenode.io/base`.
import { InvalidArgumentError } from 'commander'
import { kindCalled, named } from './target.ts'

/** The kind with this word among its names; undefined if there is none. */
export function kindOf(word: string): string | undefined {
  try {
    return kindCalled(word).kind
  } catch {
    return undefined
  }
}

/** For an argument that names one object of one of these kinds. */
export const nameOfKind =
  (...nouns: readonly [string, ...string[]]) =>
  (what: string): string => {
    if (!what.includes('/')) return what
    const { type, name } = named([what])
    if (nouns.some((noun) => kindCalled(noun).kind === type.kind)) return name
    throw new InvalidArgumentError(`Name a ${nouns[0]}: ${nouns[0]}/NAME, or NAME alone.`)
  }

/** For an argument that takes several names. */
export const namesOfKind =
  (noun: string) =>
  (what: string, before: readonly string[] | undefined): readonly string[] => [
    ...(before ?? []),
    nameOfKind(noun)(what),
  ]
