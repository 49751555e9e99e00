// What this checkout has a build of, as `npm ci` makes one of these very sources: programs start in a third of the time, and a render takes half of it.
// After an edit there is none, and everything runs from the sources.
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { compileCache } from '#lib/compile-cache.ts'
import { releaseRoot } from '#lib/release-root.ts'
import { builtOf, entryIn, sourcesOf, type Entries } from '#install/package/built.ts'
import { BUNDLE_FOLDER, bundleIn, type Bundle } from '#sync/render/bundle.ts'

/** Fleets of tests build in the cache of this checkout too, which keeps few: a copy stays until the last test of a run. */
const COPIES = 'node_modules/.cache/kubenode-tests/programs'
const FORGOTTEN_AFTER_MS = 86_400_000

let known: { readonly build: Entries | undefined } | undefined

function ownBuild(): Entries | undefined {
  known ??= { build: find() }
  return known.build
}

function find(): Entries | undefined {
  const [root, cache] = [releaseRoot(), compileCache()]
  const built = cache === undefined ? undefined : builtOf({ root, cache })
  if (built === undefined) return undefined
  const copies = join(root, COPIES)
  const folder = join(copies, basename(built.folder))
  if (!existsSync(folder)) copyTo(folder, built.folder)
  return { ...built, folder }
}

/** Whole or not there, though several workers do it at once. */
function copyTo(folder: string, from: string): void {
  const copies = dirname(folder)
  mkdirSync(copies, { recursive: true })
  for (const name of readdirSync(copies)) {
    const path = join(copies, name)
    if (Date.now() - statSync(path).mtimeMs > FORGOTTEN_AFTER_MS) rmSync(path, { recursive: true, force: true })
  }
  const made = mkdtempSync(`${folder}-`)
  cpSync(from, made, { recursive: true })
  try {
    renameSync(made, folder)
  } catch {
    // Another worker was first.
    rmSync(made, { recursive: true, force: true })
  }
}

/** The built files of the cage. */
export function builtCage(): Bundle | undefined {
  const build = ownBuild()
  return build === undefined ? undefined : bundleIn(join(build.folder, BUNDLE_FOLDER))
}

/** The file that Node.js runs as this program. */
export const programFile = (name: 'main' | 'agent-main'): string =>
  entryIn(ownBuild() ?? sourcesOf(releaseRoot()), name)
