// The libraries that Node.js needs and small hosts lack, from the packages of Debian that the image's lock names: of the machine that builds, they would be
// other bytes on each, and missing for the other kind of processor.
import { basename } from 'node:path'
import { readDeb } from '#artifacts/oci/deb.ts'
import { FILE_MODE, type TarEntry, type TarFile } from '#artifacts/oci/tar-entry.ts'
import { fetchPackages, readDebianLock, readPackage, type Architecture } from '#install/image/debian-lock.ts'

const LIBRARIES: Readonly<Record<string, string>> = {
  libatomic1: 'libatomic.so.1',
  'libgcc-s1': 'libgcc_s.so.1',
  'libstdc++6': 'libstdc++.so.6',
}

export interface LibrariesOptions {
  readonly root: string
  readonly cache: string
  readonly mirror?: string
}

export async function nodeLibraries(
  architecture: Architecture,
  { root, cache, mirror }: LibrariesOptions,
): Promise<readonly TarFile[]> {
  const locked = readDebianLock(root).packages[architecture].filter(({ name }) => LIBRARIES[name] !== undefined)
  fetchPackages(cache, locked, mirror)
  return Promise.all(
    locked.map(async (one) => {
      const { entries } = await readDeb(one.name, readPackage(cache, one))
      const library = LIBRARIES[one.name] ?? ''
      const { content } = fileNamed(entries, library)
      return { kind: 'File', path: `lib/${library}`, mode: FILE_MODE, content }
    }),
  )
}

/** A library is often a link to one whose name has its whole version. */
function fileNamed(entries: readonly TarEntry[], name: string): TarFile {
  const found = entries.find(({ path }) => basename(path) === name)
  if (found?.kind === 'File') return found
  const target = found?.kind === 'Link' ? basename(found.target) : name
  if (target === name) throw new Error(`no package of the image has ${name}; run npm run image:lock`)
  return fileNamed(entries, target)
}
