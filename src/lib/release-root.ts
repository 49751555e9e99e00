// Where the files of the running release lie. Programs that were built into a folder of its caches find the same place as their sources do.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The nearest folder above that has a package.json. */
function rootAbove(folder: string): string {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, 'package.json'))) return at
    if (at === dirname(at)) throw new Error(`no release above ${folder}: it has no package.json`)
  }
}

let known: string | undefined

/** Our paths do not depend on how deep the calling file lies. */
export const releaseRoot = (): string => (known ??= rootAbove(import.meta.dirname))

/** A module that is started by its path, as it is called in the sources; a packed release has JavaScript. */
export function modulePath(path: string): string {
  const file = join(releaseRoot(), path)
  return existsSync(file) ? file : file.replace(/\.ts$/, '.js')
}
