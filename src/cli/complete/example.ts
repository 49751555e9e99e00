// An example for a missing word of a command line: a real name if one is known, else a placeholder.
import { candidates, FILES, type Names } from './candidates.ts'

/** Kinds that people use most come first. */
const KNOWN_FIRST = ['set/', 'machine/', 'node/', 'operationpermit/', 'release/', 'source/']

/** Each is a request to the server. */
const MOST_KINDS = 2

const rank = (word: string): number => (KNOWN_FIRST.includes(word) ? KNOWN_FIRST.indexOf(word) : KNOWN_FIRST.length)

/** `typed` ends where the missing word begins; `instead` is used if no name is known. */
export async function exampleWord(typed: readonly string[], instead: string, names: Names): Promise<string> {
  const after = async (word: string): Promise<readonly string[]> =>
    (await candidates([...typed, word], names)).map((c) => (c === FILES ? instead : c.word))
  const words = (await after('')).filter((word) => !word.startsWith('-'))
  const kinds = words.filter((word) => word.endsWith('/')).toSorted((a, b) => rank(a) - rank(b))
  const [kind] = kinds
  if (kind === undefined) return words[0] ?? instead
  for (const prefix of kinds.slice(0, MOST_KINDS)) {
    const [found] = await after(prefix)
    if (found !== undefined) return found
  }
  return `${kind}NAME`
}
