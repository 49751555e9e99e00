// Finds the program of a thread: next to the code that starts it, in the sources as in a build of them.
import { extname, join } from 'node:path'

/** A build makes an entry of each (`ENTRIES` in src/install/package/built.ts). */
export type ThreadName = 'sqlite-writer' | 'sqlite-folder'

export const threadFile = (name: ThreadName): string =>
  join(import.meta.dirname, `${name}${extname(import.meta.filename)}`)
