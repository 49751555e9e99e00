// Whether a Unix socket is ours: another user may have put one of theirs where that of a program was that ended, and would be believed and told secrets.
import { constants, lstatSync } from 'node:fs'
import { getuid } from 'node:process'

const ROOT = 0
const OTHERS = 0o077
const { S_IFMT, S_IFSOCK } = constants

/** What makes a socket one of another user's, or undefined. */
export function socketDoubt(seen: { readonly mode: number; readonly uid: number }, own: number): string | undefined {
  if ((seen.mode & S_IFMT) !== S_IFSOCK) return 'it is not a socket'
  if (seen.uid !== own && seen.uid !== ROOT) return `it belongs to uid ${seen.uid}, and this program runs as uid ${own}`
  if ((seen.mode & OTHERS) !== 0) return `others can use it (mode 0${(seen.mode & 0o777).toString(8)}, wanted 0600)`
  return undefined
}

/** To be asked before each connection. Throws where there is nothing at all. */
export const doubtOfSocket = (path: string): string | undefined => socketDoubt(lstatSync(path), getuid?.() ?? ROOT)
