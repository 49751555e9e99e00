// What to report about a branch that a server no longer has: which branches exist, and whether one of them replaced it. Pure.
import { defined } from '#lib/defined.ts'
import { printableLine } from '#lib/printable.ts'
import { someOf } from '#lib/some-of.ts'

export interface BranchesThere {
  readonly standard?: string
  /** Commits by branch name. */
  readonly heads: ReadonlyMap<string, string>
}

const MAX_SHOWN = 5
const MAX_NAME_CHARS = 80

/** Parses the output of `git ls-remote --symref URL HEAD refs/heads/*`, whose last line may be cut off. */
export function branchesIn(text: string): BranchesThere {
  const [, standard] = /^ref: refs\/heads\/(\S+)\tHEAD$/m.exec(text) ?? []
  const lines = [...text.matchAll(/^([0-9a-f]{40})\trefs\/heads\/(\S+)\n/gm)]
  const heads = new Map(lines.map(([, id = '', name = '']) => [name, id]))
  return { heads, ...defined({ standard }) }
}

/** The rest of a sentence: `it has no branch main`. `last` is the commit that was fetched before. */
export function branchHint({ heads, standard }: BranchesThere, last: string | undefined): string {
  const renamed = [...heads].filter(([, id]) => id === last).map(([name]) => name)
  const [only] = renamed
  if (only !== undefined && renamed.length === 1)
    return `; branch ${shown(only)} is at the commit that was fetched before, so it was probably renamed`
  if (heads.size === 0) return '; it has no branch at all'
  const first = [...heads.keys()].toSorted((a, b) => Number(b === standard) - Number(a === standard)).map(shown)
  return `; it has ${someOf(first, MAX_SHOWN)}`
}

const shown = (name: string): string => printableLine(name).slice(0, MAX_NAME_CHARS)
