// Finds the build of these exact sources: a few plain files, which load in a third of the time of hundreds of small ones.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { MANIFESTS } from '#delivery/release-manifests.ts'
import { entriesBelow } from '#lib/entries-below.ts'
import { isTrustedBuild } from '#lib/trusted-cache.ts'
import { BUNDLE_FOLDER, bundleIn } from '#sync/render/bundle.ts'

export interface Place {
  /** Root of the checkout. */
  readonly root: string
  /** Folder for builds and Node's compile cache. */
  readonly cache: string
}

/** A folder with the entry files, and their extension. */
export interface Entries {
  readonly folder: string
  readonly ending: '.ts' | '.js' | '.mjs'
}

/** Entries that other programs start, by the folder of their source. */
const ENTRY_FOLDERS = {
  main: 'src/cli',
  'agent-main': 'src/cli',
  'hollow-main': 'src/cli',
  'sqlite-writer': 'src/apiserver/storage',
  'sqlite-folder': 'src/apiserver/storage',
} as const
export type EntryName = keyof typeof ENTRY_FOLDERS
export const ENTRIES = Object.keys(ENTRY_FOLDERS) as readonly EntryName[]
const SOURCES = ['src', 'deploy'] as const
const BUILDS = 'programs'

export const buildsIn = (cache: string): string => join(cache, BUILDS)

export const entryIn = ({ folder, ending }: Entries, name: string): string => join(folder, `${name}${ending}`)
export const sourcesOf = (root: string): Entries => ({
  folder: join(root, 'src/cli'),
  ending: existsSync(join(root, 'src/cli/main.js')) ? '.js' : '.ts',
})

/** The source file of an entry. */
export const sourceOf = (root: string, name: EntryName): string =>
  join(root, ENTRY_FOLDERS[name], `${name}${sourcesOf(root).ending}`)

/** The build of these exact sources, if it exists. */
export function builtOf({ root, cache }: Place): Entries | undefined {
  try {
    const fingerprint = fingerprintOf(root)
    if (fingerprint === undefined) return undefined
    const folder = join(buildsIn(cache), fingerprint)
    return isWhole(root, folder) ? { folder, ending: '.mjs' } : undefined
  } catch {
    // Created by another user with private access, or deleted meanwhile.
    return undefined
  }
}

/** A power loss soon after a build may leave file names without content. */
export function isWhole(root: string, folder: string): boolean {
  // A folder that another user could have written is built again.
  const names = existsSync(folder) && isTrustedBuild(root, folder) ? readdirSync(folder) : []
  const caged = join(folder, BUNDLE_FOLDER)
  if (bundleIn(caged) === undefined || !isTrustedBuild(root, caged)) return false
  const isThere = [...ENTRIES.map((name) => `${name}.mjs`), MANIFESTS].every((name) => names.includes(name))
  return isThere && names.every((name) => statSync(join(folder, name)).size > 0)
}

/** Changes with every edit, package and Node version. Undefined if there is a link among the sources, because edits behind it would not count. */
export function fingerprintOf(root: string): string | undefined {
  const entries = SOURCES.flatMap((folder) =>
    [...entriesBelow(join(root, folder))].map((e) => ({ ...e, path: join(root, folder, e.path) })),
  )
  // Editors mark open files with hidden links.
  if (entries.some(({ kind, path }) => kind === 'Other' && !basename(path).startsWith('.'))) return undefined
  const files = entries.flatMap(({ kind, path }) => (kind === 'File' && isPart(path) ? [path] : []))
  const hash = createHash('sha256').update(process.version)
  for (const path of [join(root, 'package-lock.json'), ...files.sort()]) {
    const { size, mtimeMs } = statSync(path)
    hash.update(`${path}\0${size}\0${mtimeMs}\n`)
  }
  return hash.digest('hex').slice(0, 16)
}

/** Tests are not part of any program. */
const isPart = (path: string): boolean => /\.(ts|json|yaml)$/.test(path) && !path.endsWith('.test.ts')
