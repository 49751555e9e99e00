// The file system port on a real file system.
import { execFile } from 'node:child_process'
import { constants, createReadStream } from 'node:fs'
import {
  lchown,
  lstat,
  mkdir,
  open,
  readFile,
  readdir,
  readlink,
  rename,
  rm,
  rmdir,
  stat,
  symlink,
  type FileHandle,
} from 'node:fs/promises'
import type { Files, FileStat, FileWriter } from './port.ts'
import { defined } from '#lib/defined.ts'

const ABSENT: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR'])
/** EBUSY: the folder is a mount point. */
const NOT_EMPTY: ReadonlySet<string> = new Set(['ENOTEMPTY', 'EEXIST', 'EBUSY'])
const isAbsent = (e: unknown): boolean => e instanceof Error && 'code' in e && ABSENT.has(String(e.code))

async function present<T, U>(reading: Promise<T>, otherwise: U): Promise<T | U> {
  try {
    return await reading
  } catch (e) {
    if (isAbsent(e)) return otherwise
    throw e
  }
}

const CREATE_ONLY = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW

const writerTo = (handle: FileHandle): FileWriter => ({
  write: async (chunk) => {
    for (let at = 0; at < chunk.length;) at += (await handle.write(chunk, at)).bytesWritten
  },
  sync: () => handle.sync(),
  close: () => handle.close(),
})

/** Node.js does not support extended attributes; `cp` of every distribution copies them. The cp of busybox rejects the option. */
const COPY = ['cp', '--no-dereference', '--preserve=all', '--no-clobber', '--'] as const
const COPY_ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C' }
/** The largest programs of a node have a few hundred megabytes; a slow disk takes a minute for them. */
const COPY_WITHIN_MS = 10 * 60_000

function copied(from: string, to: string): Promise<boolean> {
  const [program, ...args] = COPY
  const options = { env: COPY_ENVIRONMENT, timeout: COPY_WITHIN_MS }
  return new Promise(
    (resolve) => void execFile(program, [...args, from, to], options, (error) => resolve(error === null)),
  )
}

export const realFiles: Files = {
  async read(path) {
    const s = await present(stat(path), undefined)
    // A named pipe and /dev/zero never end; a masked unit is a link to /dev/null.
    return s === undefined || s.isFile() ? present(readFile(path), undefined) : Buffer.alloc(0)
  },

  stream: (path) => createReadStream(path),

  async stat(path): Promise<FileStat | undefined> {
    const s = await present(lstat(path), undefined)
    if (s === undefined) return undefined
    const kind = s.isFile() ? 'File' : s.isDirectory() ? 'Directory' : s.isSymbolicLink() ? 'Link' : 'Other'
    return {
      kind,
      size: s.size,
      modifiedMs: s.mtimeMs,
      changedMs: s.ctimeMs,
      mode: s.mode & 0o7777,
      owner: { uid: s.uid, gid: s.gid },
    }
  },

  list: async (path) => (await present(readdir(path), [])).sort((a, b) => (a < b ? -1 : 1)),

  readLink: async (path) => {
    const s = await present(lstat(path), undefined)
    return s?.isSymbolicLink() === true ? await readlink(path) : undefined
  },

  makeFolder: async (path, mode) => {
    await mkdir(path, { recursive: true, ...defined({ mode }) })
  },

  async create(path, mode, owner) {
    const handle = await open(path, CREATE_ONLY, mode)
    if (owner !== undefined) await handle.chown(owner.uid, owner.gid)
    // The parent process's umask must not affect the mode of a component's files, and changing the owner clears bits.
    await handle.chmod(mode)
    return writerTo(handle)
  },

  async copyWhole(from, to) {
    if (!(await copied(from, to)) || (await present(lstat(to), undefined)) === undefined) {
      await rm(to, { force: true })
      return false
    }
    if ((await lstat(to)).isSymbolicLink()) return true
    // Opened for reading, because the file may be read-only for everyone.
    const handle = await open(to, constants.O_RDONLY | constants.O_NOFOLLOW)
    try {
      await handle.sync()
    } finally {
      await handle.close()
    }
    return true
  },

  append: async (path) => writerTo(await open(path, constants.O_WRONLY | constants.O_APPEND | constants.O_NOFOLLOW)),

  async link(path, target, owner) {
    await symlink(target, path)
    if (owner !== undefined) await lchown(path, owner.uid, owner.gid)
  },

  rename: (from, to) => rename(from, to),
  remove: (path) => rm(path, { recursive: true, force: true }),

  async removeEmptyFolder(path) {
    try {
      await rmdir(path)
      return true
    } catch (e) {
      if (isAbsent(e) || (e instanceof Error && 'code' in e && NOT_EMPTY.has(String(e.code)))) return false
      throw e
    }
  },

  async syncFolder(path) {
    const handle = await open(path, constants.O_RDONLY)
    try {
      await handle.sync()
    } finally {
      await handle.close()
    }
  },
}
