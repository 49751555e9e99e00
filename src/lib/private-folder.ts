// Makes a folder and its content accessible only to its owner, whatever the umask. Invariant: never opens anything to other users, and never uses files that
// another user put there.
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, type Stats, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { KubeNodeError } from './errors.ts'
import { libErrors } from './lib-errors.ts'

const FOLDER_MODE = 0o700
const OTHERS = 0o077
const OTHERS_WRITE = 0o022
/** Root's, at the top of a mounted disk. */
const OF_THE_FILE_SYSTEM = 'lost+found'

export interface PrivateFolderOptions {
  /** Folders that are closed but not entered: their content has its own modes. */
  readonly isSealed?: (path: string) => boolean
}

/** New files of this process and its children are accessible only to their owner. Applies to worker threads, which cannot set it. */
export function keepFilesPrivate(): void {
  process.umask(OTHERS)
}

/** New files of this process and its children are readable by all, whatever the inherited umask: the folders around them restrict access. */
export function letOthersRead(): void {
  process.umask(OTHERS_WRITE)
}

/** New files of this process and its children are writable only by their owner. Called first in every program, before it writes anything. */
export function keepOthersFromWriting(): void {
  process.umask(process.umask(OTHERS_WRITE) | OTHERS_WRITE)
}

/** One level at a time: Node's recursive mkdir never returns below /proc. */
export function makeFolders(path: string): void {
  if (existsSync(path)) return
  makeFolders(dirname(path))
  mkdirSync(path, { mode: FOLDER_MODE })
}

/** Creates the folder, or closes an existing one to other users. Returns how many files and folders were open. */
export function makePrivateFolder(path: string, { isSealed = () => false }: PrivateFolderOptions = {}): number {
  makeFolders(path)
  // A link to the folder made by its owner is fine.
  const top = statSync(path)
  let closed = close(path, top)
  const folders = [{ path, wasWritable: isWritable(top) }]
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop())
    for (const name of namesIn(folder.path)) {
      const entry = join(folder.path, name)
      const stat = lstatSync(entry, { throwIfNoEntry: false })
      // Deleted since the listing.
      if (stat === undefined) continue
      // Another user may have put it there for this process to write to.
      if (folder.wasWritable && isShared(stat)) throw new KubeNodeError(libErrors.KN1040_secondName({ path: entry }))
      closed += close(entry, stat)
      if (stat.isDirectory() && !isSealed(entry)) folders.push({ path: entry, wasWritable: isWritable(stat) })
    }
  return closed
}

/** Refuses another user's folder: its content may have been planted. */
export function requireOwn(path: string, stat: Pick<Stats, 'uid'> = lstatSync(path)): void {
  const own = process.geteuid?.()
  if (own !== undefined && stat.uid !== own) throw new KubeNodeError(libErrors.KN1040({ path, uid: stat.uid, own }))
}

/** Names in a folder, without what every file system has. */
export const namesIn = (path: string): readonly string[] =>
  existsSync(path) ? readdirSync(path).filter((name) => name !== OF_THE_FILE_SYSTEM) : []

/** The file has a second name, possibly outside: its mode stays, and the folder above is closed. */
const isShared = (stat: Stats): boolean => stat.isFile() && stat.nlink > 1

const isWritable = ({ mode }: Stats): boolean => (mode & OTHERS_WRITE) !== 0

function close(path: string, stat: Stats): 0 | 1 {
  requireOwn(path, stat)
  if (stat.isSymbolicLink() || isShared(stat) || (stat.mode & OTHERS) === 0) return 0
  chmodSync(path, stat.mode & 0o7700)
  return 1
}
