// The operating system's error about a file in plain words, for messages that already name the file.
import { messageOf } from './errors.ts'

const MESSAGES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ENOENT: 'there is no such file',
    ENOTDIR: 'part of its path is a file, not a folder',
    EACCES: 'permission denied',
    EPERM: 'it is protected: not even this user may change it',
    EISDIR: 'it is a folder',
    EEXIST: 'it exists already',
    ENOTEMPTY: 'the folder is not empty',
    ELOOP: 'its links lead in a circle',
    ENAMETOOLONG: 'its name is too long',
    EROFS: 'the file system is read-only',
    ENOSPC: 'the disk is full',
    EDQUOT: 'the quota of the disk is used up',
    EIO: 'the disk is broken',
    EMFILE: 'this process has too many open files',
    EADDRINUSE: 'another program has this address',
    EADDRNOTAVAIL: 'this machine does not have this address',
  }),
)

/** Undefined for codes without a better text. */
export const systemMessage = (code: string): string | undefined => MESSAGES.get(code)

/** Errors other than system errors keep their text. */
export function systemTrouble(e: unknown): string {
  const code = e instanceof Error && 'code' in e ? e.code : undefined
  return (typeof code === 'string' ? MESSAGES.get(code) : undefined) ?? messageOf(e)
}
