// What this checkout has a build of, as `npm ci` makes one of these very sources: programs start in a third of the time, and a render takes half of it.
// After an edit there is none, and everything runs from the sources.
import { join } from 'node:path'
import { compileCache } from '#cli/compile-cache.ts'
import { releaseRoot } from '#lib/release-root.ts'
import { builtOf, entryIn, sourcesOf, type Entries } from '#local/built.ts'
import { BUNDLE_FOLDER, bundleIn, type Bundle } from '#sync/render/bundle.ts'

let known: { readonly build: Entries | undefined } | undefined

function ownBuild(): Entries | undefined {
  if (known === undefined) {
    const cache = compileCache()
    known = { build: cache === undefined ? undefined : builtOf({ root: releaseRoot(), cache }) }
  }
  return known.build
}

/** The built files of the cage. */
export function builtCage(): Bundle | undefined {
  const build = ownBuild()
  return build === undefined ? undefined : bundleIn(join(build.folder, BUNDLE_FOLDER))
}

/** The file that Node.js runs as this program. */
export const programFile = (name: 'main' | 'agent-main'): string =>
  entryIn(ownBuild() ?? sourcesOf(releaseRoot()), name)
