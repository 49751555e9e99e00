// S31: which files and folders of a local fleet other users could enter.
import { lstatSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'

const OTHERS = 0o077

/** Nodes are machines with users and modes of their own; that other users cannot enter is checked for their folders. */
const isNode = (data: string, path: string): boolean => /^[^/]+\/nodes\/[^/]+$/.test(relative(data, path))

/** A fleet that runs deletes files while they are counted. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch (e) {
    if ((e as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw e
  }
}

export function* pathsIn(data: string, path = data): Iterable<string> {
  yield path
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat?.isDirectory() === true && !isNode(data, path))
    for (const name of namesIn(path)) yield* pathsIn(data, join(path, name))
}

export const openTo = (data: string): readonly string[] =>
  [...pathsIn(data)].flatMap((path) => {
    const stat = lstatSync(path, { throwIfNoEntry: false })
    if (stat === undefined || stat.isSymbolicLink() || (stat.mode & OTHERS) === 0) return []
    return [`${(stat.mode & 0o7777).toString(8)} ${relative(data, path)}`]
  })
