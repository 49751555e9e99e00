// Whether this user owns a Unix socket: another user may have put one in place of a stopped program's, and would be trusted with secrets.
import { constants, lstatSync } from 'node:fs'
import { getuid } from 'node:process'

const ROOT = 0
const OTHERS = 0o077
const { S_IFMT, S_IFSOCK } = constants

/** Why a socket may be another user's; undefined if it is this user's. */
export function socketDoubt(seen: { readonly mode: number; readonly uid: number }, own: number): string | undefined {
  if ((seen.mode & S_IFMT) !== S_IFSOCK) return 'it is not a socket'
  if (seen.uid !== own && seen.uid !== ROOT) return `it belongs to uid ${seen.uid}, and this program runs as uid ${own}`
  if ((seen.mode & OTHERS) !== 0) return `others can use it (mode 0${(seen.mode & 0o777).toString(8)}, wanted 0600)`
  return undefined
}

/** Call before each connection. Throws if nothing exists there. */
export const doubtOfSocket = (path: string): string | undefined => socketDoubt(lstatSync(path), getuid?.() ?? ROOT)
