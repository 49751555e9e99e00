// Creates files safely: anything another user put at their path (a link, a pipe, a hard link) is removed and not written through. Readers get the complete old
// or new file.
import { sha256Hex } from './sha256.ts'
import {
  chmodSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs'

const OWN = 0o600
const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_WRONLY, COPYFILE_EXCL } = constants
const NEW = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW

export interface WholeFileOptions {
  readonly mode?: number
}

export function writeWholeFile(path: string, text: string, { mode = OWN }: WholeFileOptions = {}): void {
  const partial = emptied(`${path}.partial`)
  const file = openSync(partial, NEW, mode)
  try {
    writeFileSync(file, text, { flush: true })
  } finally {
    closeSync(file)
  }
  renameSync(partial, path)
}

/** With the original's mode if none is given. */
export function copyWholeFile(from: string, to: string, { mode }: WholeFileOptions = {}): void {
  const partial = emptied(`${to}.partial`)
  copyFileSync(from, partial, COPYFILE_EXCL)
  if (mode !== undefined) chmodSync(partial, mode)
  renameSync(partial, to)
}

function emptied(path: string): string {
  rmSync(path, { force: true, recursive: true })
  return path
}

/** A descriptor that appends to a regular file that this user owns and that has no other name. */
export function openLog(path: string, mode = OWN): number {
  const file = openedOwn(path, mode)
  if (file !== undefined) return file
  removePlanted(path)
  return openSync(path, NEW | O_APPEND, mode)
}

/** Keeps a folder of that name with content. */
function removePlanted(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true) rmdirSync(path)
  else rmSync(path, { force: true })
}

/** Undefined for anything but a regular file of this user. Does not block on a pipe without a reader. */
function openedOwn(path: string, mode: number): number | undefined {
  let file: number
  try {
    file = openSync(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK, mode)
  } catch (e) {
    if (e instanceof Error && 'code' in e && ['ELOOP', 'ENXIO', 'EISDIR'].includes(String(e.code))) return undefined
    throw e
  }
  const { uid, nlink, ...stat } = fstatSync(file)
  if ((stat.mode & constants.S_IFMT) === constants.S_IFREG && nlink === 1 && uid === (process.geteuid?.() ?? uid))
    return file
  closeSync(file)
  return undefined
}

export const textIfThere = (path: string): string | undefined =>
  existsSync(path) ? readFileSync(path, 'utf8') : undefined

/** SHA-256 of its content, in hex. */
export const sha256OfFile = (path: string): string => sha256Hex(readFileSync(path))
