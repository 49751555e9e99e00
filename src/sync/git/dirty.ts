// Which files of a work tree differ from a commit, to explain why a change has no effect. Does not run git, which a hostile .git/config could abuse.
import { lstatSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { entriesBelow, isRealFolder } from '#lib/entries-below.ts'
import type { LocalRepository } from './local-repository.ts'

/** A fleet has a few hundred files. This is only a hint; no decision depends on it. */
const MAX_FILES = 20_000
/** Notes, build output and packages next to a fleet's code do not count as changes. */
const CODE = /\.([cm]?ts|[cm]?js|json)$/

/** Paths from the root of the work tree; empty when the commit cannot be read. */
export async function uncommitted(
  repository: LocalRepository,
  commit: string,
  folders: readonly string[],
): Promise<readonly string[]> {
  const { workTree } = repository.folder
  if (workTree === undefined) return []
  const committed = await repository.readTree(commit, folders).catch(() => undefined)
  if (committed === undefined) return []
  const changed = [...committed].filter(([path, bytes]) => isChanged(join(workTree, path), bytes)).map(([path]) => path)
  const added = folders.flatMap((folder) => codeBelow(workTree, folder)).filter((path) => !committed.has(path))
  return [...changed, ...added].toSorted()
}

function isChanged(path: string, bytes: Uint8Array): boolean {
  const info = lstatSync(path, { throwIfNoEntry: false })
  return info?.isFile() !== true || info.size !== bytes.length || !readFileSync(path).equals(bytes)
}

function codeBelow(workTree: string, folder: string): readonly string[] {
  const found: string[] = []
  const root = join(workTree, folder)
  if (!isRealFolder(root)) return found
  for (const { path, kind } of entriesBelow(root, (below) => basename(below) !== 'node_modules')) {
    if (found.length >= MAX_FILES) break
    if (kind === 'File' && CODE.test(path)) found.push(`${folder}/${path}`)
  }
  return found
}
