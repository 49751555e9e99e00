// A compile cache shared by every program of this checkout: a few hundred small files load in a third of the time.
import { enableCompileCache, flushCompileCache } from 'node:module'
import { keepOthersFromWriting } from './private-folder.ts'
import { releaseRoot } from './release-root.ts'
import { trustedCache } from './trusted-cache.ts'

let known: { readonly folder: string | undefined } | undefined

/** Undefined if another user could have written to it. */
export function compileCache(): string | undefined {
  known ??= { folder: trustedCache(releaseRoot()) }
  return known.folder
}

/** Repeats once late modules are loaded. Node.js itself writes only at a clean exit, and long-running programs are often killed. */
const WRITE_AFTER_MS = [2_000, 20_000]

/** Called first: later programs run the code cached from here on. */
export function useCompileCache(): void {
  keepOthersFromWriting()
  const folder = compileCache()
  if (folder === undefined) return
  enableCompileCache(folder)
  for (const ms of WRITE_AFTER_MS) setTimeout(flushCompileCache, ms).unref()
}
