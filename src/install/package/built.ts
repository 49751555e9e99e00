// Finds what was built of these very sources: programs in a few plain files, which load in a third of the time that hundreds of small ones take.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { MANIFESTS } from '#delivery/release-manifests.ts'
import { entriesBelow } from '#lib/entries-below.ts'
import { isTrustedBuild } from '#lib/trusted-cache.ts'
import { BUNDLE_FOLDER, bundleIn } from '#sync/render/bundle.ts'

export interface Place {
  /** The checkout. */
  readonly root: string
  /** Folder for builds and for what Node compiled. */
  readonly cache: string
}

/** A folder with the entry files, and what they end with. */
export interface Entries {
  readonly folder: string
  readonly ending: '.ts' | '.js' | '.mjs'
}

/** Those that other programs start, by the folder of their source. */
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

/** The file that an entry is built of. */
export const sourceOf = (root: string, name: EntryName): string =>
  join(root, ENTRY_FOLDERS[name], `${name}${sourcesOf(root).ending}`)

/** The build of these very sources, when there is one. */
export function builtOf({ root, cache }: Place): Entries | undefined {
  try {
    const fingerprint = fingerprintOf(root)
    if (fingerprint === undefined) return undefined
    const folder = join(buildsIn(cache), fingerprint)
    return isWhole(root, folder) ? { folder, ending: '.mjs' } : undefined
  } catch {
    // Made by another user for that user alone, or deleted meanwhile.
    return undefined
  }
}

/** A host that lost its power soon after a build may have kept the names of its files and nothing in them. */
export function isWhole(root: string, folder: string): boolean {
  // What another user could have written is built again.
  const names = existsSync(folder) && isTrustedBuild(root, folder) ? readdirSync(folder) : []
  const caged = join(folder, BUNDLE_FOLDER)
  if (bundleIn(caged) === undefined || !isTrustedBuild(root, caged)) return false
  const isThere = [...ENTRIES.map((name) => `${name}.mjs`), MANIFESTS].every((name) => names.includes(name))
  return isThere && names.every((name) => statSync(join(folder, name)).size > 0)
}

/** Changes with every edit, every package and every Node version. None where a link lies among the sources: edits of what it leads to would not count. */
export function fingerprintOf(root: string): string | undefined {
  const entries = SOURCES.flatMap((folder) =>
    [...entriesBelow(join(root, folder))].map((e) => ({ ...e, path: join(root, folder, e.path) })),
  )
  // Editors mark open files by hidden links.
  if (entries.some(({ kind, path }) => kind === 'Other' && !basename(path).startsWith('.'))) return undefined
  const files = entries.flatMap(({ kind, path }) => (kind === 'File' && isPart(path) ? [path] : []))
  const hash = createHash('sha256').update(process.version)
  for (const path of [join(root, 'package-lock.json'), ...files.sort()]) {
    const { size, mtimeMs } = statSync(path)
    hash.update(`${path}\0${size}\0${mtimeMs}\n`)
  }
  return hash.digest('hex').slice(0, 16)
}

/** Tests are part of no program. */
const isPart = (path: string): boolean => /\.(ts|json|yaml)$/.test(path) && !path.endsWith('.test.ts')
