// Compiled once, some hundred small files load in a third of the time: one cache for every program of this checkout.
import { enableCompileCache, flushCompileCache } from 'node:module'
import { keepOthersFromWriting } from './private-folder.ts'
import { releaseRoot } from './release-root.ts'
import { trustedCache } from './trusted-cache.ts'

let known: { readonly folder: string | undefined } | undefined

/** Undefined where another user could have put something into it. */
export function compileCache(): string | undefined {
  known ??= { folder: trustedCache(releaseRoot()) }
  return known.folder
}

/** Called after the late modules are loaded too. Node.js itself writes only at a clean exit, and long-running programs are often killed. */
const WRITE_AFTER_MS = [2_000, 20_000]

/** Called first of all: code that is cached from here on is run by later programs. */
export function useCompileCache(): void {
  keepOthersFromWriting()
  const folder = compileCache()
  if (folder === undefined) return
  enableCompileCache(folder)
  for (const ms of WRITE_AFTER_MS) setTimeout(flushCompileCache, ms).unref()
}
