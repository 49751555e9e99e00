// Selects the files that some programs need to start from several packages: the programs, their loader, libraries and links.
import { posix } from 'node:path'
import { KubeNodeError } from '#lib/errors.ts'
import { elfNeeds } from './elf.ts'
import { ociErrors } from './oci-errors.ts'
import type { TarEntry, TarFile } from './tar-entry.ts'

export interface NeededOptions {
  /** For messages. */
  readonly architecture: string
  readonly entries: readonly TarEntry[]
  /** Paths of programs, or of links to them. */
  readonly programs: readonly string[]
  /** Programs in other layers. */
  readonly others: readonly TarFile[]
}

/** Folders that Debian's loader searches without a cache, by their path's tail: the middle part is the architecture. */
const LIBRARY_FOLDERS = /^(usr\/)?lib(64)?(\/[a-z0-9_]+-linux-gnu)?$/
const MAX_LINKS = 8

export function neededFiles({ architecture, entries, programs, others }: NeededOptions): readonly TarEntry[] {
  const byPath = new Map(entries.map((e) => [e.path, e]))
  const libraries = librariesByName(entries)
  const chosen = new Map<string, TarEntry>()
  const waiting: { readonly path: string; readonly for: string }[] = programs.map((path) => ({ path, for: path }))

  const needs = (file: TarFile): void => {
    const { interpreter, libraries: names = [] } = elfNeeds(file.content()) ?? {}
    if (interpreter !== undefined) waiting.push({ path: interpreter.replace(/^\//, ''), for: file.path })
    for (const name of names) waiting.push({ path: libraries.get(name) ?? name, for: file.path })
  }
  others.forEach(needs)

  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    let path: string | undefined = next.path
    for (let links = 0; path !== undefined && links <= MAX_LINKS; links++) {
      const entry = byPath.get(path)
      if (entry === undefined || links === MAX_LINKS) throw missing(architecture, next.for, next.path)
      const isNew = !chosen.has(path)
      chosen.set(path, entry)
      if (entry.kind === 'File' && isNew) needs(entry)
      path = entry.kind === 'Link' ? targetOf(entry.path, entry.target) : undefined
    }
  }
  return [...chosen.values()]
}

const missing = (architecture: string, binary: string, library: string): KubeNodeError =>
  new KubeNodeError(ociErrors.KN1120_library({ architecture, binary, library }))

function librariesByName(entries: readonly TarEntry[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (const { kind, path } of entries)
    if (kind !== 'Folder' && LIBRARY_FOLDERS.test(posix.dirname(path))) found.set(posix.basename(path), path)
  return found
}

const targetOf = (path: string, target: string): string =>
  posix.normalize(target.startsWith('/') ? target.slice(1) : posix.join(posix.dirname(path), target))
