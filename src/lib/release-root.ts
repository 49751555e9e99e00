// Where the running release's files are. Programs built into a cache folder find the same place as their sources.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** The nearest parent folder with a package.json. */
function rootAbove(folder: string): string {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, 'package.json'))) return at
    if (at === dirname(at)) throw new Error(`no release above ${folder}: it has no package.json`)
  }
}

let known: string | undefined

/** Independent of the calling file's depth. */
export const releaseRoot = (): string => (known ??= rootAbove(import.meta.dirname))

/** A module started by its path in the sources; a packed release has JavaScript. */
export function modulePath(path: string): string {
  const file = join(releaseRoot(), path)
  return existsSync(file) ? file : file.replace(/\.ts$/, '.js')
}
