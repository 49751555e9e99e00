// Which npm packages the image's programs need, and whether the installed ones match the lock file.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from '#lib/json.ts'

interface NpmPackage {
  readonly version: string
  readonly integrity: string
  /** Belongs to a tool, or to a single platform. */
  readonly isExtra: boolean
}

/** By folder, such as `node_modules/yaml`. */
type Packages = ReadonlyMap<string, NpmPackage>

export interface NpmPackages {
  readonly locked: Packages
  /** npm's record of what it installed, with the digests it verified. */
  readonly installed: Packages
}

export const readNpmPackages = (root: string): NpmPackages => ({
  locked: packagesIn(join(root, 'package-lock.json')),
  installed: packagesIn(join(root, 'node_modules/.package-lock.json')),
})

export function isAsLocked({ locked, installed }: NpmPackages, folder: string): boolean {
  const [wanted, there] = [locked.get(folder), installed.get(folder)]
  return wanted !== undefined && there?.integrity === wanted.integrity && there.version === wanted.version
}

function packagesIn(file: string): Packages {
  const found = new Map<string, NpmPackage>()
  if (!existsSync(file)) return found
  const { packages } = JSON.parse(readFileSync(file, 'utf8')) as { readonly packages?: unknown }
  for (const [folder, one] of Object.entries(isObject(packages) ? packages : {})) {
    if (folder === '' || !isObject(one)) continue
    const { version, integrity, dev, optional, devOptional, peer } = one
    const isExtra = [dev, optional, devOptional, peer].includes(true)
    found.set(folder, { version: String(version), integrity: String(integrity), isExtra })
  }
  return found
}
