// The built files of the cage, where this checkout has a build of these very sources, as `npm ci` makes one: a render loads them in half the time.
import { join } from 'node:path'
import { compileCache } from '#cli/compile-cache.ts'
import { releaseRoot } from '#lib/release-root.ts'
import { builtOf } from '#local/built.ts'
import { BUNDLE_FOLDER, bundleIn, type Bundle } from '#sync/render/bundle.ts'

let known: { readonly bundle: Bundle | undefined } | undefined

/** Undefined after an edit: the sources are loaded, as everywhere without a build. */
export function builtCage(): Bundle | undefined {
  known ??= { bundle: find() }
  return known.bundle
}

function find(): Bundle | undefined {
  const cache = compileCache()
  const built = cache === undefined ? undefined : builtOf({ root: releaseRoot(), cache })
  return built === undefined ? undefined : bundleIn(join(built.folder, BUNDLE_FOLDER))
}
